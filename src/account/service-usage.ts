import type { InstantMs } from '../domain/instant.ts';
import { addedUsage, DAY_MS, NO_USAGE, type UsageCounts } from '../domain/usage.ts';
import type { Registry } from '../store/registry.ts';
import { DELETED_KEYS, USAGE_KEPT_MS, type Usage } from '../store/usage.ts';

const DEFAULT_MS = 30 * DAY_MS;

export interface ServiceUsageRange {
  /** Undefined: 30 days before `toMs`. Rounded down to the start of its day; not more than 400 days before `toMs`. */
  readonly fromMs?: InstantMs | undefined;
  /** Undefined: now. */
  readonly toMs?: InstantMs | undefined;
}

/** The usage of all keys in the hours that begin from `fromMs` to `toMs`. */
export interface ServiceUsage {
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  /** Those with usage, the one with most requests first. */
  readonly sums: readonly UsageSum[];
}

interface UsageSum extends UsageCounts {
  /** The id of a tier or the address of an account; undefined: all accounts that were deleted. */
  readonly name: string | undefined;
}

/** The usage of each account, or of each tier: of the keys that have it at `nowMs`. */
export function serviceUsage(
  registry: Registry,
  usage: Usage,
  by: 'account' | 'tier',
  range: ServiceUsageRange,
  nowMs: InstantMs,
): ServiceUsage {
  const toMs = Math.min(range.toMs ?? Infinity, nowMs);
  const from = Math.max(Math.min(range.fromMs ?? toMs - DEFAULT_MS, toMs), toMs - USAGE_KEPT_MS, 0);
  const fromMs = from - (from % DAY_MS);
  const names = namesOfKeys(registry, by, nowMs);
  const sums = new Map<string | undefined, UsageCounts>();
  for (const [keyId, counts] of usage.sums([...names.keys(), DELETED_KEYS], fromMs, toMs)) {
    const name = names.get(keyId);
    sums.set(name, addedUsage(sums.get(name) ?? NO_USAGE, counts));
  }
  const used = [...sums].map(([name, counts]) => ({ name, ...counts })).filter((sum) => sum.requests + sum.bytes > 0);
  return { fromMs, toMs, sums: used.sort((a, b) => b.requests - a.requests) };
}

/** The name that each key is counted for. */
function namesOfKeys(
  { accounts, accountTiers, apiKeys, database }: Registry,
  by: 'account' | 'tier',
  nowMs: InstantMs,
): ReadonlyMap<string, string | undefined> {
  return database.read(() => {
    const deleted = new Set(accounts.deletedSince(0));
    const tiers = new Map<number, string>();
    const tierOf = (accountId: number) => {
      const tier = tiers.get(accountId) ?? accountTiers.at(accountId, nowMs).tier.id;
      tiers.set(accountId, tier);
      return tier;
    };
    return new Map(
      apiKeys.list().map(({ id, accountId, account, tier }) => {
        if (deleted.has(accountId)) return [id, undefined];
        return [id, by === 'account' ? account : (tier ?? tierOf(accountId))];
      }),
    );
  });
}
