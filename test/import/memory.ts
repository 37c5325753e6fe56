import { Database } from 'bun:sqlite';
import { linkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE } from '../support/executable.ts';
import { CONDITION_ID, sampleMarket, UP_ASSET } from '../support/sample-records.ts';
import { at, book, type Frame, type Level } from './rebuild/venue-messages.ts';

/** An import may take this much memory, whatever it reads. */
export const RESIDENT_MEBIBYTES_MAX = 300;

/** When garbage is collected makes 30 MiB from one run to the next; memory that grows with the input exceeds the limit in each. */
const RUNS_MAX = 3;
const LINE_CHARS = 20_000;
const FILE_LINES = 70;
const LEVELS = 49;

interface MeasuredImport {
  readonly mebibytes: number;
  readonly report: string;
}

/**
 * The greatest resident memory, in MiB, and the report of an import of a new directory that `fill` writes to: of the first run within
 * the limit, or of the last one.
 */
export async function memoryOfImport(fill: (directory: string) => void, mapping?: string): Promise<MeasuredImport> {
  for (let runs = 1; ; runs += 1) {
    const measured = await measuredImport(fill, mapping);
    if (measured.mebibytes < RESIDENT_MEBIBYTES_MAX || runs === RUNS_MAX) return measured;
  }
}

async function measuredImport(fill: (directory: string) => void, mapping?: string): Promise<MeasuredImport> {
  using directory = temporaryDirectory();
  using data = temporaryDirectory();
  writeFileSync(join(directory.path, 'markets.ndjson'), `${JSON.stringify(sampleMarket())}\n`);
  fill(directory.path);
  // A child's greatest memory counts that of the process that starts it, so a small process does.
  const words = [directory.path, data.path];
  if (mapping !== undefined) {
    words.push(join(data.path, 'my.toml'));
    writeFileSync(words.at(-1)!, mapping);
  }
  const child = Bun.spawn([process.execPath, import.meta.path, ...words], { stdout: 'pipe' });
  const printed = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`the import ended with ${child.exitCode}`);
  return JSON.parse(printed) as MeasuredImport;
}

/** Files of 1.4 MB, compressed, that begin with a book: what recognises a file is its first megabyte. */
export function writeCaptures(directory: string, files: number): void {
  const heartbeat = JSON.stringify({ type: 'heartbeat', padding: 'x'.repeat(LINE_CHARS) });
  const capture = [JSON.stringify(book(0, '0.4:10', '0.6:5')), ...Array<string>(FILE_LINES).fill(heartbeat)];
  const first = join(directory, 'capture-1.jsonl.gz');
  writeFileSync(first, gzipSync(capture.join('\n')));
  for (let part = 2; part <= files; part += 1) linkSync(first, join(directory, `capture-${part}.jsonl.gz`));
}

/** Books of 49 levels a side whose sizes differ, one a millisecond. */
function busyBooks(count: number): Frame[] {
  const side = (offsetMs: number, shift: number) =>
    Array.from({ length: LEVELS }, (_, level): Level => {
      const price = String((level + 1 + shift) / 100);
      return [price, String(((offsetMs * 7919 + level * 104_729) % 9_999_991) / 100)];
    });
  return Array.from({ length: count }, (_, offsetMs) =>
    book(offsetMs, side(offsetMs, 0), side(offsetMs, 50).reverse()),
  );
}

/** A mapping of the rows that `writeMappedCsv`, `writeMappedJson`, `writeMappedSqlite` and `writeMappedParquet` write. */
export function mappingOfBooks(format: 'csv' | 'json' | 'sqlite' | 'parquet'): string {
  const side = (name: string) =>
    format === 'csv'
      ? `{ prices = "${name}_price_0..${LEVELS - 1}", sizes = "${name}_size_0..${LEVELS - 1}" }`
      : `{ levels = "${name}s", price = "price", size = "size" }`;
  return `
    format = "${format}"
    ${ROWS_OF[format]}
    time = { field = "timestamp", unit = "ms" }
    market = { token = "asset_id" }
    [books]
    bids = ${side('bid')}
    asks = ${side('ask')}`;
}

const ROWS_OF = {
  csv: '',
  json: '',
  sqlite: 'rows = { table = "books", json = ["bids", "asks"] }',
  parquet: 'rows = { json = ["bids", "asks"] }',
};

