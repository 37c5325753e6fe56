import { setImmediate } from 'node:timers/promises';
import type { InstantMs } from '../domain/instant.ts';
import type { UsageCounts } from '../domain/usage.ts';
import type { Registry } from '../store/registry.ts';
import { DELETED_KEYS, type Usage } from '../store/usage.ts';
import { type SummedTime, summedTime, type UsageRange } from './account-usage.ts';
import { LeadingUsage, type NamedUsage, UsageByName, UsageSeries } from './usage-series.ts';

/** Keys, and rows of usage, that are read in one turn of the event loop: these take about a millisecond. A key has some thousand rows at most. */
const KEYS_A_TURN = 32;
const ROWS_A_TURN = 1000;

/** The usage of all keys in the hours that begin from `fromMs` to `toMs`, by day. */
export interface ServiceUsage extends SummedTime {
  readonly total: UsageSeries;
  /** Those with usage, the one with most requests first. */
  readonly sums: Readonly<Record<Owner, readonly ServiceSum[]>>;
  /** The days of tiers, and of the accounts with most requests: one series has all other accounts. */
  readonly series: Readonly<Record<Owner, readonly NamedUsage<string | undefined>[]>>;
}

type Owner = 'account' | 'tier';

/** The requests of a tier or of an account. */
export interface ServiceSum {
  /** The id of a tier or the address of an account; undefined: all accounts that were deleted. */
  readonly name: string | undefined;
  readonly sum: UsageCounts;
}

/**
 * The usage of each account and tier: a key counts for those that it has at `nowMs`. Accounts are read one after the other, a few keys in a
 * turn; of an account only the sum is kept, and the days of those with most requests, so memory does not grow with the days.
 */
export async function serviceUsage(
  { apiKeys, newAccountTier }: Registry,
  usage: Usage,
  range: Omit<UsageRange, 'interval'>,
  nowMs: InstantMs,
): Promise<ServiceUsage> {
  const { fromMs, toMs, intervalMs } = summedTime({ ...range, interval: 'day' }, nowMs);
  const total = new UsageSeries();
  const tiers = new UsageByName<string | undefined>();
  const accounts = new LeadingUsage<string | undefined>();
  const deleted = new UsageSeries();
  let account = new UsageSeries();
  await usage.gather();
  const add = (keyId: string, owner: UsageSeries, tier: string | undefined) => {
    const rows = usage.list([keyId], fromMs, toMs, intervalMs);
    for (const row of rows) {
      for (const series of [total, owner]) series.add(row.startMs, row);
      tiers.add(tier, row.startMs, row);
    }
    return rows.length;
  };
  let keys = apiKeys.ownersAfter(nowMs, KEYS_A_TURN);
  while (keys.length > 0) {
    const next = apiKeys.ownersAfter(nowMs, KEYS_A_TURN, keys.at(-1));
    let rows = 0;
    for (const [i, { id, accountId, email, tier }] of keys.entries()) {
      if (email === null) rows += add(id, deleted, undefined);
      else rows += add(id, account, tier ?? newAccountTier);
      if (email !== null && (keys[i + 1] ?? next[0])?.accountId !== accountId) {
        accounts.add(email, account);
        account = new UsageSeries();
      }
      if (rows < ROWS_A_TURN) continue;
      rows = 0;
      await setImmediate();
    }
    keys = next;
    await setImmediate();
  }
  add(DELETED_KEYS, deleted, undefined);
  accounts.add(undefined, deleted);
  const series = { account: accounts.series(), tier: tiers.list() };
  const sums = { account: accounts.sums(), tier: series.tier.map(({ name, series: { sum } }) => ({ name, sum })) };
  return { fromMs, toMs, intervalMs, total, sums, series };
}
