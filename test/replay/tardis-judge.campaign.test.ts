import { afterAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withAssetIds } from '../../src/replay/stand-in-assets.ts';
import type { Archive } from '../../src/store/archive.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { realBooksOf, realRecording } from '../support/real-recordings.ts';
import { ASSETS, randomRecording } from './random-recording.ts';
import { type Judgement, judged, TARDIS_DEV } from './tardis-judge.ts';
import { filledTardisServer, type TardisServer } from './tardis-server.ts';

const ROOT = join(import.meta.dir, '..', '..');

const BOOKS_SLUG = 'btc-updown-5m-1776323700';
const pathsOf = (name: string) => {
  const path = realRecording(name);
  return path === undefined ? undefined : [path];
};

const RECORDINGS: readonly (readonly [name: string, paths: readonly string[] | undefined, slug: string | undefined])[] =
  [
    ['ws-capture-5m', pathsOf('ws-capture-5m'), undefined],
    ['books-5m-parquet', realBooksOf(BOOKS_SLUG), BOOKS_SLUG],
    ['sessions-15m', pathsOf('sessions-15m'), undefined],
    ['snapshots-1s', pathsOf('snapshots-1s'), undefined],
    ['fixtures', [join(ROOT, 'fixtures')], undefined],
  ];

const SOURCES = ['trade', 'book_change', 'book_ticker'];

/** Data types, the types of the records that they are made from, and tardis-dev's computables for them. */
const CASES: readonly (readonly [
  dataTypes: readonly string[],
  sources: readonly string[],
  computables: Judgement['computables'],
])[] = [
  [['trade', 'book_change', 'book_ticker'], SOURCES, () => []],
  [
    ['book_snapshot_5_1s', 'quote', 'book_snapshot_3_0ms', 'quote_10s', 'book_snapshot_25_1m'],
    ['book_change'],
    ({ computeBookSnapshots: books }) => [
      books({ name: 'book_snapshot_5_1s', depth: 5, interval: 1000 }),
      books({ name: 'quote', depth: 1, interval: 0 }),
      books({ name: 'book_snapshot_3_0ms', depth: 3, interval: 0 }),
      books({ name: 'quote_10s', depth: 1, interval: 10_000 }),
      books({ name: 'book_snapshot_25_1m', depth: 25, interval: 60_000 }),
    ],
  ],
  [
    ['trade_bar_1s', 'trade', 'trade_bar_7ticks', 'trade_bar_1m', 'trade_bar_250ms', 'trade_bar_50vol'],
    ['trade'],
    ({ computeTradeBars: bars }) => [
      bars({ name: 'trade_bar_1s', kind: 'time', interval: 1000 }),
      bars({ name: 'trade_bar_7ticks', kind: 'tick', interval: 7 }),
      bars({ name: 'trade_bar_1m', kind: 'time', interval: 60_000 }),
      bars({ name: 'trade_bar_250ms', kind: 'time', interval: 250 }),
      bars({ name: 'trade_bar_50vol', kind: 'volume', interval: 50 }),
    ],
  ],
];

const typeOf = (dataType: string) =>
  dataType.replace(/^trade_bar_.*/, 'trade_bar').replace(/^(?:quote|book_snapshot_).*/, 'book_snapshot');
const CHANNELS: Readonly<Record<string, readonly string[]>> = {
  trade: ['last_trade_price'],
  book_change: ['book', 'price_change'],
  book_ticker: ['best_bid_ask'],
};

interface Replayed {
  readonly symbols: readonly string[];
  readonly from: string;
  readonly to: string;
}

/** The market with this slug; without a slug the one with the most books. */
function marketWithBooks(archive: Archive, slug: string | undefined) {
  const found = archive.markets.coins().flatMap((coin) => {
    const markets = [];
    for (
      let next = archive.markets.after(coin, undefined);
      next !== undefined;
      next = archive.markets.after(coin, next)
    ) {
      const books = [...archive.snapshots.slices(next, 'up', 0, Number.MAX_SAFE_INTEGER)].length;
      markets.push({ market: next, books });
    }
    return markets;
  });
  const wanted = found.filter(({ market }) => slug === undefined || market.slug === slug);
  return wanted.reduce((most, each) => (each.books > most.books ? each : most)).market;
}

function replayedOf(archive: Archive, slug: string | undefined): Replayed {
  const { clobTokenIds, startMs, endMs } = withAssetIds(marketWithBooks(archive, slug));
  const iso = (ms: number) => new Date(ms).toISOString();
  return { symbols: clobTokenIds, from: iso(startMs - 86_400_000), to: iso(endMs + 86_400_000) };
}

/** Our records, and those that tardis-dev makes of our native messages. */
async function bothOf(
  server: TardisServer,
  { symbols, from, to }: Replayed,
  [dataTypes, sources, computables]: (typeof CASES)[number],
  withDisconnects: boolean,
) {
  const filters = sources.flatMap((source) => CHANNELS[source]!.map((channel) => ({ channel, symbols })));
  const lines = await server.lines('/replay', { exchange: 'polymarket', from, to, filters, withDisconnects: true });
  const wanted = dataTypes.map(typeOf);
  const theirs = await judged({ lines, symbols, sources, wanted, computables, withDisconnects });
  const options = { exchange: 'polymarket', symbols, from, to, dataTypes, withDisconnectMessages: withDisconnects };
  const ours = await server.lines('/replay-normalized', options);
  return { ours, theirs };
}

