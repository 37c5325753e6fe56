import { setImmediate } from 'node:timers/promises';
import { type AccountUsage, usageOf } from '../../account/account-usage.ts';
import { UsageByName } from '../../account/usage-series.ts';
import type { ApiKey } from '../../domain/api-key.ts';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant } from '../../domain/instant.ts';
import { HOUR_MS } from '../../domain/usage.ts';
import { Choice } from '../form.tsx';
import { linkTo } from '../link-to.ts';
import type { Answer, PageRequest } from '../page-request.ts';
import { personPage } from '../person-page.tsx';
import type { Person, WebDeps } from '../routes.ts';
import { USAGE_SCRIPT } from '../scripts.ts';
import { Time } from '../time.tsx';
import { intervalText } from '../usage/chart-data.ts';
import { UsageChart } from '../usage/usage-chart.tsx';
import { csvCells, csvCounts, csvFile } from '../usage/usage-csv.ts';
import { type ChosenRange, chosenRange, RangeForm } from '../usage/usage-range.tsx';
import { UsageTable, UsageTotals } from '../usage/usage-tables.tsx';

export const USAGE_PATH = '/account/usage';

/** The usage that a query asks for: that of one key or of all keys of the account. Throws 'malformed-request' and 'not-found'. */
async function readUsage({ service, registry, nowMs }: WebDeps, { account }: Person, { query }: PageRequest) {
  const range = chosenRange(query, nowMs());
  const all = registry.database.read(() => registry.apiKeys.ofAccount(account.id));
  const keyId = query.get('key') || undefined;
  const keys = all.filter(({ id }) => keyId === undefined || id === keyId);
  if (keyId !== undefined && keys.length === 0) throw new DomainError('not-found', 'this account has no such key');
  const keyIds = keys.map(({ id }) => id);
  const used = usageOf(service.activity.usage, keyIds, range, nowMs());
  // A long range takes as long to read as to show: other requests are answered in between.
  await setImmediate();
  return { range, used, keyId, keys: new Map(all.map((key) => [key.id, key])) };
}

/** GET /account/usage?last&from&to&by&key. */
export async function usagePage(deps: WebDeps, person: Person, request: PageRequest): Promise<Answer> {
  const { range, used, keyId, keys } = await readUsage(deps, person, request);
  return personPage(
    person,
    { title: 'Usage', path: USAGE_PATH, scripts: [USAGE_SCRIPT] },
    <>
      <RangeForm path={USAGE_PATH} range={range} keyId={keyId}>
        <Choice
          label="By"
          name="by"
          options={[
            ['hour', 'Hour'],
            ['day', 'Day'],
          ]}
          chosen={range.interval}
        />
        <Choice
          label="Key"
          name="key"
          options={[['', 'All keys'], ...[...keys.values()].map((key) => [key.id, keyName(key)] as const)]}
          chosen={keyId}
        />
      </RangeForm>
      <Limited range={range} used={used} />
      <UsageFigures used={used} keys={keys} file={linkTo(`${USAGE_PATH}/csv`, Object.fromEntries(request.query))} />
    </>,
  );
}

/** GET /account/usage/csv, with the query of the page. */
export async function usageFile(deps: WebDeps, person: Person, request: PageRequest): Promise<Answer> {
  const { range, used, keys } = await readUsage(deps, person, request);
  const sums = new Map<string, UsageByName<string>>();
  for (const row of used.rows) {
    sums.getOrInsertComputed(row.keyId, () => new UsageByName()).add(row.route, row.startMs, row);
  }
  const lines = [...sums].flatMap(([keyId, routes]) =>
    routes.list().flatMap(({ name: route, series }) => {
      const cells = csvCells(keyId, keys.get(keyId)?.name ?? '', route);
      return series.intervals.map(([startMs, counts]) => `${cells},${formatInstant(startMs)},${csvCounts(counts)}`);
    }),
  );
  return csvFile(`usage-by-${range.interval}`, ['keyId', 'keyName', 'route', 'start'], lines);
}

/** A sentence if the range is shorter than the person asked for. */
function Limited({ range, used }: { readonly range: ChosenRange; readonly used: AccountUsage }) {
  if (used.fromMs <= range.fromMs) return null;
  const limit = range.interval === 'hour' ? 'By hour, at most 31 days are shown' : 'Usage is kept for 400 days';
  return (
    <p class="notice warn">
      {limit}: this is the usage since <Time ms={used.fromMs} />.
    </p>
  );
}

interface UsageFiguresContent {
  readonly used: AccountUsage;
  readonly keys: ReadonlyMap<string, ApiKey>;
  /** Link to the file with the usage. */
  readonly file: string;
}

/** Sums, a chart and tables of the same usage. */
function UsageFigures({ used, keys, file }: UsageFiguresContent) {
  if (used.rows.length === 0) return <p class="card quiet">No requests in this time.</p>;
  const nameOf = (id: string) => keyName(keys.get(id)!);
  const byKey = used.keys.map(({ name, series }) => ({ name: nameOf(name), series }));
  return (
    <>
      <UsageTotals sum={used.total.sum} />
      <UsageChart range={used} splits={{ Key: byKey, Route: used.routes }} />
      <h2>By key</h2>
      <UsageTable by="Key" rows={used.keys.map(({ name, series: { sum } }) => ({ name: nameOf(name), sum }))} />
      <h2>By route</h2>
      <UsageTable
        by="Route"
        rows={used.routes.map(({ name, series: { sum } }) => ({ name: <code>{name}</code>, sum }))}
      />
      <Intervals used={used} />
      <p class="quiet small">
        Times are in UTC. <a href={file}>Download the usage by key and route as CSV</a>.
      </p>
    </>
  );
}

function Intervals({ used }: { readonly used: AccountUsage }) {
  const rows = used.total.intervals.toReversed().map(([startMs, sum]) => {
    return { name: intervalText(startMs, used.intervalMs), sum };
  });
  const by = used.intervalMs === HOUR_MS ? 'Hour' : 'Day';
  return (
    <details class="more">
      <summary class="opener">By {by.toLowerCase()}</summary>
      <UsageTable by={by} rows={rows} />
    </details>
  );
}

/** The name of a key for its owner. */
function keyName({ name = 'Unnamed key', prefix }: ApiKey): string {
  return `${name} (${prefix}…)`;
}
