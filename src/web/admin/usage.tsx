import type { UsageRange } from '../../account/account-usage.ts';
import { serviceUsage } from '../../account/service-usage.ts';
import type { NamedUsage } from '../../account/usage-series.ts';
import { csvCells } from '../../domain/csv-cells.ts';
import type { Registry } from '../../store/registry.ts';
import { linkTo } from '../link-to.ts';
import type { Answer, PageRequest } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import { USAGE_SCRIPT } from '../scripts.ts';
import { numberText } from '../texts.ts';
import { tierName } from '../tier-texts.ts';
import { COUNTS, csvCounts, csvFile } from '../usage/usage-csv.ts';
import { chosenRange, RangeForm } from '../usage/usage-range.tsx';
import { changeText, UsageChart, UsageTable, UsageTotals } from '../usage/usage-tables.tsx';
import { AccountLink } from './shown-account.tsx';

export const SERVICE_USAGE_PATH = '/admin/usage';
const ACCOUNTS_MAX = 100;
const DELETED = 'Deleted accounts';

/** GET /admin/usage?last&from&to. */
export async function serviceUsagePage(deps: WebDeps, person: Person, { query }: PageRequest): Promise<Answer> {
  const { range, used } = await readUsage(deps, query);
  const { sums } = used;
  const change = await changeText(used, deps.nowMs(), async (time) => (await usedIn(deps, time)).total.sum.requests);
  const tierText = (id: string | undefined) => (id === undefined ? DELETED : tierName(deps.registry, id));
  const splits = { Tier: named(used.series.tier, tierText), Account: named(used.series.account) };
  const rest = sums.account.length - ACCOUNTS_MAX;
  return personPage(
    person,
    {
      title: 'Usage of all accounts',
      path: SERVICE_USAGE_PATH,
      scripts: [USAGE_SCRIPT],
      action: (
        <a class="button" href={linkTo(`${SERVICE_USAGE_PATH}/csv`, Object.fromEntries(query))}>
          Download CSV
        </a>
      ),
    },
    <>
      <RangeForm path={SERVICE_USAGE_PATH} range={{ ...range, fromMs: used.fromMs }} onlyDays />
      <UsageTotals sum={used.total.sum} change={change} />
      {sums.account.length > 0 && <UsageChart range={used} splits={splits} />}
      <h2>By tier</h2>
      <UsageTable by="Tier" rows={sums.tier.map(({ name, sum }) => ({ name: tierText(name), sum }))} />
      <h2>By account</h2>
      <UsageTable
        by="Account"
        rows={sums.account.slice(0, ACCOUNTS_MAX).map(({ name, sum }) => ({
          name: <Owner registry={deps.registry} email={name} />,
          sum,
        }))}
      />
      <p class="quiet small">
        {rest > 0 && `${numberText(rest)} more accounts with fewer requests are in the file. `}
        Days are in UTC; today counts. A key counts for the tier that it has now. The file has all accounts.
      </p>
    </>,
  );
}

/** GET /admin/usage/csv, with the query of the page. */
export async function serviceUsageFile(deps: WebDeps, _: Person, { query }: PageRequest): Promise<Answer> {
  const { used } = await readUsage(deps, query);
  const lines = used.sums.account.map(({ name, sum }) => `${csvCells(name ?? DELETED)},${csvCounts(sum)}`);
  return csvFile('usage-by-account', ['account', ...COUNTS], lines);
}

async function readUsage(deps: WebDeps, query: URLSearchParams) {
  const range = chosenRange(query, deps.nowMs(), true);
  return { range, used: await usedIn(deps, range) };
}

function usedIn({ service, registry, nowMs }: WebDeps, range: UsageRange) {
  return serviceUsage(registry, service.activity.usage, range, nowMs());
}

function named(list: readonly NamedUsage<string | undefined>[], nameOf = (name?: string) => name ?? DELETED) {
  return list.map(({ name, series }) => ({ name: nameOf(name), series }));
}

function Owner({ registry, email }: { readonly registry: Registry; readonly email: string | undefined }) {
  const account = email === undefined ? undefined : registry.accounts.findByEmail(email);
  return account === undefined ? (email ?? DELETED) : <AccountLink {...account} />;
}
