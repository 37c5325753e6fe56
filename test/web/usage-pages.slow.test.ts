import { afterAll, beforeAll, expect, test } from 'bun:test';
import { deleteAccount } from '../../src/account/account-deletion.ts';
import type { ChartData } from '../../src/web/usage/chart-data.ts';
import { NOW_MS } from '../support/archive.ts';
import type { PlainBrowser } from './browser.ts';
import { plainText, rowsOf } from './page-content.ts';
import { hourlyUsage, ROUTES, type SeededRequests, seedUsage } from './seeded-usage.ts';
import { type Site, startSite } from './site.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS = 33;
const ADA = 'ada@example.com';
const EVE = 'eve@example.com';

/** The other cells of each row by the cell in the first column, whose heading is the last word of the label. */
function table(page: string, label: string): Record<string, Record<string, string>> {
  const first = label.charAt('Usage by '.length).toUpperCase() + label.slice('Usage by '.length + 1);
  return Object.fromEntries(rowsOf(page, label).map(({ [first]: name, ...counts }) => [name!, counts]));
}

const TOTAL = /<dt>(\w+)<\/dt><dd>([^<]+)</g;
const totals = (page: string) =>
  Object.fromEntries([...page.matchAll(TOTAL)].map(([, name, value]) => [name!, value!]));

/** The sums of requests by the headings of the tables. */
function summed(requests: readonly SeededRequests[]) {
  const sum = (at: number) => requests.reduce((total, { counts }) => total + counts[at]!, 0);
  const number = (at: number) => new Intl.NumberFormat('en').format(sum(at));
  return {
    Requests: number(0),
    'Forbidden (403)': number(1),
    'Limited (429)': number(2),
    'Other refusals': number(3),
    Sent: megabytes(sum(4)),
  };
}

function megabytes(bytes: number): string {
  const [unit, name] = bytes >= 1e9 ? [1e9, 'GB'] : bytes >= 1e6 ? [1e6, 'MB'] : [1e3, 'kB'];
  return `${new Intl.NumberFormat('en', { minimumSignificantDigits: 3, maximumSignificantDigits: 3, useGrouping: false }).format(bytes / unit)} ${name}`;
}

function chartOf(page: string): ChartData {
  const [, json = ''] = /data-usage="([^"]*)"/.exec(page) ?? [];
  return JSON.parse(json.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&')) as ChartData;
}

let site: Site;
/** Of an admin. */
let browser: PlainBrowser;
let keyIds: string[];
let requests: SeededRequests[];

beforeAll(async () => {
  site = startSite();
  const { directory, registry, passTime } = site.people;
  keyIds = seedUsage(directory, { [ADA]: 10, [EVE]: 1 }, DAYS, NOW_MS + HOUR_MS / 2);
  requests = [...hourlyUsage(keyIds, DAYS, NOW_MS + HOUR_MS / 2)];
  registry.database.query('UPDATE api_keys SET name = ? WHERE key_id = ?').run('=HYPERLINK("x,y")', keyIds[0]!);
  registry.database.write(() => registry.accounts.setRole(registry.accounts.findByEmail(ADA)!.id, 'admin'));
  passTime(HOUR_MS / 2);
  browser = await site.signedIn(ADA);
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
});

async function opened(path: string): Promise<string> {
  const { status, text } = await browser.open(path);
  expect(status).toBe(200);
  return text;
}

test.each([
  ['', 'day', -29 * DAY_MS, 0],
  ['last=24h', 'hour', -23 * HOUR_MS, 0],
  ['last=7d', 'hour', -7 * DAY_MS + HOUR_MS, 0],
  ['last=90d', 'day', -89 * DAY_MS, 0],
  ['from=2026-05-20&to=2026-05-24', 'hour', -12 * DAY_MS, -7 * DAY_MS - 1],
  ['from=2026-05-20&to=2026-05-24&by=day', 'day', -12 * DAY_MS, -7 * DAY_MS - 1],
  ['from=2026-04-25&to=2026-06-09&by=hour', 'hour', -31 * DAY_MS, 0],
])('Pages of usage have every figure in tables. ("%s" by %s)', async (query, interval, fromMs, toMs) => {
  const ofAda = requests.filter(({ keyId, startMs }) => {
    return keyId !== keyIds[10] && startMs >= NOW_MS + fromMs && startMs <= NOW_MS + toMs;
  });
  const page = await opened(`/account/usage?${query}`);
  const sum = summed(ofAda);
  expect(totals(page)).toMatchObject({ Requests: sum.Requests, Sent: sum.Sent });
  const routes = ROUTES.map((route) => [route, summed(ofAda.filter((one) => one.route === route))]);
  expect(table(page, 'Usage by route')).toEqual(Object.fromEntries(routes));
  const keys = keyIds.slice(0, 10).map((id) => summed(ofAda.filter(({ keyId }) => keyId === id)));
  const byText = (one: object, other: object) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
  expect(Object.values(table(page, 'Usage by key')).toSorted(byText)).toEqual(keys.toSorted(byText));
  const byInterval = Map.groupBy(ofAda, ({ startMs }) =>
    new Date(startMs).toISOString().slice(0, interval === 'day' ? 10 : 16),
  );
  expect(table(page, `Usage by ${interval}`)).toEqual(
    Object.fromEntries(
      [...byInterval].map(([start, list]) => {
        // The interval that is not over yet says so.
        const until = toMs === 0 && list[0]!.startMs >= NOW_MS ? ' until 00:30' : '';
        return [`${interval === 'day' ? start : `${start.replace('T', ' ')} UTC`}${until}`, summed(list)];
      }),
    ),
  );
  // What the script draws: ten keys as seven and the rest.
  const { splits, startMs, intervalMs, count } = chartOf(page);
  const scanned = new Array<number>(count).fill(0);
  for (const one of ofAda) scanned[Math.floor((one.startMs - startMs) / intervalMs)]! += one.counts[0];
  for (const { series } of splits) {
    expect(scanned.map((_, at) => series.reduce((sum, { values }) => sum + values.requests[at]!, 0))).toEqual(scanned);
  }
  expect(splits.map(({ series }) => series.length)).toEqual([8, 5]);
});

