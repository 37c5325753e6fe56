import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { DataType, type Schema, tableFromIPC } from 'apache-arrow';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import pl from 'nodejs-polars';
import { formatInstant } from '../../src/domain/instant.ts';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { type TableShape, tableRefusal } from '../../src/export/table-shape.ts';
import { STEP_BYTES } from '../../src/export/writers/export-writer.ts';
import type { Archive } from '../../src/store/archive.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { START_MS, sampleMarket, samplePrice, sampleSnapshot } from '../support/sample-records.ts';
import { exported, NOT_SAMPLED } from './exported.ts';
import { expectedExport, generatedRecording, type Line } from './generated-recording.ts';

setDefaultTimeout(120_000);

const SEEDS = [1, 2, 3, 4];
const MARKET_COLUMNS = ['symbol', 'timeframe', 'slug', 'conditionId', 'outcome', 'timestamp', 'receivedAt', 'id'];
type Row = Readonly<Record<string, unknown>>;

const FORMATS = ['parquet', 'arrow'] as const;

async function rowsOf(
  archive: Archive,
  table: TableShape,
  depth?: number,
  format: (typeof FORMATS)[number] = 'parquet',
) {
  const sampling = { ...NOT_SAMPLED, depth, table };
  const { bytes, steps, tally } = await exported(archive, format, { sampling });
  if (format === 'arrow') {
    const read = tableFromIPC(bytes);
    const rows = read.toArray().map((row) => plainArrow(row.toJSON(), read.schema));
    return {
      rows,
      columns: read.schema.fields.flatMap(leavesOfField),
      groups: [],
      batches: read.batches,
      steps,
      tally,
    };
  }
  const file = Uint8Array.from(bytes).buffer;
  const metadata = parquetMetadata(file);
  const rows = (await parquetReadObjects({ file, compressors: COMPRESSORS })) as Row[];
  const columns = metadata.schema.filter(({ type }) => type !== undefined).map(({ name }) => name);
  return { rows: rows.map(plain), columns, groups: metadata.row_groups, batches: [], steps, tally };
}

/** The same of a row of Arrow, whose instants are numbers and whose lists are vectors. */
function plainArrow(row: Row, { fields }: Schema): Row {
  return plain(
    Object.fromEntries(
      fields.map(({ name, type }) => {
        const value = row[name];
        if (DataType.isTimestamp(type) && typeof value === 'number') return [name, new Date(value)];
        return [name, DataType.isList(type) ? (JSON.parse(JSON.stringify(value)) as unknown) : value];
      }),
    ),
  );
}

function leavesOfField({ name, type }: Schema['fields'][number]): string[] {
  return type.children?.length > 0 ? (type.children as Schema['fields']).flatMap(leavesOfField) : [name];
}

const COMPRESSORS = { ZSTD: (page: Uint8Array) => new Uint8Array(Bun.zstdDecompressSync(Uint8Array.from(page))) };

/** Nulls are left out, instants are ISO 8601, and whole numbers are numbers. */
function plain(row: Row): Row {
  const cells = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Date ? value.toISOString() : typeof value === 'bigint' ? Number(value) : value,
  ]);
  return Object.fromEntries(cells.filter(([, value]) => value !== null && value !== undefined));
}

/** What the lines of an export in NDJSON, which is its order, have of each type. */
function expectedRows(lines: readonly Line[], { type, shape }: TableShape, depth: number | undefined): Row[] {
  const markets = new Map(lines.flatMap((line) => (line.type === 'market' ? [[line.conditionId, line] as const] : [])));
  return lines.flatMap((line): Row[] => {
    if (line.type === 'market' || line.type === 'gap' || line.type === 'coinPrice' || line.type === 'lastTradePrice')
      return [];
    const { symbol, timeframe, slug } = markets.get(line.conditionId)!;
    const { conditionId, outcome, timestamp, receivedAt } = line;
    const common = withoutNulls({
      symbol,
      timeframe,
      slug,
      conditionId,
      outcome,
      timestamp,
      receivedAt,
      id: Number(line.id),
    });
    if (line.type === 'price') {
      if (type !== (line.kind === 'trade' ? 'trade' : 'price')) return [];
      const { price, size, side, feeRateBps, transactionHash } = line;
      return [withoutNulls({ ...common, price, size, side, feeRateBps, transactionHash })];
    }
    if (line.type !== type) return [];
    if (line.type === 'quote') {
      const { bidPrice, bidSize, askPrice, askSize } = line;
      return [withoutNulls({ ...common, bidPrice, bidSize, askPrice, askSize })];
    }
    const [bids, asks] = [line.bids.slice(0, depth), line.asks.slice(0, depth)];
    const row = { ...common, mirrored: line.mirrored === true };
    if (shape === 'books') return [{ ...row, bids, asks }];
    const sides = [
      ['bid', bids],
      ['ask', asks],
    ] as const;
    if (shape === 'wide') {
      const cells = sides.flatMap(([side, levels]) =>
        levels.slice(0, depth ?? 10).flatMap(({ price, size }, index) => [
          [`${side}_price_${index + 1}`, price],
          [`${side}_size_${index + 1}`, size],
        ]),
      );
      return [{ ...row, ...Object.fromEntries(cells) }];
    }
    const rows = sides.flatMap(([side, levels]) =>
      levels.map((level, index) => ({ ...row, side, level: index + 1, ...level })),
    );
    return rows.length === 0 ? [row] : rows;
  });
}

