import { type AccountUsage, requestsOf, summedTime, usageOf, usageRows } from '../../account/account-usage.ts';
import { UsageByName } from '../../account/usage-series.ts';
import type { ApiKey } from '../../domain/api-key.ts';
import { csvCells } from '../../domain/csv-cells.ts';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant, timeText } from '../../domain/instant.ts';
import { HOUR_MS } from '../../domain/usage.ts';
import { Choice } from '../form.tsx';
import { linkTo } from '../link-to.ts';
import type { Answer, PageRequest } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import { USAGE_SCRIPT } from '../scripts.ts';
import { numberText } from '../texts.ts';
import { Time } from '../time.tsx';
import { intervalText } from '../usage/chart-data.ts';
import { COUNTS, csvCounts, csvFile, LINES_MAX } from '../usage/usage-csv.ts';
import { type ChosenRange, chosenRange, RangeForm } from '../usage/usage-range.tsx';
import { changeText, Route, UsageChart, UsageTable, UsageTotals } from '../usage/usage-tables.tsx';

export const USAGE_PATH = '/account/usage';
/** Keys on the page: an account may have had thousands. */
const KEYS_MAX = 100;

/** The range of a query, and its key or all keys of the account. Throws 'malformed-request' and 'not-found'. */
function wantedUsage({ registry, nowMs }: WebDeps, { account }: Person, { query }: PageRequest) {
  const range = chosenRange(query, nowMs());
  const all = registry.database.read(() => registry.apiKeys.idsOf(account.id));
  const keyId = query.get('key') || undefined;
  if (keyId !== undefined && !all.includes(keyId)) throw new DomainError('not-found', 'this account has no such key');
  return { range, keyId, all, keyIds: keyId === undefined ? all : [keyId] };
}

/** GET /account/usage?last&from&to&by&key. */
export async function usagePage(deps: WebDeps, person: Person, request: PageRequest): Promise<Answer> {
  const { range, keyId, all, keyIds } = wantedUsage(deps, person, request);
  const { usage } = deps.service.activity;
  const used = await usageOf(usage, keyIds, range, deps.nowMs());
  const change = await changeText(used, deps.nowMs(), (time) => requestsOf(usage, keyIds, time, deps.nowMs()));
  const { apiKeys, database } = deps.registry;
  const shown = [
    ...new Set([...(keyId === undefined ? [] : keyIds), ...used.keys.map(({ name }) => name), ...all]),
  ].slice(0, KEYS_MAX);
  const keys = new Map(database.read(() => shown.map((id) => [id, apiKeys.find(id)!])));
  const only = keyId === undefined ? undefined : { id: keyId, name: keys.get(keyId)!.name ?? keyId };
  return personPage(
    person,
    {
      title: 'Usage',
      path: USAGE_PATH,
      scripts: [USAGE_SCRIPT],
      action: used.keys.length > 0 && (
        <a class="button" href={linkTo(`${USAGE_PATH}/csv`, Object.fromEntries(request.query))}>
          Download CSV
        </a>
      ),
    },
    <>
      {all.length > 0 && (
        <RangeForm path={USAGE_PATH} range={{ ...range, fromMs: used.fromMs }} only={only}>
          <Choice label="By" name="by" options={Object.entries({ hour: 'Hour', day: 'Day' })} chosen={range.interval} />
          <Choice
            label="Key"
            name="key"
            options={[['', 'All keys'], ...[...keys.values()].map((key) => [key.id, keyName(key)] as const)]}
            chosen={keyId}
          />
        </RangeForm>
      )}
      <Limited range={range} used={used} />
      <UsageFigures used={used} keys={keys} change={change} query={request.query} />
    </>,
  );
}

