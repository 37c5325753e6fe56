import { cpus } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../../src/cli/version.ts';
import { sqliteVersion } from '../../src/store/database.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { createBaselines } from './baselines.ts';
import { openCorpus } from './corpus.ts';
import { type ImportRate, measureImports } from './imports.ts';
import { type Latency, measureNearest } from './nearest.ts';
import { measureOverHttp } from './over-http.ts';
import { measurePages } from './pages.ts';
import { ROUNDS, type Spread } from './rounds.ts';
import { measureStorage, type Storage } from './storage.ts';

const RESULTS = join(import.meta.dir, 'RESULTS.md');

/** Measures everything once and writes RESULTS.md beside this file. */
async function main(): Promise<void> {
  const started = performance.now();
  using corpus = await openCorpus();
  say(corpus.description);
  const storage = measureStorage(corpus);
  using directory = temporaryDirectory();
  using baselines = await createBaselines(directory.path, corpus);
  const pages = new Map<number, Map<string, Spread>>();
  for (const limit of [1000, 100]) {
    say(`pages of ${limit}`);
    pages.set(limit, await measurePages(corpus, baselines, limit));
  }
  say('nearest');
  const nearest = await measureNearest(corpus);
  say('over HTTP');
  const overHttp = await measureOverHttp(corpus, baselines.path);
  say('imports');
  const imports = await measureImports(corpus);
  const seconds = Math.round((performance.now() - started) / 1000);
  const sections = [
    heading(corpus.description, seconds),
    storageSection(storage),
    ...[...pages].map(([limit, measured]) => pagesSection(limit, measured)),
    nearestSection(nearest),
    httpSection(overHttp),
    importsSection(imports),
  ];
  await Bun.write(RESULTS, `${sections.join('\n\n')}\n`);
  say(`written: ${RESULTS}`);
}

function say(line: string): void {
  console.error(line);
}

function heading(description: string, seconds: number): string {
  return `# Measurements

- command: \`make bench\` (\`bun test/bench/run.ts\`), ${seconds} s; this file is one run of it
- date: ${new Date().toISOString().slice(0, 10)}
- bookreel ${VERSION}, Bun ${Bun.version}, SQLite ${sqliteVersion()}
- machine: ${cpus().length} CPUs (${cpus()[0]?.model.trim() ?? 'unknown'}), ${process.platform} ${process.arch}
- corpus: ${description}

Contenders take turns in ${ROUNDS} rounds (7 over HTTP and for imports) after one to warm up; a turn begins with a garbage
collection and a run that does not count. A value is the median of its rounds, in brackets the fastest and the slowest
one. Ratios are of medians of this run.`;
}

function storageSection({ bookPayload, segmentPages, file, json }: Storage): string {
  const row = (name: string, bytes: number) => [name, bytes.toFixed(1), `${(json / bytes).toFixed(0)} ×`];
  const rows = [
    row('JSON of the API, for comparison', json),
    row('segments of books, payload', bookPayload),
    ...(segmentPages === undefined
      ? []
      : [row('segments of books, derived quotes and midpoints, pages with index', segmentPages)]),
    row('whole database file', file),
  ];
  return `## Storage\n\n${table(['what', 'bytes a snapshot', 'JSON is larger'], rows)}`;
}

function pagesSection(limit: number, measured: ReadonlyMap<string, Spread>): string {
  const [ours] = measured.values();
  const rows = [...measured].map(([name, spread]) => [
    name,
    shown(spread),
    `${(spread.median / ours!.median).toFixed(1)} ×`,
  ]);
  const note =
    'In process, up to the bytes of the body. The first one is all that a request takes (key, rate limit, look-up, entity tag,\nheaders); the others only read rows and write JSON. All give the same value.';
  return `## A page of ${limit} snapshots\n\n${note}\n\n${table(['how', 'µs', 'of the first'], rows)}`;
}

function nearestSection(measured: ReadonlyMap<string, Latency>): string {
  const rows = [...measured].map(([name, { median, p99 }]) => [name, shown(median), shown(p99)]);
  const note = 'In process, at random times within the windows; without `outcome`, so both outcomes are looked up.';
  return `## The snapshot nearest to a time\n\n${note}\n\n${table(['what', 'median µs', 'p99 µs'], rows)}`;
}

function httpSection(measured: ReadonlyMap<string, Spread>): string {
  const rows = [...measured].map(([name, spread]) => {
    const ours = measured.get(name.split(', ')[0]!)!;
    const ratio = spread === ours ? '' : `${(spread.median / ours.median).toFixed(1)} ×`;
    return [name, shown(spread), Math.round(1e6 / spread.median).toString(), ratio];
  });
  const note =
    'From the compiled executable on loopback with everything on, without compression; 8 keep-alive connections of one client,\nwhich shares the machine and reads every byte. The baselines are the same rows as above behind a bare Bun server.';
  return `## Over HTTP\n\n${note}\n\n${table(['request', 'µs a request', 'requests a second', 'of bookreel'], rows)}`;
}

function importsSection(measured: ReadonlyMap<string, ImportRate>): string {
  const rows = [...measured].map(([name, { records, recordsPerSecond, ofJsonParse }]) => [
    name,
    String(records),
    shown(recordsPerSecond),
    `${ofJsonParse.toFixed(2)} ×`,
  ]);
  const note =
    'Into a new archive on disk, in one process, with every check on and quotes and midpoints derived; the Parquet is that of the\nlargest market. `bun test/bench/imports.ts NDJSON` measures this part alone.';
  return `## Import\n\n${note}\n\n${table(['recording', 'records', 'records a second', 'of JSON.parse'], rows)}`;
}

function shown({ median, min, max }: Spread): string {
  const text = (value: number) => (value < 100 ? value.toFixed(1) : Math.round(value).toString());
  return `${text(median)} (${text(min)} – ${text(max)})`;
}

/** Columns padded to one width; the first column is text, the others are numbers. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) => {
    const padded = cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)));
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [head, rule, ...rows].map(line).join('\n');
}

await main();