/**
 * Records without the expected differences: if the venue's transaction is not recorded, the id of a trade is this archive's
 * own; our sums are exact, those of tardis-dev are in floating point.
 */
function comparable(records: readonly string[]): string[] {
  return records.map((record) =>
    record.startsWith('{"type":"trade_bar"')
      ? record.replace(
          /"(volume|buyVolume|sellVolume|vwap)":([\d.e-]+)/g,
          (_, name, sum) => `"${name}":${Number(sum).toPrecision(12)}`,
        )
      : record.replace(/^(\{"type":"trade",.*?"polymarket",)"id":"\d+",/, '$1'),
  );
}

describe.skipIf(TARDIS_DEV === undefined)('tardis-dev makes our records of our native messages, in order.', () => {
  for (const [name, paths, slug] of RECORDINGS) {
    test.skipIf(paths === undefined)(`on a market of ${name}, record by record`, async () => {
      await using server = await filledTardisServer({ paths: paths! });
      const replayed = replayedOf(server.archive, slug);
      let compared = 0;
      for (const each of CASES) {
        const { ours, theirs } = await bothOf(server, replayed, each, true);
        expect(comparable(ours)).toEqual(comparable(theirs));
        compared += ours.length;
      }
      expect(compared).toBeGreaterThan(50);
    });
  }

  test.each([true, false])('across gaps, with disconnects: %p', async (withDisconnects) => {
    let sent = 0;
    for (let seed = 1; seed <= 8; seed += 1) {
      const style = { count: 60, priceScale: 2, trades: true, gaps: 6, stepMs: seed % 3 === 0 ? 0 : 400 };
      const { lines } = randomRecording(seed, { ...style, outcomes: seed % 2 === 0 ? ['up'] : ['up', 'down'] });
      await using server = await filledTardisServer(lines);
      const replayed = { ...replayedOf(server.archive, undefined), symbols: [ASSETS.up, ASSETS.down] };
      for (const each of CASES) {
        const { ours, theirs } = await bothOf(server, replayed, each, withDisconnects);
        expect(comparable(ours)).toEqual(comparable(theirs));
        sent += ours.filter((record) => record.startsWith('{"type":"disconnect"')).length;
      }
    }
    expect(sent > 0).toBe(withDisconnects);
  });
});

describe.skipIf(TARDIS_DEV === undefined)("tardis-dev's own declarations", () => {
  const checked = temporaryDirectory();
  afterAll(() => checked[Symbol.dispose]());

  const typeChecked = async (records: readonly object[]) => {
    const literals = records.map((record) => literalOf(record));
    writeFileSync(
      join(checked.path, 'records.ts'),
      `import type { BookChange, BookSnapshot, BookTicker, Disconnect, Trade, TradeBar } from '${TARDIS_DEV}/dist/index';
       // The published version does not list the exchange yet.
       type Here<T> = T extends unknown ? Omit<T, 'exchange'> & { exchange: 'polymarket' } : never;
       export const records: Here<BookChange | BookSnapshot | BookTicker | Disconnect | Trade | TradeBar>[] = [${literals.join(',\n')}];`,
    );
    const flags = [
      '--ignoreConfig',
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--target',
      'esnext',
      '--module',
      'preserve',
    ];
    const tsc = Bun.spawn([join(ROOT, 'node_modules', '.bin', 'tsc'), ...flags, join(checked.path, 'records.ts')], {
      stdout: 'pipe',
    });
    return await new Response(tsc.stdout).text();
  };

  test('accept a record of every type', async () => {
    const style = { outcomes: ['up', 'down'] as const, count: 80, priceScale: 2, trades: true, gaps: 3, stepMs: 400 };
    await using server = await filledTardisServer(randomRecording(7, style).lines);
    const { symbols, from, to } = replayedOf(server.archive, undefined);
    const dataTypes = ['trade', 'book_change', 'book_ticker', 'book_snapshot_2_1s', 'quote', 'trade_bar_2ticks'];
    const options = { exchange: 'polymarket', symbols, from, to, dataTypes, withDisconnectMessages: true };
    const lines = await server.lines('/replay-normalized', options);
    const records = lines.map((line) => JSON.parse(line) as { type: string });
    const types = ['trade', 'book_change', 'book_ticker', 'book_snapshot', 'trade_bar', 'disconnect'];
    expect([...new Set(records.map(({ type }) => type))].sort()).toEqual([...types].sort());
    const sample = types.flatMap((type) => records.filter((record) => record.type === type).slice(0, 20));
    expect(await typeChecked(sample)).toBe('');
    expect(await typeChecked([{ ...sample[0], side: 'sideways' }])).toContain('sideways');
  });
});

/** A record as a client in JavaScript reads it: instants are dates, and null fields are undefined. */
function literalOf(record: object): string {
  const optional: Readonly<Record<string, readonly string[]>> = {
    book_ticker: ['bidPrice', 'bidAmount', 'askPrice', 'askAmount'],
    disconnect: ['symbols'],
  };
  const { type } = record as { type: string };
  const fields = Object.entries(record).map(([name, value]) => {
    if (/imestamp$/.test(name)) return `${name}: new Date('${value}')`;
    if (value === null) return `${name}: NaN`;
    return `${name}: ${JSON.stringify(value).replaceAll('{}', '{"price":undefined,"amount":undefined}')}`;
  });
  const missing = (optional[type] ?? []).filter((name) => !(name in record)).map((name) => `${name}: undefined`);
  return `{ ${[...fields, ...missing].join(', ')} }`;
}
