import { statSync } from 'node:fs';
import { join } from 'node:path';
import { BookReader, bookOf } from '../../src/segment/book-decoder.ts';
import type { BookRecord } from '../../src/segment/book-format.ts';
import type { Archive } from '../../src/store/archive.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import { NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE } from '../support/executable.ts';
import { marketStatement } from '../support/markets.ts';
import { figure, type Goal, type Section, shown, table } from './report.ts';
import { type Spread, spreadOf } from './rounds.ts';

const ROUNDS = 5;
const BOOKS = 200_000;
const BATCH = 20_000;
const SPACING_MS = 30;
const SECONDS_MAX = 1.5;
const MEGABYTES_MAX = 400;
const READER = `const { default: pl } = await import('nodejs-polars');
const [, path] = process.argv;
const [before, startMs] = [process.cpuUsage(), performance.now()];
const frame = path.endsWith('.arrow') ? pl.readIPCStream(Buffer.from(await Bun.file(path).arrayBuffer())) : pl.readParquet(path);
const elapsed = (performance.now() - startMs) / 1000;
const { user, system } = process.cpuUsage(before);
const [, kilobytes] = /VmHWM:\\s+(\\d+)/.exec(await Bun.file('/proc/self/status').text());
console.log(JSON.stringify([frame.height, (user + system) / 1e6, elapsed, kilobytes / 1024]));`;

interface Cost {
  readonly name: string;
  readonly bytes: number;
  /** Seconds of CPU. */
  readonly writing: Spread;
  readonly reading: Spread;
  /** Seconds from the start of the command to the frame, without the start of the reader. */
  readonly elapsed: Spread;
  /** The most memory of the process that reads. */
  readonly megabytes: number;
}

/** Adds books as those of one market, one after the other. */
function addBooks({ snapshots, database, givenIds, markets }: Archive, books: Iterator<BookRecord['book']>): void {
  const { market } = database.write(() => markets.put(marketStatement(1), NOW_MS));
  for (let from = 0; from < BOOKS; from += BATCH) {
    database.write(() => {
      givenIds.load();
      const records = Array.from({ length: BATCH }, (_, nth): BookRecord => {
        const timestampMs = market.startMs + (from + nth) * SPACING_MS;
        return { timestampMs, id: givenIds.take(undefined), book: books.next().value as BookRecord['book'] };
      });
      snapshots.add(market, 'up', records);
      givenIds.save();
    });
  }
}

/** The books of markets of `archive`, again and again. */
function* booksOf({ snapshots }: Archive, markets: readonly StoredMarket[]): Generator<BookRecord['book']> {
  const reader = new BookReader();
  for (;;) {
    for (const market of markets) {
      for (const slice of snapshots.slices(market, 'up', 0, Number.MAX_SAFE_INTEGER)) {
        reader.moveBefore(slice);
        for (let at = slice.from; at < slice.to; at += 1) {
          reader.advance();
          yield bookOf(reader);
        }
      }
    }
  }
}

/** Measures what it takes from 200,000 books of one market to a frame in polars: the command that exports, and the reading of its file. */
export async function measureFrames(
  from: Archive,
  markets: readonly StoredMarket[],
  say: (line: string) => void,
): Promise<Cost[]> {
  using place = temporaryArchive();
  using directory = temporaryDirectory();
  addBooks(place.archive, booksOf(from, markets));
  const costs: Cost[] = [];
  for (const format of ['parquet', 'arrow']) {
    for (const depth of [undefined, '10']) {
      const path = join(directory.path, `books.${format}`);
      const options = ['--data', place.path, '--shape', 'books', ...(depth === undefined ? [] : ['--depth', depth])];
      const rounds = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const { seconds, elapsed } = await run([EXECUTABLE, 'export', ...options, '-o', path, '--force']);
        const { text } = await run([process.execPath, '-e', READER, path]);
        const [height, reading, read, megabytes] = JSON.parse(text) as [number, number, number, number];
        if (height !== BOOKS) throw new Error(`a frame of ${height} rows`);
        rounds.push({ writing: seconds, reading, elapsed: elapsed + read, megabytes });
      }
      const cost = {
        name: `${format}, ${depth === undefined ? 'all levels' : `${depth} levels`}`,
        bytes: statSync(path).size,
        writing: spreadOf(rounds.map(({ writing }) => writing)),
        reading: spreadOf(rounds.map(({ reading }) => reading)),
        elapsed: spreadOf(rounds.map(({ elapsed }) => elapsed)),
        megabytes: spreadOf(rounds.map(({ megabytes }) => megabytes)).median,
      };
      costs.push(cost);
      say(`  ${cost.name}: ${shown(cost.writing)} s and ${shown(cost.reading)} s of CPU`);
    }
  }
  return costs;
}

async function run(command: readonly string[]) {
  const startMs = performance.now();
  const child = Bun.spawn([...command], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', cwd: import.meta.dir });
  const [text, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}: ${errors}`);
  const { cpuTime } = child.resourceUsage()!;
  const elapsed = (performance.now() - startMs) / 1000;
  return { text, seconds: Number(cpuTime.total) / 1e6, elapsed };
}

export function framesSection(costs: readonly Cost[]): Section {
  const rows = costs.map(({ name, bytes, writing, reading, elapsed, megabytes }) => [
    ...[name, figure(bytes / 1e6), shown(writing), shown(reading), shown(elapsed), figure(megabytes)],
  ]);
  const [{ elapsed, megabytes }] = costs as [Cost];
  const seconds = elapsed.median;
  const goals: Goal[] = [
    {
      figure: `elapsed from ${BOOKS} books to a frame in polars`,
      required: `≤ ${SECONDS_MAX} s`,
      measured: `${figure(seconds)} s`,
      met: seconds <= SECONDS_MAX,
    },
    {
      figure: `memory of the process that reads ${BOOKS} books`,
      required: `≤ ${MEGABYTES_MAX} MB`,
      measured: `${figure(megabytes)} MB`,
      met: megabytes <= MEGABYTES_MAX,
    },
  ];
  const text = `## Frames

${BOOKS} books of one market, \`export --shape books\`, read by polars in another process: seconds of CPU of the whole command, and of the reading
without the start of its process; elapsed is both together. Median of ${ROUNDS}.

${table(['file', 'MB', 'CPU, export', 'CPU, reading', 'elapsed', 'MB, reading'], rows)}`;
  return { text, goals };
}
