import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import fc from 'fast-check';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { STEP_BYTES } from '../../src/export/writers/export-writer.ts';
import { FLAT_COLUMNS } from '../../src/record/flat-columns.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { START_MS, sampleGap, sampleMarket, sampleQuote, sampleSnapshot } from '../support/sample-records.ts';
import { exported } from './exported.ts';
import { expectedExport, generatedRecording, type Line } from './generated-recording.ts';

setDefaultTimeout(120_000);

const RUNS = { seed: 20260416, numRuns: 3 };
const COLUMNS: readonly string[] = FLAT_COLUMNS.map(({ name }) => name);

type Cell = string | number | boolean | undefined;
/** A row by its columns, without nulls. */
type Row = Readonly<Record<string, Exclude<Cell, undefined>>>;

/** The rows of the documented schema, made from the lines of bookreel's own format. */
function rowsOf(lines: readonly Line[]): Row[] {
  const symbols = new Map(lines.flatMap((line) => (line.type === 'market' ? [[line.conditionId, line.symbol]] : [])));
  return lines.flatMap((line): Row[] => {
    if (line.type === 'market') {
      const { outcomes: _, clobTokenIds, startTime: timestamp, ...rest } = line;
      return [withoutNulls({ ...rest, timestamp, clobTokenIds: clobTokenIds.join(';') })];
    }
    if (line.type === 'coinPrice') return [withoutNulls({ ...line, id: Number(line.id) })];
    const symbol = symbols.get(line.conditionId);
    if (line.type === 'gap') {
      const { from: timestamp, to: endTime, ...rest } = line;
      return [withoutNulls({ ...rest, symbol, timestamp, endTime })];
    }
    const id = Number(line.id);
    if (line.type === 'price' || line.type === 'lastTradePrice') return [withoutNulls({ ...line, id, symbol })];
    if (line.type === 'quote') {
      const { bidPrice, bidSize, askPrice, askSize, ...rest } = line;
      const bid = bidPrice === null ? [] : [{ price: bidPrice, size: bidSize }];
      const ask = askPrice === null ? [] : [{ price: askPrice, size: askSize }];
      return sides({ ...rest, id, symbol }, bid, ask);
    }
    const { bids, asks, ...rest } = line;
    return sides({ ...rest, id, symbol }, bids, asks);
  });
}

interface Level {
  readonly price: number;
  /** null: unknown. */
  readonly size: number | null;
}

function sides(row: object, bids: readonly Level[], asks: readonly Level[]): Row[] {
  const rows = [
    ...bids.map((level, i) => ['bid', i, level] as const),
    ...asks.map((level, i) => ['ask', i, level] as const),
  ];
  if (rows.length === 0) return [withoutNulls(row)];
  return rows.map(([side, i, { price, size }]) => withoutNulls({ ...row, side, level: i + 1, price, size }));
}

function withoutNulls(row: object): Row {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined && value !== null)) as Row;
}

/** RFC 4180, read a character at a time. */
function csvRecords(text: string): string[][] {
  const records: string[][] = [[]];
  let cell = '';
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const char = text[i]!;
    if (quoted && char === '"' && text[i + 1] === '"') {
      cell += '"';
      i += 1;
    } else if (char === '"') quoted = !quoted;
    else if (!quoted && char === ',') {
      records.at(-1)!.push(cell);
      cell = '';
    } else if (!quoted && char === '\n') {
      records.at(-1)!.push(cell);
      cell = '';
      records.push([]);
    } else cell += char;
  }
  if (cell !== '' || records.pop()!.length > 0) throw new Error('the last line has no end');
  return records;
}

const READ: Readonly<Record<string, (text: string) => Exclude<Cell, undefined>>> = {
  text: (text) => text,
  instant: (text) => text,
  whole: Number,
  small: Number,
  decimal: Number,
  flag: (text) => text === 'true',
};

function csvRows(bytes: Buffer): Row[] {
  const [header, ...records] = csvRecords(bytes.toString());
  expect(header).toEqual([...COLUMNS]);
  return records.map((record) => {
    expect(record.length).toBe(COLUMNS.length);
    return Object.fromEntries(
      record.flatMap((cell, i) => (cell === '' ? [] : [[COLUMNS[i]!, READ[FLAT_COLUMNS[i]!.type]!(cell)]])),
    );
  });
}

async function parquetRows(bytes: Buffer): Promise<Row[]> {
  const file = new Uint8Array(bytes).buffer;
  const compressors = { ZSTD: (page: Uint8Array) => Bun.zstdDecompressSync(new Uint8Array(page)) };
  const rows = await parquetReadObjects({ file, compressors });
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row as Record<string, unknown>).flatMap(([name, value]) => {
        if (value === null || value === undefined) return [];
        if (value instanceof Date) return [[name, value.toISOString()]];
        return [[name, typeof value === 'bigint' ? Number(value) : (value as string)]];
      }),
    ),
  );
}

