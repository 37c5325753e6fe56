import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { run } from '../../src/cli/program.ts';
import { importRecords, NOW_MS, type TemporaryArchive, temporaryArchive } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { CONDITION_ID, START_MS, sampleGap, sampleMarket } from '../support/sample-records.ts';
import { type Service, serviceOf } from '../support/service.ts';

const SLUG = 'btc-updown-5m-1776323400';
const NO_BOOKS = { conditionId: `0x${'0b'.repeat(32)}`, slug: 'no-books', clobTokenIds: ['31', '32'] };
type Levels = readonly (readonly [price: number, size: number])[];
const levels = (side: Levels) => side.map(([price, size]) => ({ price, size }));
const snapshot = (atMs: number, bids: Levels, asks: Levels) => ({
  type: 'snapshot',
  conditionId: CONDITION_ID,
  outcome: 'up',
  timestamp: START_MS + atMs,
  bids: levels(bids),
  asks: levels(asks),
});

const SNAPSHOTS = [
  snapshot(1000, [[0.5, 100]], [[0.52, 40.5]]),
  snapshot(1000, [[0.5, 10]], [[0.52, 40.5]]),
  snapshot(
    2000,
    [
      [0.5, 0.1],
      [0.49, 0.2],
      [0.48, 99.7],
    ],
    [
      [0.51, 25],
      [0.55, 25],
    ],
  ),
  snapshot(
    3000,
    [[0.6, 7]],
    [
      [0.6, 8],
      [0.61, 9],
    ],
  ),
  snapshot(4000, [], [[0.001, 3]]),
  snapshot(5000, [], []),
];

let held: TemporaryArchive;
let service: Service;
beforeAll(async () => {
  held = temporaryArchive();
  const report = await importRecords(held.archive, [
    sampleMarket(),
    ...SNAPSHOTS,
    sampleGap(),
    sampleMarket(NO_BOOKS),
    sampleMarket({
      ...NO_BOOKS,
      conditionId: `0x${'0c'.repeat(32)}`,
      symbol: 'eth',
      slug: 'twice',
      clobTokenIds: ['41', '42'],
    }),
    sampleMarket({
      ...NO_BOOKS,
      conditionId: `0x${'0d'.repeat(32)}`,
      symbol: 'sol',
      slug: 'twice',
      clobTokenIds: ['51', '52'],
    }),
  ]);
  expect(report.total.rejected).toBe(0);
  service = serviceOf(held.archive, held.registry);
});
afterAll(() => held[Symbol.dispose]());

async function shown(...words: string[]) {
  const terminal = captured(() => NOW_MS);
  const code = await run(['show', ...words, '--data', held.path], terminal);
  return { code, stdout: terminal.stdout(), stderr: terminal.stderr() };
}