/** GET /account/usage/csv, with the query of the page. */
export async function usageFile(deps: WebDeps, person: Person, request: PageRequest): Promise<Answer> {
  const { registry, service, nowMs } = deps;
  const { range, keyIds } = wantedUsage(deps, person, request);
  const lines: string[] = [];
  for await (const rows of usageRows(service.activity.usage, keyIds, summedTime(range, nowMs()))) {
    // Refused below: a year of thousands of keys would fill the memory.
    if (lines.length > LINES_MAX) break;
    const sums = new Map<string, UsageByName<string>>();
    for (const row of rows) {
      sums.getOrInsertComputed(row.keyId, () => new UsageByName()).add(row.route, row.startMs, row);
    }
    for (const [keyId, routes] of sums) {
      for (const { name: route, series } of routes.list()) {
        const cells = csvCells(keyId, registry.apiKeys.find(keyId)?.name ?? '', route);
        for (const [startMs, counts] of series.intervals) {
          lines.push(`${cells},${formatInstant(startMs)},${csvCounts(counts)}`);
        }
      }
    }
  }
  return csvFile(`usage-by-${range.interval}`, ['keyId', 'keyName', 'route', 'start', ...COUNTS], lines);
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
  /** Those on the page. */
  readonly keys: ReadonlyMap<string, ApiKey>;
  readonly change: string | undefined;
  /** That of the page. */
  readonly query: URLSearchParams;
}

/** Sums, a chart and tables of the same usage. */
function UsageFigures({ used, keys, change, query }: UsageFiguresContent) {
  if (used.keys.length === 0) {
    return (
      <div class="card empty">
        <h2>{keys.size === 0 ? 'No requests yet' : 'No requests in this time'}</h2>
        <p>A chart and sums by key and route appear with the first request.</p>
        <p class="row">
          {keys.size === 0 ? (
            <a class="button primary" href="/account/keys/new">
              Create a key
            </a>
          ) : (
            <a class="button primary" href={linkTo(USAGE_PATH, { last: '90d' })}>
              Show the last 90 days
            </a>
          )}
          <a class="button" href="/account">
            Commands for a first request
          </a>
        </p>
      </div>
    );
  }
  const nameOf = (id: string) => (keys.has(id) ? keyName(keys.get(id)!) : id);
  const rest = used.keys.length - KEYS_MAX;
  const byKey = used.keys.map(({ name, series }) => ({ name: nameOf(name), series }));
  return (
    <>
      <UsageTotals sum={used.total.sum} change={change} />
      <UsageChart range={used} splits={{ Key: byKey, Route: used.routes }} />
      <h2>By key</h2>
      <UsageTable
        by="Key"
        rows={used.keys.slice(0, KEYS_MAX).map(({ name: id, series: { sum } }) => ({
          name: (
            <>
              <a href={linkTo(USAGE_PATH, { ...Object.fromEntries(query), key: id })}>
                {keys.get(id)?.name ?? 'Unnamed key'}
              </a>{' '}
              <code class="quiet">{keys.get(id)?.prefix}…</code>
            </>
          ),
          sum,
        }))}
      />
      {rest > 0 && <p class="quiet small">{numberText(rest)} more keys with fewer requests are in the file.</p>}
      <h2>By route</h2>
      <UsageTable
        by="Route"
        rows={used.routes.map(({ name, series: { sum } }) => ({ name: <Route path={name} />, sum }))}
      />
      <Intervals used={used} />
      <p class="quiet small">
        Times are in UTC; the hour and the day that are not over yet count. The file has the usage by key and route.
      </p>
    </>
  );
}

function Intervals({ used }: { readonly used: AccountUsage }) {
  const { intervalMs, toMs } = used;
  const rows = used.total.intervals.toReversed().map(([startMs, sum]) => {
    // The interval that is not over yet says so.
    const until = toMs < startMs + intervalMs - 1 && <span class="quiet">until {timeText(toMs).slice(11, 16)}</span>;
    return { name: [intervalText(startMs, intervalMs), ' ', until], sum };
  });
  const by = used.intervalMs === HOUR_MS ? 'Hour' : 'Day';
  return (
    <details class="card fold">
      <summary>By {by.toLowerCase()}</summary>
      <UsageTable by={by} rows={rows} />
    </details>
  );
}

/** The name of a key for its owner. */
function keyName({ name = 'Unnamed key', prefix }: ApiKey): string {
  return `${name} (${prefix}…)`;
}