const sortedKeys = (row: Row) => Object.fromEntries(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)));

describe.each(['csv', 'parquet'] as const)('%s', (format) => {
  const read = async (bytes: Buffer) => (format === 'csv' ? csvRows(bytes) : await parquetRows(bytes));

  test('has the rows of the schema, value by value', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 2 ** 30 }), async (seed) => {
        using temporary = temporaryArchive();
        const lines = generatedRecording(seed);
        await importRecords(temporary.archive, lines);
        const rows = await read((await exported(temporary.archive, format)).bytes);
        expect(rows.map(sortedKeys)).toEqual(rowsOf(expectedExport(lines)).map(sortedKeys));
      }),
      RUNS,
    );
  });

  test('distinguishes snapshots with an empty side, and with two, from missing ones', async () => {
    using temporary = temporaryArchive();
    const at = (ms: number, bids: object[], asks: object[]) => sampleSnapshot({ timestamp: START_MS + ms, bids, asks });
    const level = { price: 0.5, size: 2 };
    await importRecords(temporary.archive, [sampleMarket(), at(1, [level], []), at(2, [], [level]), at(3, [], [])]);
    const rows = await read((await exported(temporary.archive, format)).bytes);
    const cells = rows
      .filter(({ type }) => type === 'snapshot')
      .map(({ id, side, level: number, price, size }) => [id, side, number, price, size]);
    expect(cells).toEqual([
      [1, 'bid', 1, 0.5, 2],
      [2, 'ask', 1, 0.5, 2],
      [3, undefined, undefined, undefined, undefined],
    ]);
  });

  test('has every level of a book that is larger than a step', async () => {
    using temporary = temporaryArchive();
    const [bids, asks] = [-1, 1].map((away) =>
      Array.from({ length: 10_000 }, (_, i) => ({
        price: (500_000 + away * (i + 1)) / 1e6,
        size: (100 + (i % 977)) / 100,
      })),
    ) as [Level[], Level[]];
    const books = [
      ...[1, 3].flatMap((ms) => [
        { timestamp: START_MS + ms, bids, asks },
        { timestamp: START_MS + ms + 1, bids: [], asks },
      ]),
      { timestamp: START_MS + 7, bids: bids.slice(0, 2), asks: asks.slice(0, 1) },
    ];
    await importRecords(temporary.archive, [sampleMarket(), ...books.map(sampleSnapshot)]);
    const { bytes, steps } = await exported(temporary.archive, format);
    const found = (await read(bytes)).filter(({ type }) => type === 'snapshot');
    const levels = found.map(({ timestamp, side, level, price, size }) => [timestamp, side, level, price, size].join());
    const expected = books
      .flatMap((book) => sides({ timestamp: new Date(book.timestamp).toISOString() }, book.bids, book.asks))
      .map(({ timestamp, side, level, price, size }) => [timestamp, side, level, price, size].join());
    expect(levels).toEqual(expected);
    expect(steps.length).toBeGreaterThan(5);
    // A step ends when it is full, also in the middle of a book.
    expect(Math.max(...steps)).toBeLessThan(STEP_BYTES * 1.5);
  });

  test('has the rows of small records, for any size of groups', async () => {
    using temporary = temporaryArchive();
    // After the market's row, groups of a power of two end between the two rows of a quote.
    const quotes = Array.from({ length: 3000 }, (_, i) =>
      sampleQuote({ id: String(i + 1), timestamp: START_MS + i, bidSize: 1 + i }),
    );
    const gaps = Array.from({ length: 3000 }, (_, i) => sampleGap({ from: START_MS + i, to: START_MS + i + 1 }));
    await importRecords(temporary.archive, [sampleMarket(), ...quotes, ...gaps]);
    const rows = await read((await exported(temporary.archive, format)).bytes);
    const iso = (ms: number) => new Date(ms).toISOString();
    expect(rows.filter(({ type }) => type === 'gap').map(({ timestamp }) => timestamp)).toEqual(
      gaps.map(({ from }) => iso(Number(from))),
    );
    expect(rows.filter(({ type }) => type === 'quote').map(({ id, side, size }) => [id, side, size].join())).toEqual(
      quotes.flatMap(({ bidSize, askSize }, i) => [`${i + 1},bid,${bidSize}`, `${i + 1},ask,${askSize}`]),
    );
  });

  test('of an empty export is a table without rows', async () => {
    using temporary = temporaryArchive();
    expect(await read((await exported(temporary.archive, format)).bytes)).toEqual([]);
  });
});