test.each([
  ['/account/usage?last=24h', '24 hours', 23 * HOUR_MS, DAY_MS],
  ['/account/usage?last=7d', '7 days', 7 * DAY_MS - HOUR_MS, 7 * DAY_MS],
  ['/account/usage?last=7d&from=2026-05-20&to=2026-05-21&by=day', '2 days', 12 * DAY_MS, 2 * DAY_MS],
  ['/admin/usage?last=7d', '7 days', 6 * DAY_MS, 7 * DAY_MS],
])('Requests are compared with those of as much time right before. (%s)', async (path, time, ageMs, lengthMs) => {
  const until = path.includes('to=') ? -10 * DAY_MS - HOUR_MS : 0;
  const sumAt = (shiftMs: number) =>
    requests
      .filter(({ keyId }) => path.startsWith('/admin') || keyId !== keyIds[10])
      .filter(({ startMs }) => startMs >= NOW_MS - ageMs - shiftMs && startMs <= NOW_MS + until - shiftMs)
      .reduce((sum, { counts }) => sum + counts[0], 0);
  const percent = Math.round((sumAt(0) / sumAt(lengthMs) - 1) * 100);
  const text = `${percent > 0 ? '+' : ''}${percent}`.replace('-', '−');
  expect(plainText(await opened(path))).toContain(` ${text} % vs previous ${time} `);
});

test.each([
  ['/account/usage?last=24h', '2026-05-31 01:00 – 2026-06-01 00:30 UTC', 'true'],
  ['/account/usage?last=7d&by=day', '2026-05-26 – 2026-06-01 UTC', 'true'],
  ['/account/usage?from=2026-05-20&to=2026-05-21', '2026-05-20 00:00 – 2026-05-21 23:59 UTC', 'false'],
  ['/account/usage?from=2026-04-25&to=2026-06-09&by=hour', '2026-05-01 00:00 – 2026-06-01 00:30 UTC', 'true'],
  ['/admin/usage?last=30d', '2026-05-03 – 2026-06-01 UTC', 'true'],
])('Usage states the time that is shown, and whether its last part is over. (%s)', async (path, time, isLastOpen) => {
  const page = await opened(path);
  expect(plainText(/<summary class="button">(.*?)<\/summary>/.exec(page)![1]!)).toBe(time);
  expect(String(chartOf(page).isLastOpen)).toBe(isLastOpen);
});

test('Nothing is compared with a time without requests, or with one whose usage is not kept', async () => {
  for (const path of ['/account/usage?last=90d', '/account/usage?last=1y', '/admin/usage?last=1y'])
    expect(plainText(await opened(path))).not.toContain('% vs');
});

test('The file of usage has the figures of the page, and an apostrophe before a cell that a spreadsheet would calculate.', async () => {
  const file = (query: string) => opened(`/account/usage/csv?${query}`);
  const [heading, ...lines] = (await file('last=24h')).trimEnd().split('\n');
  expect(heading).toBe('keyId,keyName,route,start,requests,forbidden,limited,failed,bytes');
  const expected = requests.filter(({ keyId, startMs }) => keyId !== keyIds[10] && startMs > NOW_MS - DAY_MS);
  const withoutName = (line: string) => line.replace(/,(?:"(?:[^"]|"")*"|[^,"]*),\/v1/, ',/v1');
  expect(lines.map(withoutName).toSorted()).toEqual(
    expected
      .map(({ keyId, route, startMs, counts }) => [keyId, route, new Date(startMs).toISOString(), ...counts].join())
      .toSorted(),
  );
  expect(lines.filter((line) => line.includes(`${keyIds[0]},"'=HYPERLINK(""x,y"")",/v1`))).toHaveLength(24 * 5);
});

