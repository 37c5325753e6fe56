import type { ApiKey } from '../domain/api-key.ts';
import type { Tier } from '../domain/tier.ts';
import type { ApiKeys } from './api-keys.ts';
import type { Database } from './database.ts';
import type { KeySecret } from './key-secret.ts';
import type { Tiers } from './tiers.ts';
import { VersionedCache } from './versioned-cache.ts';

const REMEMBERED_MAX = 4096;

/** Who presents a key, and what that lets them do. */
export interface KeyHolder {
  readonly key: ApiKey;
  readonly tier: Tier;
}

/** Keys with their tiers, for the gate: looked up once, and again after every change to the archive. */
export class KeyDirectory {
  readonly #secret: KeySecret;
  readonly #apiKeys: ApiKeys;
  readonly #tiers: Tiers;
  /** By the key's digest: the key itself is not kept. */
  readonly #remembered: VersionedCache<KeyHolder>;

  constructor(database: Database, secret: KeySecret, apiKeys: ApiKeys, tiers: Tiers) {
    this.#secret = secret;
    this.#apiKeys = apiKeys;
    this.#tiers = tiers;
    this.#remembered = new VersionedCache(database, REMEMBERED_MAX);
  }

  /** The holder of a key that is valid now, else undefined. Within `Database.readShared`. */
  find(presented: string): KeyHolder | undefined {
    return this.#remembered.find(this.#secret.digestText(presented), () => {
      const key = this.#apiKeys.authenticate(presented);
      const tier = key === undefined ? undefined : this.#tiers.find(key.tier);
      return key === undefined || tier === undefined ? undefined : { key, tier };
    });
  }
}
