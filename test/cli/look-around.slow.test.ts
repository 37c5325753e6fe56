import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf, runCommand } from '../support/command.ts';
import { issueKey, type RunningServer, startServer } from '../support/executable.ts';

setDefaultTimeout(120_000);

interface Status {
  readonly server: { readonly running: boolean };
  readonly bytes: Readonly<Record<string, number>>;
  readonly coins: readonly { readonly symbol: string; readonly gaps: number }[];
  readonly records?: Readonly<Record<string, number>>;
}

const directory = temporaryDirectory();
const data = join(directory.path, 'data');
let server: RunningServer;
let key: string;

beforeAll(async () => {
  await outputOf(['seed', '--data', data]);
  ({ key } = await issueKey(data));
  server = await startServer(data);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

async function served<T>(path: string): Promise<T> {
  const answer = await fetch(`${server.origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { data: T }).data;
}

const jsonOf = async <T>(...args: string[]) => JSON.parse(await outputOf([...args, '--json', '--data', data])) as T;

describe('status', () => {
  test('status counts and lists as /v1/coins does, and counts quotes and prices only with --records.', async () => {
    const { coins, records, bytes, server: shown } = await jsonOf<Status>('status', '--records');
    expect(shown.running).toBe(true);
    expect(coins.map(({ gaps, ...coin }) => coin)).toEqual(await served('/v1/coins'));
    expect(bytes.recordings).toBeGreaterThanOrEqual(statSync(join(data, 'bookreel.db')).size);
    const path = join(directory.path, 'whole.ndjson');
    const { counts } = JSON.parse(await outputOf(['export', '-o', path, '--json', '--data', data])) as {
      counts: Record<string, number>;
    };
    const { snapshot: snapshots, quote: quotes, price: prices, coinPrice: coinPrices, gap } = counts;
    const lastTradePrices = counts.lastTradePrice!;
    expect(records).toEqual({ snapshots, quotes, prices, lastTradePrices, coinPrices } as typeof records & object);
    expect(coins.reduce((sum, { gaps }) => sum + gaps, 0)).toBe(gap!);
    expect(gap).toBeGreaterThan(0);
  });

  test('says whether a server is running, and creates nothing', async () => {
    const lines = (await outputOf(['status', '--data', data])).split('\n');
    expect(lines[0]).toMatch(/^'.*data': \d+\.\d MB of recordings, .*; a server is running$/);
    expect(lines[1]).toMatch(/^COIN +MARKETS +RECORDED +SNAPSHOTS +GAPS +FIRST \(UTC\) +LAST \(UTC\)$/);
    expect(lines[2]).toMatch(/^btc +15 +15 +\d+ +1 +2026-01-05 16:00 +2026-01-08 10:38$/);
    const other = join(directory.path, 'other');
    const refused = await runCommand(['status', '--data', other]);
    expect([refused.code, refused.stdout, statSync(other, { throwIfNoEntry: false })]).toEqual([1, '', undefined]);
    await outputOf(['key', 'create', '--tier', 'free', '--data', other]);
    expect((await runCommand(['status', '--data', other])).code).toBe(1);
  });
});

describe('markets', () => {
  test.each([
    ['--limit 5', 'limit=5'],
    ['--tf 5m --recorded', 'tf=5m&recorded=true'],
    ['--no-recorded', 'recorded=false'],
    ['--closed --limit 3 --skip 2', 'closed=true&limit=3&skip=2'],
    ['--no-closed', 'closed=false'],
    ['--from 2026-01-08T10:00Z --to 2026-01-08T10:30Z', 'from=2026-01-08T10:00Z&to=2026-01-08T10:30Z'],
    ['--as-of 2026-01-08T10:31Z --tf 15m', 'asOf=2026-01-08T10:31Z&tf=15m'],
  ])('%s are those that a server lists with %s, with their snapshots', async (flags, query) => {
    const listed = await jsonOf<object[]>('markets', '--coin', 'btc', ...flags.split(' '));
    expect(listed).toEqual(await served(`/v1/btc/markets?include=counts&${query}`));
  });

  test('are listed by coin, and may be of several coins and timeframes', async () => {
    const expected: unknown[] = [];
    for (const coin of ['btc', 'xrp']) {
      const all = await served<{ timeframe: string }[]>(`/v1/${coin}/markets?include=counts`);
      expected.push(...all.filter(({ timeframe }) => timeframe === '5m' || timeframe === '1h'));
    }
    expect(await jsonOf<unknown[]>('markets', '--coin', 'xrp,btc', '--tf', '5m,1h')).toEqual(expected);
  });

  test('have a row each, and a note if more follow', async () => {
    const { stdout, stderr } = await runCommand(['markets', '--coin', 'btc', '--limit', '2', '--data', data]);
    const [headings, ...rows] = stdout.trimEnd().split('\n');
    expect(headings).toMatch(/^MARKET +START \(UTC\) +STATE +SNAPSHOTS +RECORDED$/);
    expect(rows).toHaveLength(2);
    expect(rows[1]).toMatch(/^simulated-btc-updown-5m-1767868200 +2026-01-08 10:30 +up +170 +296 s of 300 s$/);
    expect(stderr).toBe('more markets follow: see them with --skip 2\n');
    expect((await outputOf(['markets', '--no-recorded', '--data', data])).trimEnd()).toBe('no market matches');
  });

  test('have their winner as state; without one they are open until the end of their window', async () => {
    const asOf = '2026-01-08T10:31:00Z';
    const flags = ['--coin', 'btc', '--as-of', asOf];
    const listed = await jsonOf<{ slug: string; winner: string | null; endTime: string }[]>('markets', ...flags);
    const rows = (await outputOf(['markets', ...flags, '--data', data])).trimEnd().split('\n').slice(1);
    const states = rows.map((row) => row.split(/ {2,}/)).map(([slug, , state]) => [slug, state]);
    const expected = listed.map(({ slug, winner, endTime }) => {
      return [slug, winner ?? (Date.parse(endTime) <= Date.parse(asOf) ? '-' : 'open')];
    });
    expect(states).toEqual(expected);
    expect(new Set(states.map(([, state]) => state))).toContain('open');
  });

  test.each([
    [['--coin', 'doge'], 1, "the archive has no records of the coin 'doge': it has btc, eth, sol, xrp"],
    [['--from', '2', '--to', '1'], 2, '--from must not be later than --to'],
    [['--limit', '0'], 2, 'it must be an integer from 1 to 10000'],
    [['--skip', '-1'], 2, 'it must be an integer from 0'],
    [['--tf', '2h'], 2, 'it must be a list of these: 5m, 15m, 1h, 4h, 24h'],
  ])('%j is refused', async (args, code, reason) => {
    const finished = await runCommand(['markets', ...args, '--data', data]);
    expect([finished.code, finished.stdout]).toEqual([code, '']);
    expect(finished.stderr).toContain(reason);
  });
});
