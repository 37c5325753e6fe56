import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { SchemaElement } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { pmxtParquet } from '../../../src/import/codecs/pmxt-parquet.ts';
import type { SnapshotPace } from '../../../src/import/rebuild/pace.ts';
import { importPaths, importRecords, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import { booksOf } from '../../support/imported.ts';
import { CONDITION_ID, DOWN_ASSET, START_MS, sampleMarket, UP_ASSET } from '../../support/sample-records.ts';
import { KeepingSink } from '../rebuild/keeping-sink.ts';
import { gapsOf, MARKET, naiveSnapshots, seen, snapshotsOf } from '../rebuild/venue-messages.ts';

/** A row as PMXT documents it, without the columns that its event does not have. */
interface Row {
  readonly offsetMs: number;
  readonly event_type: string;
  readonly market?: string;
  readonly asset_id?: string;
  readonly bids?: string;
  readonly asks?: string;
  readonly price?: string;
  readonly size?: string;
  readonly side?: string;
  readonly best_bid?: string;
  readonly best_ask?: string;
  readonly new_tick_size?: string;
}

const OTHER_MARKET = `0x${'77'.repeat(32)}`;
const SLUG = 'btc-updown-5m-1776323400';

const time = (name: string): SchemaElement => ({
  ...{ name, type: 'INT64', repetition_type: 'REQUIRED', converted_type: 'TIMESTAMP_MILLIS' },
});
const text = (name: string): SchemaElement => ({
  ...{ name, type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL', converted_type: 'UTF8' },
});
const decimal = (name: string, precision: number, scale: number): SchemaElement => ({
  ...{ name, type: precision > 9 ? 'INT64' : 'INT32', repetition_type: 'OPTIONAL', converted_type: 'DECIMAL' },
  ...{ precision, scale },
});
const COLUMNS: readonly SchemaElement[] = [
  time('timestamp_received'),
  time('timestamp'),
  { name: 'market', type: 'FIXED_LEN_BYTE_ARRAY', type_length: 66, repetition_type: 'REQUIRED' },
  ...['event_type', 'asset_id', 'bids', 'asks'].map(text),
  decimal('price', 9, 4),
  decimal('size', 18, 6),
  text('side'),
  ...['best_bid', 'best_ask'].map((name) => decimal(name, 9, 4)),
  ...['fee_rate_bps', 'transaction_hash'].map(text),
  ...['old_tick_size', 'new_tick_size'].map((name) => decimal(name, 9, 4)),
];

/** `0.48` at a scale of 4 as 4800n. */
function unscaled(value: string | undefined, scale: number): bigint | null {
  if (value === undefined) return null;
  const [whole = '0', fraction = ''] = value.split('.');
  return BigInt(`${whole}${fraction.padEnd(scale, '0')}`);
}

function cellOf(row: Row, { name, scale }: SchemaElement): unknown {
  if (name === 'timestamp') return BigInt(START_MS + row.offsetMs);
  if (name === 'timestamp_received') return BigInt(START_MS + row.offsetMs + 17);
  if (name === 'market') return new TextEncoder().encode(row.market ?? CONDITION_ID);
  if (name === 'asset_id') return row.asset_id ?? UP_ASSET;
  const value = row[name as keyof Row];
  return scale === undefined ? (value ?? null) : unscaled(value as string | undefined, scale);
}

function parquetOf(rows: readonly Row[], rowGroupSize = 1000, without: readonly string[] = []): Uint8Array {
  const columns = COLUMNS.filter(({ name }) => !without.includes(name));
  return new Uint8Array(
    parquetWriteBuffer({
      schema: [{ name: 'schema', num_children: columns.length }, ...columns],
      columnData: columns.map((column) => ({ name: column.name, data: rows.map((row) => cellOf(row, column)) })),
      rowGroupSize,
    }),
  );
}

const LEVELS = { bids: '[["0.4","10"],["0.48","30"]]', asks: '[["0.6","5"],["0.52","7.25"]]' };
const FIRST: Row = { offsetMs: 0, event_type: 'book', ...LEVELS };
const FIRST_SEEN = seen(0, '0.48:30 0.4:10', '0.52:7.25 0.6:5');

function change(offsetMs: number, side: string, price: string, size: string, fields: Partial<Row> = {}): Row {
  return { offsetMs, event_type: 'price_change', side, price, size, ...fields };
}

async function read(rows: readonly Row[], { rowGroupSize = 1000, every = 'change' as SnapshotPace } = {}) {
  using place = temporaryArchive();
  using directory = temporaryDirectory();
  const path = join(directory.path, 'polymarket_orderbook_2026-04-16T07.parquet');
  writeFileSync(path, parquetOf(rows, rowGroupSize));
  const sink = new KeepingSink(place.archive);
  sink.know(MARKET.statement);
  const codec = pmxtParquet();
  const bytes = () => {
    throw new Error('a Parquet file is read by its path');
  };
  await codec.read({ path, name: path, isJsonLines: false, bytes }, sink);
  sink.settle(every);
  expect(sink.openItems()).toEqual([]);
  return {
    sink,
    up: snapshotsOf(sink.records, 'up'),
    down: snapshotsOf(sink.records, 'down'),
    gaps: gapsOf(sink.records),
  };
}

describe('an hour of PMXT', () => {
  test('books and changes become snapshots with exactly their decimals, trades become prices', async () => {
    const { up, sink, gaps } = await read([
      FIRST,
      change(5, 'BUY', '0.4850', '1234567.890123', { best_bid: '0.4850', best_ask: '0.5200' }),
      change(6, 'SELL', '0.5200', '0.000000', { best_bid: '0.4850', best_ask: '0.6000' }),
      { offsetMs: 7, event_type: 'last_trade_price', price: '0.0700', size: '3.000000', side: 'BUY' },
      { offsetMs: 8, event_type: 'tick_size_change', new_tick_size: '0.0010' },
      {
        offsetMs: 9,
        event_type: 'book',
        bids: '[["0.4","10"],["0.48","30"],["0.485","1234567.890123"]]',
        asks: '[["0.6","5"]]',
      },
    ]);
    expect(up).toEqual([
      FIRST_SEEN,
      seen(5, '0.485:1234567.890123 0.48:30 0.4:10', '0.52:7.25 0.6:5'),
      seen(6, '0.485:1234567.890123 0.48:30 0.4:10', '0.6:5'),
    ]);
    expect(sink.recordsOf('price')).toMatchObject([
      { kind: 'trade', price: 0.07, timestampMs: START_MS + 7, outcome: 'up' },
    ]);
    expect(gaps).toEqual([]);
    expect(sink.reasons()).toEqual([]);
    expect(sink.items.map(({ kind, line }) => [kind, line])).toEqual([
      ['book', 1],
      ['price_change', 2],
      ['price_change', 3],
      ['last_trade_price', 4],
      ['tick_size_change', 5],
      ['book', 6],
    ]);
  });

  test('every decimal that both the columns and the archive can hold is stored exactly', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 9999 }), fc.bigInt({ min: 1n, max: 999_999_999_999_999n })), {
          minLength: 1,
          maxLength: 30,
        }),
        async (levels) => {
          const written = (value: bigint, scale: number) =>
            `${value / 10n ** BigInt(scale)}.${String(value % 10n ** BigInt(scale)).padStart(scale, '0')}`;
          const rows = levels.map(([price, size], index) =>
            change(index + 1, 'BUY', written(BigInt(price), 4), written(size, 6)),
          );
          const { up } = await read([{ ...FIRST, bids: '[]' }, ...rows]);
          const [price, size] = levels.at(-1)!;
          const level = up.at(-1)!.bids.find(([levelPrice]) => levelPrice === Number(written(BigInt(price), 4)));
          expect(level?.[1]).toBe(Number(written(size, 6)));
        },
      ),
      { seed: 11, numRuns: 12 },
    );
  });

  test('PMXT rows of unknown markets are skipped, wherever they are.', async () => {
    const other = (offsetMs: number) =>
      change(offsetMs, 'BUY', '0.5000', '1', { market: OTHER_MARKET, asset_id: '77' });
    const rows = [other(0), FIRST, other(1), change(5, 'BUY', '0.4900', '1'), other(9), other(9)];
    for (const rowGroupSize of [1, 2, 1000]) {
      const { up, sink } = await read(rows, { rowGroupSize });
      expect(up.map(({ bids }) => bids[0])).toEqual([
        [0.48, 30],
        [0.49, 1],
      ]);
      expect(sink.ignored).toEqual({ 'row of an unknown market': 4 });
      expect(sink.items.map(({ line }) => line)).toEqual([2, 4]);
    }
  });

  test('rows sorted by receipt are applied in the venue’s order, like a naive replay', async () => {
    const rows = [FIRST, { ...FIRST, asset_id: DOWN_ASSET }].flatMap((first) =>
      Array.from({ length: 400 }, (_, index) => {
        if (index === 0) return first;
        const { asset_id } = first as Row;
        const jitter = ((index * 7919) % 97) * 10;
        const price = `0.${String(10 + ((index * 31) % 80)).padEnd(4, '0')}`;
        const side = index % 2 === 0 ? 'BUY' : 'SELL';
        return change(
          1 + index * 3 + jitter,
          side,
          price,
          String(index % 5),
          asset_id === undefined ? {} : { asset_id },
        );
      }),
    );
    const frames = rows.map((row) => frameOf(row));
    const naive = naiveSnapshots(frames, 100);
    const { up, down, sink } = await read(rows, { every: 100, rowGroupSize: 64 });
    expect(sink.reasons()).toEqual([]);
    expect(up).toEqual(naive.get(UP_ASSET)!);
    expect(down).toEqual(naive.get(DOWN_ASSET)!);
  });

  test('a book that differs from the book after the changes opens a gap', async () => {
    const { gaps } = await read([FIRST, change(5, 'BUY', '0.4900', '1'), { ...FIRST, offsetMs: 50 }]);
    expect(gaps).toEqual([
      { from: 0, to: 50, reason: 'the recorded book of up differs from the changes before it in 1 level' },
    ]);
  });

  test.each<readonly [string, Row, string, RegExp]>([
    ['levels that are not JSON', { ...FIRST, bids: '[[' }, 'book', /^bids is not JSON$/],
    [
      'a level of one number',
      { ...FIRST, asks: '[["0.5"]]' },
      'book',
      /^asks has a level that is not a pair of price and size$/,
    ],
    [
      'a change without a price',
      { offsetMs: 1, event_type: 'price_change', side: 'BUY', size: '1' },
      'price_change',
      /^price is missing/,
    ],
    [
      'a size of too many digits',
      change(1, 'BUY', '0.5000', '1000000000.000001'),
      'price_change',
      /more than 15 digits$/,
    ],
    ['an event of no kind', { offsetMs: 1, event_type: 'order' }, 'unknown', /^event_type "order" is unknown$/],
  ])('%s are rejected with their row, the others are stored', async (_, row, kind, reason) => {
    const { sink, up } = await read([FIRST, row, change(9, 'BUY', '0.4900', '1')]);
    const rejected = sink.items.filter((item) => item.reasons.length > 0);
    expect(rejected).toMatchObject([{ kind, line: 2 }]);
    expect(sink.reasons()[0]).toMatch(reason);
    expect(up).toHaveLength(2);
  });
});