function withoutNulls(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined));
}

/** Without recorded quotes or midpoints the tables have derived ones, which NDJSON has not: see the test of their own. */
const isRecorded = (rows: readonly Row[], lines: readonly Line[], type: string) => {
  const recorded = new Set(
    lines.flatMap((line) => {
      const isOfType =
        line.type === 'quote' ? type === 'quote' : line.type === 'price' && line.kind === 'mid' && type === 'price';
      return isOfType && 'outcome' in line ? [`${line.conditionId} ${line.outcome}`] : [];
    }),
  );
  return type === 'quote' || type === 'price'
    ? rows.filter(({ conditionId, outcome }) => recorded.has(`${conditionId} ${outcome}`))
    : rows;
};

const recordings: { readonly lines: readonly Line[]; readonly place: ReturnType<typeof temporaryArchive> }[] = [];
beforeAll(async () => {
  for (const seed of SEEDS) {
    const lines = generatedRecording(seed);
    const place = temporaryArchive();
    recordings.push({ lines, place });
    await importRecords(place.archive, lines);
  }
});
/** 3,000 books with 41 levels each. */
const deep = temporaryArchive();
beforeAll(async () => {
  const books = Array.from({ length: 3000 }, (_, index) =>
    sampleSnapshot({
      timestamp: formatInstant(START_MS + 90 * index),
      bids: Array.from({ length: 40 }, (_level, level) => ({
        price: (400 - level) / 1000,
        size: index + level + 1,
      })),
      asks: [{ price: 0.5 + (index % 7) / 100, size: 7 }],
    }),
  );
  await importRecords(deep.archive, [sampleMarket(), ...books]);
});
afterAll(() => {
  deep[Symbol.dispose]();
  for (const { place } of recordings) place[Symbol.dispose]();
});

