import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { formatInstant } from '../../src/domain/instant.ts';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { type TableShape, tableRefusal } from '../../src/export/table-shape.ts';
import { STEP_BYTES } from '../../src/export/writers/export-writer.ts';
import type { Archive } from '../../src/store/archive.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { exported, NOT_SAMPLED } from './exported.ts';
import { expectedExport, generatedRecording, type Line } from './generated-recording.ts';

setDefaultTimeout(120_000);

const SEEDS = [1, 2, 3, 4];
const MARKET_COLUMNS = ['symbol', 'timeframe', 'slug', 'conditionId', 'outcome', 'timestamp', 'receivedAt', 'id'];
type Row = Readonly<Record<string, unknown>>;

async function rowsOf(archive: Archive, table: TableShape, depth?: number) {
  const sampling = { ...NOT_SAMPLED, depth, table };
  const { bytes, steps, tally } = await exported(archive, 'parquet', { sampling });
  const file = Uint8Array.from(bytes).buffer;
  const metadata = parquetMetadata(file);
  const rows = (await parquetReadObjects({ file, compressors: COMPRESSORS })) as Row[];
  const columns = metadata.schema.filter(({ type }) => type !== undefined).map(({ name }) => name);
  return { rows: rows.map(plain), columns, groups: metadata.row_groups, steps, tally };
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

describe('tables of Parquet', () => {
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
    for (const seed of SEEDS) {
      const lines = generatedRecording(seed);
      using place = temporaryArchive();
      await importRecords(place.archive, lines);
      const expected = expectedRows(expectedExport(lines) as Line[], { type, shape }, depth);
      const { rows, columns, tally } = await rowsOf(place.archive, { type, shape }, depth);
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
    const found = await rowsOf(archive, { type: 'quote', shape: undefined });
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
    const prices = await rowsOf(archive, { type: 'price', shape: undefined });
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
      using place = temporaryArchive();
      await importRecords(place.archive, [sampleMarket(), ...books]);
      const { rows, groups, steps } = await rowsOf(place.archive, { type: 'snapshot', shape });
      expect(rows).toHaveLength(shape === 'levels' ? 3000 * 41 : 3000);
      expect(groups.length).toBeGreaterThan(2);
      expect(Math.max(...steps)).toBeLessThan(STEP_BYTES);
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
    const { rows, columns } = await rowsOf(place.archive, { type: 'snapshot', shape: 'books' });
    expect(rows).toEqual([]);
    expect(columns).toEqual([...MARKET_COLUMNS, 'mirrored', 'price', 'size', 'price', 'size']);
  });

  test.each([
    ['csv', { shape: 'wide' }, ['shape', 'is for the format parquet, not csv']],
    ['ndjson', { type: 'quote' }, ['type', 'is for the format parquet, not ndjson']],
    [
      'parquet',
      { shape: 'rows', type: 'quote' },
      ['type', 'must not be given with the shape rows, which has all types'],
    ],
    ['parquet', { shape: 'wide', type: 'trade' }, ['shape', 'is for snapshots: a trade has one row']],
    ['parquet', { shape: 'wide', depth: 101 }, ['depth', 'must be at most 100 with the shape wide']],
    ['parquet', { shape: 'wide', type: 'snapshot', depth: 100 }, undefined],
    ['csv', {}, undefined],
  ] as const)('%s with %j: %j', (format, request, refusal) => {
    expect(tableRefusal(format, request)).toEqual(refusal as never);
  });
});