/** Books as rows with JSON, some 4 kB each. */
export function writeMappedSqlite(directory: string, rows: number): void {
  using database = new Database(join(directory, 'books.db'));
  database.run('CREATE TABLE books (timestamp INTEGER, asset_id TEXT, bids TEXT, asks TEXT)');
  const insert = database.prepare('INSERT INTO books VALUES (?, ?, ?, ?)');
  database.transaction(() => {
    for (const { timestamp, asset_id, bids, asks } of busyBooks(rows)) {
      insert.run(Number(timestamp), String(asset_id), JSON.stringify(bids), JSON.stringify(asks));
    }
  })();
}

/** The same as one row group of Parquet. */
export function writeMappedParquet(directory: string, rows: number): void {
  const frames = busyBooks(rows);
  const columns = [
    { name: 'timestamp', data: frames.map(({ timestamp }) => BigInt(String(timestamp))), type: 'INT64' as const },
    { name: 'asset_id', data: frames.map(() => UP_ASSET), type: 'STRING' as const },
    { name: 'bids', data: frames.map(({ bids }) => JSON.stringify(bids)), type: 'STRING' as const },
    { name: 'asks', data: frames.map(({ asks }) => JSON.stringify(asks)), type: 'STRING' as const },
  ];
  write(directory, 'books.parquet', columns, rows);
}

/** Books as rows with a column for each price and size. */
export function writeMappedCsv(directory: string, rows: number): void {
  const columns = ['bid', 'ask'].flatMap((side) =>
    Array.from({ length: LEVELS }, (_, level) => [`${side}_price_${level}`, `${side}_size_${level}`]).flat(),
  );
  const lines = busyBooks(rows).map(({ timestamp, asset_id, bids, asks }) => {
    const levels = [bids, asks].flatMap((side) => (side as { price: string; size: string }[]).flatMap(Object.values));
    return [timestamp, asset_id, ...levels].join();
  });
  writeFileSync(join(directory, 'books.csv'), [['timestamp', 'asset_id', ...columns].join(), ...lines].join('\n'));
}

/** Books as one array of JSON over all lines. */
export function writeMappedJson(directory: string, rows: number): void {
  writeFileSync(join(directory, 'books.json'), JSON.stringify(busyBooks(rows), undefined, 1));
}

/** One row group of book messages. */
export function writeMessagesParquet(directory: string, rows: number): void {
  const data = busyBooks(rows).map((frame) => JSON.stringify(frame));
  write(directory, 'books.parquet', [{ name: 'raw_data', data, type: 'STRING' }], rows);
}

/** One row group of book rows as PMXT has them. */
export function writePmxtParquet(directory: string, rows: number): void {
  const frames = busyBooks(rows);
  const pairs = (side: unknown) => JSON.stringify((side as { price: string; size: string }[]).map(Object.values));
  const times = frames.map(({ timestamp }) => BigInt(String(timestamp)));
  const constant = (name: string, value: string) => ({ name, data: frames.map(() => value), type: 'STRING' as const });
  const columns = [
    { name: 'timestamp_received', data: times, type: 'INT64' as const },
    { name: 'timestamp', data: times, type: 'INT64' as const },
    constant('market', CONDITION_ID),
    constant('event_type', 'book'),
    constant('asset_id', UP_ASSET),
    { name: 'bids', data: frames.map(({ bids }) => pairs(bids)), type: 'STRING' as const },
    { name: 'asks', data: frames.map(({ asks }) => pairs(asks)), type: 'STRING' as const },
  ];
  write(directory, `polymarket_orderbook_${at(0)}.parquet`, columns, rows);
}

type Columns = Parameters<typeof parquetWriteBuffer>[0]['columnData'];

function write(directory: string, name: string, columnData: Columns, rowGroupSize: number): void {
  writeFileSync(join(directory, name), Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize })));
}

if (import.meta.main) {
  const [directory, data, mapping] = process.argv.slice(2);
  const mapped = mapping === undefined ? [] : ['--map', mapping];
  const child = Bun.spawn([EXECUTABLE, 'import', directory!, '--data', data!, ...mapped], { env: {}, stdout: 'pipe' });
  const report = await new Response(child.stdout).text();
  process.exitCode = await child.exited;
  console.log(JSON.stringify({ mebibytes: child.resourceUsage()!.maxRSS / 2 ** 20, report }));
}