describe.each(FORMATS)('tables of %s', (format) => {
  const tables: readonly (readonly [TableShape['type'], TableShape['shape'], number | undefined])[] = [
    ['snapshot', 'books', undefined],
    ['snapshot', 'books', 2],
    ['snapshot', 'wide', undefined],
    ['snapshot', 'wide', 3],
    ['snapshot', 'levels', undefined],
    ['snapshot', 'levels', 1],
    ['quote', undefined, undefined],
    ['price', undefined, undefined],
    ['trade', undefined, undefined],
  ];
  test.each(tables)('have the records of one type: %s as %s, depth %p', async (type, shape, depth) => {
    for (const { lines, place } of recordings) {
      const expected = expectedRows(expectedExport(lines) as Line[], { type, shape }, depth);
      const { rows, columns, tally } = await rowsOf(place.archive, { type, shape }, depth, format);
      expect(isRecorded(rows, lines, type)).toEqual(expected);
      expect(columns.slice(0, MARKET_COLUMNS.length)).toEqual(MARKET_COLUMNS);
      const { market, gap, coinPrice, lastTradePrice, ...counts } = tally.counts;
      expect([market, gap, coinPrice, lastTradePrice]).toEqual([0, 0, 0, 0]);
      expect(Object.entries(counts).filter(([, count]) => count > 0).length).toBeLessThan(2);
    }
  });

  test('of quotes and midpoints have those of the pages where none are recorded', async () => {
    const lines = generatedRecording(5).filter(
      ({ type }) => type === 'market' || type === 'snapshot' || type === 'coinPrice',
    );
    using place = temporaryArchive();
    const { archive } = place;
    await importRecords(archive, lines);
    const pageOf = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, order: 'asc', after: undefined, limit: 5000 } as const;
    const markets = lines.flatMap((line) =>
      line.type === 'market' ? archive.markets.findByConditionId(line.conditionId)! : [],
    );
    const paged = <T>(read: (market: (typeof markets)[number], outcome: 'up' | 'down') => readonly T[]) =>
      markets.flatMap((market) =>
        OUTCOMES.flatMap((outcome) =>
          read(market, outcome).map((one) => ({ ...one, conditionId: market.conditionId })),
        ),
      );
    const quotes = paged(
      (market, outcome) => archive.quotes.page(archive.quotes.sources(market, [outcome]), pageOf).records,
    );
    const mids = paged(
      (market, outcome) => archive.prices.page(archive.prices.sources(market, [outcome]), pageOf).records,
    );
    const keyed = (all: readonly Row[]) => all.map((one) => JSON.stringify(one)).sort();
    const found = await rowsOf(archive, { type: 'quote', shape: undefined }, undefined, format);
    expect(found.rows.length).toBeGreaterThan(10);
    expect(
      keyed(
        found.rows.map(({ conditionId, outcome, timestamp, id, bidPrice, bidSize, askPrice, askSize }) => ({
          conditionId,
          outcome,
          timestamp,
          id,
          bidPrice,
          bidSize,
          askPrice,
          askSize,
        })),
      ),
    ).toEqual(
      keyed(
        quotes.map(({ conditionId, outcome, timestampMs, id, quote }) => ({
          conditionId,
          outcome,
          timestamp: formatInstant(timestampMs),
          id,
          ...quote,
        })),
      ),
    );
    const prices = await rowsOf(archive, { type: 'price', shape: undefined }, undefined, format);
    expect(
      keyed(
        prices.rows.map(({ conditionId, outcome, timestamp, id, price }) => ({
          conditionId,
          outcome,
          timestamp,
          id,
          price,
        })),
      ),
    ).toEqual(
      keyed(
        mids.map(({ conditionId, outcome, timestampMs, id, price }) => ({
          conditionId,
          outcome,
          timestamp: formatInstant(timestampMs),
          id,
          price,
        })),
      ),
    );
  });

  test.each(['books', 'wide', 'levels'] as const)(
    'as %s are written in steps, in several groups whose timestamps have statistics',
    async (shape) => {
      const table = { type: 'snapshot', shape } as const;
      const { rows, groups, batches, steps } = await rowsOf(deep.archive, table, undefined, format);
      expect(rows).toHaveLength(shape === 'levels' ? 3000 * 41 : 3000);
      expect(Math.max(...steps)).toBeLessThanOrEqual(STEP_BYTES);
      if (format === 'arrow') {
        expect(batches.length).toBeGreaterThan(2);
        return;
      }
      expect(groups.length).toBeGreaterThan(2);
      let next = 0;
      for (const { columns, num_rows: count } of groups) {
        const times = rows.slice(next, next + Number(count)).map(({ timestamp }) => Date.parse(String(timestamp)));
        next += Number(count);
        const statistics = columns.find(({ meta_data: chunk }) => chunk!.path_in_schema[0] === 'timestamp')!.meta_data!
          .statistics!;
        const [min, max] = [statistics.min_value, statistics.max_value].map((value) => Number(value));
        expect([min, max]).toEqual([Math.min(...times), Math.max(...times)]);
      }
      expect(next).toBe(rows.length);
    },
  );

  test('of an archive without such records have their columns', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket()]);
    const { rows, columns } = await rowsOf(place.archive, { type: 'snapshot', shape: 'books' }, undefined, format);
    expect(rows).toEqual([]);
    expect(columns).toEqual([...MARKET_COLUMNS, 'mirrored', 'price', 'size', 'price', 'size']);
  });
});

test('A batch of Arrow that has more bytes than a step is written in several steps.', async () => {
  const table = { type: 'snapshot', shape: 'books', numbers: 'decimal' } as const;
  const sampling = { ...NOT_SAMPLED, table };
  const { bytes, steps } = await exported(deep.archive, 'arrow', { sampling });
  expect(Math.max(...steps)).toBe(STEP_BYTES);
  const parquet = await exported(deep.archive, 'parquet', { sampling });
  expect(pl.readIPCStream(bytes).frameEqual(pl.readParquet(parquet.bytes), true)).toBe(true);
});