/** The row as a frame of the venue, for the naive replay. */
function frameOf({ offsetMs, event_type, asset_id = UP_ASSET, bids, asks, price, size, side }: Row) {
  const timestamp = String(START_MS + offsetMs);
  const levels = (side: string | undefined) =>
    (JSON.parse(side ?? '[]') as [string, string][]).map(([price, size]) => ({ price, size }));
  if (event_type === 'book') return { event_type, asset_id, timestamp, bids: levels(bids), asks: levels(asks) };
  return { event_type, timestamp, price_changes: [{ asset_id, price, size, side }] };
}

describe('imported as a file', () => {
  test('it is recognised by its columns, stored, and stored once', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const path = join(directory.path, 'hour.parquet');
    writeFileSync(
      path,
      parquetOf([FIRST, change(5, 'BUY', '0.4900', '1')], 1000, ['fee_rate_bps', 'transaction_hash']),
    );
    await importRecords(place.archive, [sampleMarket()]);
    const report = await importPaths(place.archive, path);
    expect(report.files.map(({ format }) => format)).toEqual(['PMXT Parquet']);
    expect(report.records).toEqual({ snapshot: 2 });
    expect(booksOf(place.archive, SLUG, 'up').map(({ timestampMs }) => timestampMs - START_MS)).toEqual([0, 5]);
    expect((await importPaths(place.archive, path)).total).toMatchObject({ stored: 0, duplicate: 2 });
  });

  test('a file without a known market is rejected as a whole, with what to do', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const path = join(directory.path, 'hour.parquet');
    writeFileSync(path, parquetOf([FIRST, change(5, 'BUY', '0.4900', '1')]));
    const { total, rejections } = await importPaths(place.archive, path);
    expect(total).toMatchObject({ read: 1, rejected: 1, ignored: 2 });
    expect(rejections[0]?.reason).toBe(
      'none of the 2 rows belongs to a known market: import the market records that you want first, or name a file with them (--markets)',
    );
  });

  test('one that is cut off is damaged', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const path = join(directory.path, 'hour.parquet');
    const bytes = parquetOf(
      Array.from({ length: 200 }, (_, index) => change(index, 'BUY', '0.4900', String(index + 1))),
    );
    bytes.fill(0xff, 8, 400);
    writeFileSync(path, bytes);
    await importRecords(place.archive, [sampleMarket()]);
    const { files } = await importPaths(place.archive, path);
    expect(files[0]?.error).toContain('cannot be read as Parquet: it is damaged or cut off');
  });
});
