import type { ApiKey } from '../domain/api-key.ts';
import type { Tier } from '../domain/tier.ts';
import type { ApiKeys } from './api-keys.ts';
import type { Database } from './database.ts';
import type { KeySecret } from './key-secret.ts';
import type { Tiers } from './tiers.ts';
import { VersionedCache } from './versioned-cache.ts';

const CACHED_MAX = 4096;

export interface KeyHolder {
  readonly key: ApiKey;
  readonly tier: Tier;
}

/** Keys with their tiers, cached until the archive changes. */
export class KeyDirectory {
  readonly #secret: KeySecret;
  readonly #apiKeys: ApiKeys;
  readonly #tiers: Tiers;
  /** By the key's digest: the key itself is not stored. */
  readonly #cache: VersionedCache<KeyHolder>;

  constructor(database: Database, secret: KeySecret, apiKeys: ApiKeys, tiers: Tiers) {
    this.#secret = secret;
    this.#apiKeys = apiKeys;
    this.#tiers = tiers;
    this.#cache = new VersionedCache(database, CACHED_MAX);
  }

  /** The key and its tier if it is valid now, else undefined. Within `Database.readShared`. */
  find(presented: string): KeyHolder | undefined {
    return this.#cache.find(this.#secret.digestText(presented), () => {
      const key = this.#apiKeys.authenticate(presented);
      const tier = key === undefined ? undefined : this.#tiers.find(key.tier);
      return key === undefined || tier === undefined ? undefined : { key, tier };
    });
  }
}