test.each([
  ['snapshot', 'books'],
  ['snapshot', 'wide'],
  ['snapshot', 'levels'],
  ['quote', undefined],
  ['trade', undefined],
] as const)(
  'polars reads the same frame from Arrow and from Parquet, in doubles and decimals: %s %p',
  async (type, shape) => {
    const sizes = ['size', 'bidSize', 'askSize'];
    const text = JSON.stringify(generatedRecording(2), (name, value: unknown) =>
      typeof value === 'number' && sizes.includes(name) ? Number(Math.min(1e9, value + 0.000001).toFixed(6)) : value,
    );
    using place = temporaryArchive();
    await importRecords(place.archive, JSON.parse(text) as Line[]);
    for (const table of [undefined, { type, shape }, { type, shape, numbers: 'decimal' as const }]) {
      const sampling = { ...NOT_SAMPLED, table };
      const frames = await Promise.all(
        FORMATS.map(async (format) => {
          const { bytes } = await exported(place.archive, format, { sampling });
          return format === 'arrow' ? pl.readIPCStream(bytes) : pl.readParquet(bytes);
        }),
      );
      expect(frames[0]!.height).toBeGreaterThan(10);
      expect(frames[1]!.schema).toEqual(frames[0]!.schema);
      expect(frames[1]!.frameEqual(frames[0]!, true)).toBe(true);
    }
  },
);

describe('decimals', () => {
  const SIZES = [0.000001, 123456789012.123, 999999999.999999, 8, 0.1];
  const PRICES = [0.48, 0.0001, 0.999999999999, 1, 0.123456789012];
  const TEXTS = [
    ['0.4800000000000', '0.000001'],
    ['0.0001000000000', '123456789012.123000'],
    ['0.9999999999990', '999999999.999999'],
    ['1.0000000000000', '8.000000'],
    ['0.1234567890120', '0.100000'],
  ];
  const TRADES = PRICES.map((price, index) =>
    samplePrice({ price, size: SIZES[index], transactionHash: `0x${String(index).padStart(64, '0')}` }),
  );
  const table = { type: 'trade', shape: undefined, numbers: 'decimal' } as const;

  test.each(FORMATS)('of %s are the recorded ones, with all their digits', async (format) => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket(), ...TRADES]);
    const { bytes } = await exported(place.archive, format, { sampling: { ...NOT_SAMPLED, table } });
    const frame = format === 'arrow' ? pl.readIPCStream(bytes) : pl.readParquet(bytes);
    expect(JSON.stringify(frame.schema)).toContain('{"Decimal":{"precision":18,"scale":13}}');
    const texts = frame.select(pl.col('price').cast(pl.Utf8), pl.col('size').cast(pl.Utf8)).toRecords();
    expect(texts.map(({ price, size }) => [price, size])).toEqual(TEXTS);
  });

  test.each(FORMATS)('of %s that do not fit are refused', async (format) => {
    using place = temporaryArchive();
    const sized = { ...samplePrice({ size: 0.1234567 }) };
    await importRecords(place.archive, [sampleMarket(), ...TRADES, sized]);
    expect(exported(place.archive, format, { sampling: { ...NOT_SAMPLED, table } })).rejects.toThrow(
      'the size 0.1234567 does not fit a decimal with 12 digits before the point and 6 after it: choose numbers as doubles',
    );
  });
});

test.each([
  ['csv', { shape: 'wide' }, ['shape', 'is for the formats parquet and arrow, not csv']],
  ['ndjson', { type: 'quote' }, ['type', 'is for the formats parquet and arrow, not ndjson']],
  ['parquet', { shape: 'rows', type: 'quote' }, ['type', 'must not be given with the shape rows, which has all types']],
  ['parquet', { shape: 'wide', type: 'trade' }, ['shape', 'is for snapshots: a trade has one row']],
  ['parquet', { shape: 'wide', depth: 101 }, ['depth', 'must be at most 100 with the shape wide']],
  ['parquet', { shape: 'wide', type: 'snapshot', depth: 100 }, undefined],
  ['csv', {}, undefined],
  ['csv', { numbers: 'double' }, ['numbers', 'is for the formats parquet and arrow, not csv']],
  ['parquet', { numbers: 'decimal' }, ['numbers', 'is for a table of one type: add a shape, but not rows, or a type']],
  [
    'arrow',
    { numbers: 'decimal', shape: 'rows' },
    ['numbers', 'is for a table of one type: add a shape, but not rows, or a type'],
  ],
  ['arrow', { numbers: 'decimal', type: 'price' }, undefined],
] as const)('%s with %j: %j', (format, request, refusal) => {
  expect(tableRefusal(format, request)).toEqual(refusal as never);
});
