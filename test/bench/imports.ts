import { appendFileSync, copyFileSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { fileChunks } from '../../src/import/file-chunks.ts';
import { visitLines } from '../../src/import/parse/lines.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { bytesOf, type Corpus } from './corpus.ts';
import { type Section, shown, table } from './report.ts';
import { type Spread, spreadOf } from './rounds.ts';

const IMPORT_ROUNDS = 7;
const FRAMES = 'frames.jsonl';
const MESSAGES_PARSED = 'JSON.parse of the messages in Parquet alone';
/** Number of lines in memory at a time. */
const PARSED_LINES = 4096;

export interface ImportRate {
  readonly records: number;
  readonly recordsPerSecond: Spread;
  /** Compared with JSON.parse of the same text, by medians of this run. */
  readonly ofJsonParse: number;
}

type Rates = Map<string, ImportRate>;
type Turn = () => Promise<{ records: number; seconds: number }>;

/**
 * Measures imports into a new archive and, in the same rounds, only JSON.parse of the same lines. It runs in a new process, as an
 * import usually does, because this process's other objects would slow garbage collection.
 */
export async function measureImports(corpus: Corpus): Promise<Rates> {
  const recordings = corpus.books === undefined ? [corpus.ndjson] : [corpus.ndjson, corpus.books];
  const child = Bun.spawn([process.execPath, import.meta.path, ...recordings], { stdout: 'pipe', stderr: 'inherit' });
  const printed = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error('the process that measures imports failed');
  return new Map(JSON.parse(printed) as [string, ImportRate][]);
}

export function importsSection(measured: ReadonlyMap<string, ImportRate>): Section {
  const rows = [...measured].map(([name, { records, recordsPerSecond, ofJsonParse }]) => [
    name,
    String(records),
    shown(recordsPerSecond),
    `${ofJsonParse.toFixed(2)} ×`,
  ]);
  return {
    text: `## Import

Imports into a new archive on disk, in one process, with every check and with derived quotes and midpoints; the Parquet file is that of
the largest market. \`bun test/bench/imports.ts NDJSON\` measures only this part.

${table(['recording', 'records', 'records a second', 'of JSON.parse'], rows)}`,
  };
}

async function measureHere(ndjson: string, books: string | undefined): Promise<Rates> {
  const megabytes = Math.round(bytesOf(ndjson) / 1e6);
  const turns: [string, Turn][] = [
    [`JSON.parse of the lines alone, ${megabytes} MB`, () => parsed(ndjson)],
    ['import of them', () => imported(ndjson)],
  ];
  using frames = books === undefined ? undefined : await framesOf(books);
  if (books !== undefined && frames !== undefined) {
    turns.push(['import of Parquet of book messages', () => imported(books)]);
    turns.push([MESSAGES_PARSED, () => parsed(join(frames.path, FRAMES))]);
    turns.push(['import of the messages as frames, one a line, with their hashes', () => imported(frames.path)]);
  }
  const measured = new Map(
    turns.map(([name]): [string, { records: number; rates: number[] }] => [name, { records: 0, rates: [] }]),
  );
  for (let round = -1; round < IMPORT_ROUNDS; round += 1) {
    for (const [name, turn] of turns) {
      Bun.gc(true);
      const { records, seconds } = await turn();
      // Round -1 is the warm-up.
      if (round < 0) continue;
      measured.get(name)!.records = records;
      measured.get(name)!.rates.push(records / seconds);
    }
  }
  const spreads = [...measured].map(([name, { records, rates }]) => ({
    name,
    records,
    recordsPerSecond: spreadOf(rates),
  }));
  const medianOf = (wanted: string) => spreads.find(({ name }) => name === wanted)?.recordsPerSecond.median;
  const jsonParse = spreads[0]!.recordsPerSecond.median;
  const baselineOf = (name: string) => (name.includes('messages') ? medianOf(MESSAGES_PARSED)! : jsonParse);
  return new Map(
    spreads.map(({ name, records, recordsPerSecond }) => [
      name,
      { records, recordsPerSecond, ofJsonParse: recordsPerSecond.median / baselineOf(name) },
    ]),
  );
}

/** The messages of Parquet files, one a line, and their markets, in a new directory. */
async function framesOf(books: string): Promise<ReturnType<typeof temporaryDirectory>> {
  const directory = temporaryDirectory();
  const isDirectory = statSync(books).isDirectory();
  const folder = isDirectory ? books : dirname(books);
  copyFileSync(join(folder, 'markets.ndjson'), join(directory.path, 'markets.ndjson'));
  const files = isDirectory ? readdirSync(folder).filter((name) => name.endsWith('.parquet')) : [basename(books)];
  for (const name of files.sort()) {
    const source = { file: await asyncBufferFromFile(join(folder, name)), columns: ['raw_data'] };
    const lines = (await parquetReadObjects(source)).map(({ raw_data }) => `${raw_data}\n`);
    appendFileSync(join(directory.path, FRAMES), lines.join(''));
  }
  return directory;
}

/** Only the time of parsing, without reading, splitting and decoding lines. */
async function parsed(path: string): ReturnType<Turn> {
  let records = 0;
  let seconds = 0;
  let texts: string[] = [];
  const parse = () => {
    const started = performance.now();
    for (const text of texts) JSON.parse(text);
    seconds += (performance.now() - started) / 1000;
    records += texts.length;
    texts = [];
  };
  await visitLines(fileChunks(path), (line) => {
    texts.push(line.text());
    if (texts.length === PARSED_LINES) parse();
  });
  parse();
  return { records, seconds };
}

async function imported(path: string): ReturnType<Turn> {
  using place = temporaryArchive();
  const started = performance.now();
  const { total } = await importPaths(place.archive, path);
  const seconds = (performance.now() - started) / 1000;
  if (total.rejected > 0) throw new Error(`${total.rejected} records of the corpus were rejected`);
  return { records: total.read, seconds };
}

if (import.meta.main) {
  const [ndjson, books] = process.argv.slice(2);
  if (ndjson === undefined) throw new Error('usage: bun test/bench/imports.ts NDJSON [DIRECTORY OF PARQUET]');
  console.log(JSON.stringify([...(await measureHere(ndjson, books))]));
}