describe('bookreel show', () => {
  test('has the market, the coverage and the book that the API has, at any instant', async () => {
    const dataOf = async (path: string) => ((await (await service.get(path)).json()) as { data: unknown }).data;
    const path = `/btc/markets/${CONDITION_ID}`;
    const [market, coverage] = [await dataOf(path), await dataOf(`${path}/coverage`)];
    for (const atMs of [0, 999, 1000, 1999, 2000, 2500, 4000, 9999].map((ms) => START_MS + ms)) {
      const [book] = (await dataOf(`${path}/snapshots/at/${atMs}?mode=before&outcome=up`)) as unknown[];
      const { code, stdout } = await shown(SLUG, '--json', '--at', String(atMs));
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toEqual({ market, coverage, snapshot: book ?? null });
    }
    const { stdout } = await shown(CONDITION_ID.toUpperCase().replace('0X', '0x'), '--json', '--outcome', 'down');
    expect(JSON.parse(stdout)).toEqual({ market, coverage, snapshot: null });
  });

  test('prints a ladder whose totals and bars are the depth of the book', async () => {
    const { stdout } = await shown(SLUG, '--at', new Date(START_MS + 2000).toISOString());
    expect(stdout).toContain(
      `${SLUG}\n${CONDITION_ID}\n2026-04-16T07:10:00.000Z to 2026-04-16T07:15:00.000Z, unresolved\n`,
    );
    expect(stdout).toMatch(/^up +6 +4 s +2026-04-16T07:10:01.000Z +2026-04-16T07:10:05.000Z +1 +1 +295 s$/m);
    expect(stdout).toContain('gap 2026-04-16T07:11:00.000Z to 2026-04-16T07:11:30.500Z: recorder restarted\n');
    expect(stdout.slice(stdout.indexOf('PRICE'))).toBe(
      [
        'PRICE  SIZE  TOTAL',
        ` 0.55    25     50  ${'█'.repeat(20)}`,
        ` 0.51    25     25  ${'█'.repeat(10)}`,
        '-- mid 0.505, spread 0.01',
        '  0.5   0.1    0.1  ▏',
        ' 0.49   0.2    0.3  ▏',
        ` 0.48  99.7    100  ${'█'.repeat(40)}`,
        '',
      ].join('\n'),
    );
  });

  test.each([
    ['several books of one timestamp', '2026-04-16T07:10:01Z', '-- mid 0.51, spread 0.02\n  0.5    10     10'],
    ['a crossed book', '2026-04-16T07:10:03Z', '-- mid 0.6, spread 0 (crossed)\n'],
    ['a side without levels', '2026-04-16T07:10:04Z', '-- no bids\n'],
    ['a book without levels', '2026-04-16T07:10:05Z', 'PRICE  SIZE  TOTAL\n-- no levels\n'],
    ['no book yet', '2026-04-16T07:10:00Z', 'no book of up is recorded at that time\n'],
  ])('prints %s', async (_, at, text) => {
    const { code, stdout } = await shown(SLUG, '--at', at);
    expect(code).toBe(0);
    expect(stdout).toContain(text);
  });

  test('show --json has all levels, or with --depth that many of each side, and --outcome is read in any case.', async () => {
    const { stdout } = await shown(SLUG, '--at', '2026-04-16T07:10:02Z', '--depth', '1');
    expect(stdout).toContain('-- mid 0.505, spread 0.01\n  0.5   0.1    0.1');
    expect(stdout).not.toContain('0.49');
    const at = ['--at', '2026-04-16T07:10:02Z', '--json'];
    const sidesOf = (text: string) => {
      const { bids, asks } = (JSON.parse(text) as { snapshot: { bids: unknown[]; asks: unknown[] } }).snapshot;
      return [bids.length, asks.length];
    };
    expect(sidesOf((await shown(SLUG, ...at)).stdout)).toEqual([3, 2]);
    expect(sidesOf((await shown(SLUG, ...at, '--depth', '1', '--outcome', 'UP')).stdout)).toEqual([1, 1]);
  });

  test('show --follow skips books within a tenth of a second, but never the last one of an instant or of all.', async () => {
    const followed = async (...words: string[]) =>
      (await shown(SLUG, '--json', '--follow', ...words)).stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { timestamp: string; bids: unknown });
    const all = await followed('--speed', 'max');
    expect(all.map(({ timestamp, bids }) => [Date.parse(timestamp) - START_MS, bids])).toEqual(
      SNAPSHOTS.slice(1).map(({ timestamp, bids }) => [timestamp - START_MS, bids]),
    );
    expect(await followed('--speed', 'max', '--at', String(START_MS + 3500))).toEqual(all.slice(2));
    // As fast as this it shows what a screen can: always the last book.
    const fast = await followed('--speed', '1000');
    expect(fast.at(-1)).toEqual(all.at(-1)!);
    const text = (await shown(SLUG, '--follow', '--speed', 'max')).stdout;
    expect(text.match(/^up at /gm)).toHaveLength(all.length);
  });

  test('follows as fast as its reader, and has one book in memory', async () => {
    let [waiting, mostWaiting] = [0, 0];
    const terminal = captured(() => NOW_MS);
    const write = async (bytes: Uint8Array) => {
      waiting += 1;
      mostWaiting = Math.max(mostWaiting, waiting);
      await new Promise((resolve) => setImmediate(resolve));
      waiting -= 1;
      await terminal.write(bytes);
    };
    const out = (text: string) => expect(text).toBe('');
    const words = ['show', SLUG, '--follow', '--speed', 'max', '--data', held.path];
    expect(await run(words, { ...terminal, write, out })).toBe(0);
    expect([mostWaiting, terminal.stdout()]).toEqual([1, (await shown(...words.slice(1, 5))).stdout]);
  });

  test('names the command that prints the quotes of a market without books', async () => {
    using place = temporaryArchive();
    const quote = { bidPrice: 0.5, bidSize: 1, askPrice: 0.6, askSize: 1 };
    const labels = { conditionId: CONDITION_ID, outcome: 'up', timestamp: START_MS };
    await importRecords(place.archive, [sampleMarket(), { type: 'quote', ...labels, ...quote }]);
    const terminal = captured();
    expect(await run(['show', SLUG, '--data', place.path], terminal)).toBe(0);
    const words = `bookreel export --market ${SLUG}`;
    expect(terminal.stdout()).toEndWith(`\n\nno books are recorded, but quotes: '${words}' prints them\n`);
    const exported = captured();
    expect(await run([...words.split(' ').slice(1), '--data', place.path], exported)).toBe(0);
    expect(exported.stdout()).toContain('"quote"');
  });

  test('says that a market has no books', async () => {
    for (const more of [[], ['--follow']]) {
      const { code, stdout } = await shown('no-books', ...more);
      expect(code).toBe(0);
      expect(stdout).toEndWith('no book of up is recorded at that time\n');
    }
  });

  test.each([
    [['nosuch'], 1, "bookreel: no market has the conditionId or slug 'nosuch'"],
    [['twice'], 2, 'bookreel: markets of 2 coins have this slug: name one of eth 0x0c'],
    [[SLUG, '--depth', '0'], 2, 'It must be an integer from 1 to 10001'],
    [[SLUG, '--outcome', 'both'], 2, 'it must be up or down'],
    [[SLUG, '--at', 'noon'], 2, "'noon' is invalid"],
    [[SLUG, '--speed', '0'], 2, "'0' is invalid"],
  ] as const)('A slug of several coins’ markets is refused. (%p)', async (words, code, sentence) => {
    const refused = await shown(...words);
    expect(refused.code).toBe(code);
    expect(refused.stdout).toBe('');
    expect(refused.stderr.toLowerCase()).toContain(sentence.toLowerCase());
  });
});
