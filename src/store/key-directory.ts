import type { ApiKey } from '../domain/api-key.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Tier } from '../domain/tier.ts';
import { type AccountTiers, type TierTerm, termAt } from './account-tiers.ts';
import type { ApiKeys } from './api-keys.ts';
import type { Database } from './database.ts';
import type { KeySecret } from './key-secret.ts';
import type { Tiers } from './tiers.ts';
import { VersionedCache } from './versioned-cache.ts';

/** Maximum number of cached keys; each takes about 1 kB. */
const CACHED_MAX = 32_768;
const TIERS_MAX = 1024;

/** A key with its tier, and the time in which it has this tier and is valid. */
export interface KeyHolder extends TierTerm {
  readonly key: ApiKey;
}

/** Keys with their tiers, cached until accounts.db changes. Nothing is written when a grant or a key expires. */
export class KeyDirectory {
  readonly #secret: KeySecret;
  readonly #apiKeys: ApiKeys;
  readonly #tiers: Tiers;
  readonly #accountTiers: AccountTiers;
  /** Keys by their digest: the key itself is not stored. */
  readonly #cache: VersionedCache<readonly KeyHolder[]>;
  /** Tiers by their id, so that keys share them. */
  readonly #tierCache: VersionedCache<Tier>;

  constructor(database: Database, secret: KeySecret, apiKeys: ApiKeys, tiers: Tiers, accountTiers: AccountTiers) {
    this.#secret = secret;
    this.#apiKeys = apiKeys;
    this.#tiers = tiers;
    this.#accountTiers = accountTiers;
    this.#cache = new VersionedCache(database, CACHED_MAX);
    this.#tierCache = new VersionedCache(database, TIERS_MAX);
  }

  /** The key and its tier if it is valid now, else undefined. Within `Database.readShared`. */
  find(presented: string, nowMs: InstantMs): KeyHolder | undefined {
    const terms = this.#cache.find(this.#secret.digestText(presented), () => {
      const key = this.#apiKeys.authenticate(presented);
      return key === undefined ? undefined : this.#termsOf(key);
    });
    return terms === undefined ? undefined : termAt(terms, nowMs);
  }

  /** Finds a key by its public id, as `find` does by the key itself. */
  findById(id: string, nowMs: InstantMs): KeyHolder | undefined {
    // Digests have no colon.
    const terms = this.#cache.find(`id:${id}`, () => {
      const key = this.#apiKeys.findUsable(id);
      return key === undefined ? undefined : this.#termsOf(key);
    });
    return terms === undefined ? undefined : termAt(terms, nowMs);
  }

  #termsOf(key: ApiKey): KeyHolder[] {
    const { tier, expiresMs = Infinity } = key;
    const terms: readonly TierTerm[] =
      tier === undefined
        ? this.#accountTiers.termsOf(key.accountId)
        : [{ tier: this.#tiers.named(tier), startsMs: -Infinity, endsMs: Infinity }];
    return terms.map(({ tier: own, startsMs, endsMs }) => {
      const shared = this.#tierCache.find(own.id, () => own)!;
      return { key, tier: shared, startsMs, endsMs: Math.min(endsMs, expiresMs) };
    });
  }
}