test('names are text on the page, and a key of another account is not found', async () => {
  const page = await opened(`/account/usage?key=${keyIds[4]}`);
  expect(page).not.toContain('<b>');
  expect(Object.keys(table(page, 'Usage by key'))).toEqual([expect.stringContaining('<b>"quoted"</b> & long')]);
  expect(chartOf(page).splits[0]!.series.map(({ name }) => name)).toEqual([
    expect.stringContaining('<b>"quoted"</b> & long'),
  ]);
  for (const path of ['/account/usage', '/account/usage/csv']) {
    const { status, text } = await browser.open(`${path}?key=${keyIds[10]}`);
    expect([status, text]).toEqual([404, expect.stringContaining('This account has no such key.')]);
  }
  expect(await opened('/account/usage?from=2026-01-01&to=2026-01-02')).toContain('<h2>No requests in this time</h2>');
  expect(await opened('/account/usage?to=1970-01-01')).toContain('<h2>No requests in this time</h2>');
});

test('A usage page without requests leads on: to a longer time, or without a key to a first one', async () => {
  expect(await opened('/account/usage?from=2026-01-01&to=2026-01-02')).toContain('href="/account/usage?last=90d"');
  const page = (await (await site.signedIn('newcomer@example.com')).open('/account/usage')).text;
  expect(page).toContain('href="/account/keys/new"');
});

test.each([
  ['last=2y', '7d, 30d, 90d, 1y'],
  ['from=1.5.2026', 'From must be like 2026-11-22'],
  ['to=2026-02-30', 'To must be like 2026-11-22'],
  ['from=2026-05-02&to=2026-05-01', 'The first day is after the last one or after today'],
])('the range "%s" is refused', async (query, sentence) => {
  for (const path of ['/account/usage', '/account/usage/csv', '/admin/usage', '/admin/usage/csv']) {
    const { status, text } = await browser.open(`${path}?${query}`);
    expect([status, text]).toEqual([400, expect.stringContaining(`${sentence}.</p>`)]);
  }
});

test('The page of usage shows the last 31 days of a longer range by hour, and says so.', async () => {
  const page = (by: string) => opened(`/account/usage?from=2026-04-25&to=2026-06-09&by=${by}`);
  expect(await page('hour')).toContain('By hour, at most 31 days are shown: this is the usage since');
  expect(await page('day')).not.toContain('class="notice');
});

test('an operator sees the usage of all accounts by tier and by account; deleted accounts are one row', async () => {
  const { registry, service } = site.people;
  const recent = requests.filter(({ startMs }) => startMs >= NOW_MS - 29 * DAY_MS);
  const ofAda = summed(recent.filter(({ keyId }) => keyId !== keyIds[10]));
  const ofEve = summed(recent.filter(({ keyId }) => keyId === keyIds[10]));
  const page = await opened('/admin/usage');
  expect(totals(page)).toMatchObject({ Requests: summed(recent).Requests });
  expect(table(page, 'Usage by tier')).toEqual({ Free: summed(recent) });
  expect(table(page, 'Usage by account')).toEqual({ [ADA]: ofAda, [EVE]: ofEve });
  expect(page).toContain(`href="/admin/accounts/${registry.accounts.findByEmail(EVE)!.id}"`);
  deleteAccount({ registry, nowMs: NOW_MS }, registry.accounts.findByEmail(EVE)!.id, service.activity);
  const after = await opened('/admin/usage');
  expect(table(after, 'Usage by tier')).toEqual({ Free: ofAda, 'Deleted accounts': ofEve });
  expect(table(after, 'Usage by account')).toEqual({ [ADA]: ofAda, 'Deleted accounts': ofEve });
  // By day, the last 24 hours would be today.
  expect((await browser.open('/admin/usage?last=24h')).status).toBe(400);
  expect(page).not.toContain('last=24h');
  const file = (await opened('/admin/usage/csv')).split('\n').map((line) => line.split(',').slice(0, 2).join());
  expect(file).toEqual([
    'account,requests',
    `${ADA},${ofAda.Requests.replaceAll(',', '')}`,
    `Deleted accounts,${ofEve.Requests.replaceAll(',', '')}`,
    '',
  ]);
});

test('The last 24 hours and 30 days are the same on the overview, the usage, the keys and the pages of admins.', async () => {
  const overview = await opened('/account');
  const shown = [...overview.matchAll(/<dt>Requests in [^<]+<\/dt><dd>([^<]+)</g)].map(([, value]) => value!);
  const day = totals(await opened('/account/usage?last=24h')).Requests!;
  const month = totals(await opened('/account/usage?last=30d')).Requests!;
  expect(shown).toEqual([day, month]);
  expect(plainText(overview)).toContain('Requests in 24 hours');
  expect(table(await opened('/admin/usage?last=30d'), 'Usage by account')[ADA]!.Requests).toBe(month);
  const { id } = site.people.registry.accounts.findByEmail(ADA)!;
  expect(plainText(await opened(`/admin/accounts/${id}`))).toContain(`Requests in 30 days ${month} `);
  const keys = rowsOf(await opened('/account/keys'), 'Keys').map((row) =>
    Number(row['Requests, 30 days']!.replaceAll(',', '')),
  );
  expect(keys.reduce((sum, each) => sum + each, 0).toLocaleString('en-US')).toBe(month);
});