test('CSV has decimals with a point and ISO instants, so that readers guess the right types', async () => {
  using temporary = temporaryArchive();
  await importRecords(temporary.archive, [
    sampleMarket({ volume: 12, liquidity: 1e-7, createdAt: 1_776_300_000_000 }),
    sampleSnapshot({ bids: [{ price: 0, size: 7 }], asks: [{ price: 1, size: 300_000_000_000_000 }] }),
  ]);
  const records = csvRecords((await exported(temporary.archive, 'csv')).bytes.toString());
  const column = (name: string) => records.slice(1).map((record) => record[COLUMNS.indexOf(name)]);
  expect(column('price')).toEqual(['', '0.0', '1.0']);
  expect(column('size')).toEqual(['', '7.0', '300000000000000.0']);
  expect(column('volume')).toEqual(['12.0', '', '']);
  expect(column('liquidity')).toEqual(['1e-7', '', '']);
  expect(column('id')).toEqual(['', '1', '1']);
  expect(column('timestamp')[1]).toBe('2026-04-16T07:10:04.123Z');
});

describe('Parquet', () => {
  test('ends a group when it is full, also between the two rows of a quote', async () => {
    using temporary = temporaryArchive();
    const quotes = Array.from({ length: 1000 }, (_, i) => sampleQuote({ timestamp: START_MS + i, bidSize: 1 + i }));
    await importRecords(temporary.archive, [sampleMarket(), ...quotes]);
    const { bytes } = await exported(temporary.archive, 'parquet');
    const { row_groups: groups } = parquetMetadata(new Uint8Array(bytes).buffer);
    expect(groups.map(({ num_rows }) => Number(num_rows))).toEqual([1024, 2001 - 1024]);
  });

  test('declares the documented types', async () => {
    using temporary = temporaryArchive();
    await importRecords(temporary.archive, [sampleMarket(), sampleSnapshot()]);
    const { schema } = parquetMetadata(new Uint8Array((await exported(temporary.archive, 'parquet')).bytes).buffer);
    const [root, ...columns] = schema;
    expect(root!.num_children).toBe(FLAT_COLUMNS.length);
    expect(columns.map(({ name }) => name)).toEqual([...COLUMNS]);
    const types: Record<string, object> = {
      text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
      whole: { type: 'INT64' },
      small: { type: 'INT32' },
      decimal: { type: 'DOUBLE' },
      flag: { type: 'BOOLEAN' },
      instant: { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' } },
    };
    for (const [index, { name, type }] of FLAT_COLUMNS.entries()) {
      expect(columns[index], name).toMatchObject(types[type]!);
      expect(columns[index]!.repetition_type).toBe(name === 'type' ? 'REQUIRED' : 'OPTIONAL');
    }
  });

  test('is written in groups of a maximum size, a few columns of a group per step', async () => {
    using temporary = temporaryArchive();
    const bids = Array.from({ length: 300 }, (_, i) => ({ price: (400 - i) / 1000, size: 1000 + i }));
    const books = Array.from({ length: 250 }, (_, i) =>
      sampleSnapshot({ timestamp: START_MS + i, bids: bids.slice(i % 3) }),
    );
    await importRecords(temporary.archive, [sampleMarket(), ...books]);
    const { bytes, steps } = await exported(temporary.archive, 'parquet');
    const { row_groups: groups } = parquetMetadata(new Uint8Array(bytes).buffer);
    const rows = groups.map(({ num_rows }) => Number(num_rows));
    expect(rows.length).toBeGreaterThan(5);
    expect(Math.max(...rows)).toBe(16_384);
    const times = (await parquetRows(bytes)).map(({ timestamp }) => String(timestamp));
    expect(rows.reduce((sum, count) => sum + count, 0)).toBe(times.length);
    const begins = groups.flatMap(({ columns }) =>
      columns.map(({ meta_data }) => Number(meta_data!.dictionary_page_offset ?? meta_data!.data_page_offset)),
    );
    let from = 0;
    for (const step of steps) {
      expect(begins.filter((begin) => begin >= from && begin < from + step).length).toBeLessThanOrEqual(4);
      from += step;
    }
    let row = 0;
    for (const { columns, num_rows } of groups) {
      const ofGroup = times.slice(row, row + Number(num_rows)).sort();
      row += ofGroup.length;
      for (const { meta_data } of columns) {
        const { path_in_schema: path, statistics } = meta_data!;
        if (path[0] === 'timestamp') {
          const { min_value: first, max_value: last, null_count } = statistics!;
          expect([first, last].map((at) => (at as Date).toISOString())).toEqual([ofGroup[0]!, ofGroup.at(-1)!]);
          expect(null_count).toBe(0n);
        } else expect(statistics, String(path)).toBeUndefined();
      }
    }
  });
});
