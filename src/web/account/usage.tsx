import { setImmediate } from 'node:timers/promises';
import { type AccountUsage, usageOf } from '../../account/account-usage.ts';
import { UsageByName } from '../../account/usage-series.ts';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant } from '../../domain/instant.ts';
import { Choice } from '../form.tsx';
import { linkTo } from '../link-to.ts';
import type { Answer, PageRequest } from '../page-request.ts';
import { personPage } from '../person-page.tsx';
import type { Person, WebDeps } from '../routes.ts';
import { USAGE_SCRIPT } from '../scripts.ts';
import { Time } from '../time.tsx';
import { csvCells, csvCounts, csvFile } from '../usage/usage-csv.ts';
import { type ChosenRange, chosenRange, RangeForm } from '../usage/usage-range.tsx';
import { keyName, UsageFigures } from './usage-figures.tsx';

export const USAGE_PATH = '/account/usage';

/** The usage that a query asks for: of one key or of all of the account. Throws 'malformed-request' and 'not-found'. */
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
  return personPage(person, {
    title: 'Usage',
    path: USAGE_PATH,
    scripts: [USAGE_SCRIPT],
    children: (
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
      </>
    ),
  });
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
