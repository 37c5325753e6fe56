import type { InstantMs } from '../domain/instant.ts';
import type { Registry } from '../store/registry.ts';
import { DELETED_KEYS, type Usage } from '../store/usage.ts';
import { type SummedTime, summedTime, type UsageRange, usageRows } from './account-usage.ts';
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

/** The usage of each account and tier: a key counts for those that it has at `nowMs`. */
export async function serviceUsage(
  registry: Registry,
  usage: Usage,
  range: Omit<UsageRange, 'interval'>,
  nowMs: InstantMs,
): Promise<ServiceUsage> {
  const time = summedTime({ ...range, interval: 'day' }, nowMs);
  const owners = ownersOfKeys(registry, nowMs);
  const total = new UsageSeries();
  const series = { account: new UsageByName<string | undefined>(), tier: new UsageByName<string | undefined>() };
  for await (const rows of usageRows(usage, [...owners.keys(), DELETED_KEYS], time)) {
    for (const row of rows) {
      const owner = owners.get(row.keyId);
      total.add(row.startMs, row);
      series.account.add(owner?.account, row.startMs, row);
      series.tier.add(owner?.tier, row.startMs, row);
    }
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
      apiKeys.owners().map(({ id, accountId, account, tier }) => {
        return [id, deleted.has(accountId) ? undefined : { account, tier: tier ?? tierOf(accountId) }];
      }),
    );
  });
}
