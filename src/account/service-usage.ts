import { setImmediate } from 'node:timers/promises';
import type { InstantMs } from '../domain/instant.ts';
import type { Registry } from '../store/registry.ts';
import { DELETED_KEYS, type Usage } from '../store/usage.ts';
import { type SummedTime, summedTime, type UsageRange } from './account-usage.ts';
import { type NamedUsage, UsageByName, UsageSeries } from './usage-series.ts';

/** The usage of all keys in the hours that begin from `fromMs` to `toMs`, by day. */
export interface ServiceUsage extends SummedTime {
  readonly total: UsageSeries;
  /** Those with usage, the one with most requests first. */
  readonly series: Readonly<Record<Owner, readonly ServiceSeries[]>>;
}

type Owner = 'account' | 'tier';
/** The name is the id of a tier or the address of an account; undefined: all accounts that were deleted. */
export type ServiceSeries = NamedUsage<string | undefined>;

/** Keys that are read in one turn of the event loop: a year of them takes about 5 ms. */
const KEYS_A_TURN = 4;

/** The usage of each account and tier: a key counts for those that it has at `nowMs`. Other requests are answered in between. */
export async function serviceUsage(
  registry: Registry,
  usage: Usage,
  range: Omit<UsageRange, 'interval'>,
  nowMs: InstantMs,
): Promise<ServiceUsage> {
  const time = summedTime({ ...range, interval: 'day' }, nowMs);
  const owners = ownersOfKeys(registry, nowMs);
  const keyIds = [...owners.keys(), DELETED_KEYS];
  const total = new UsageSeries();
  const series = { account: new UsageByName<string | undefined>(), tier: new UsageByName<string | undefined>() };
  for (let at = 0; at < keyIds.length; at += KEYS_A_TURN) {
    for (const row of usage.list(keyIds.slice(at, at + KEYS_A_TURN), time.fromMs, time.toMs, time.intervalMs)) {
      const owner = owners.get(row.keyId);
      total.add(row.startMs, row);
      series.account.add(owner?.account, row.startMs, row);
      series.tier.add(owner?.tier, row.startMs, row);
    }
    await setImmediate();
  }
  return { ...time, total, series: { account: series.account.list(), tier: series.tier.list() } };
}

/** The account and the tier that each key is counted for; undefined: its account was deleted. */
function ownersOfKeys(
  { accounts, accountTiers, apiKeys, database }: Registry,
  nowMs: InstantMs,
): ReadonlyMap<string, Readonly<Record<Owner, string>> | undefined> {
  return database.read(() => {
    const deleted = new Set(accounts.deletedSince(0));
    const tiers = new Map<number, string>();
    const tierOf = (accountId: number) =>
      tiers.getOrInsertComputed(accountId, () => accountTiers.at(accountId, nowMs).tier.id);
    return new Map(
      apiKeys.list().map(({ id, accountId, account, tier }) => {
        return [id, deleted.has(accountId) ? undefined : { account, tier: tier ?? tierOf(accountId) }];
      }),
    );
  });
}
