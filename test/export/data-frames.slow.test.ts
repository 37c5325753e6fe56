import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf, runCommand } from '../support/command.ts';
import { blocksOf } from '../support/documented-commands.ts';
import { finished } from '../support/executable.ts';
import { sampleMarket, samplePrice, sampleQuote, sampleSnapshot } from '../support/sample-records.ts';

setDefaultTimeout(120_000);

const ROOT = join(import.meta.dir, '..', '..');
const page = readFileSync(join(ROOT, 'src', 'manual', 'recordings.md'), 'utf8');
const section = page.slice(page.indexOf('### Data frames'), page.indexOf('## Segments'));
const blocks = blocksOf(section);
const textsIn = (wanted: string) => blocks.filter(({ language }) => language === wanted).map(({ text }) => text);

const DAY_MS = 86_400_000;
/** Ten minutes before midnight: records of two days. */
const START_MS = Date.UTC(2026, 3, 16, 23, 50);
const iso = (ms: number) => new Date(ms).toISOString();

interface Level {
  readonly price: number;
  readonly size: number;
}

/** Three markets of 5m, 15m and of another coin, with records of every type on two days. */
const MARKETS = [
  ['btc', '5m'],
  ['btc', '15m'],
  ['eth', '5m'],
].map(([symbol, timeframe], nth) => ({
  ...sampleMarket({ symbol, timeframe, slug: `${symbol}-updown-${timeframe}-${nth}` }),
  ...{ conditionId: `0x${String(nth + 1).repeat(64)}`, clobTokenIds: [`${nth + 1}1`, `${nth + 1}2`] },
  ...{ startTime: iso(START_MS), endTime: iso(START_MS + 1_200_000) },
}));
const times = Array.from({ length: 40 }, (_, index) => START_MS + index * 30_000);
const recordsOf = ({ conditionId }: (typeof MARKETS)[number], nth: number) =>
  times.flatMap((timestampMs, index) => {
    const label = { conditionId, timestamp: iso(timestampMs), outcome: index % 3 === 0 ? 'down' : 'up' };
    const [bid, ask] = [(300 + index + nth) / 1000, (340 + 2 * index) / 1000];
    const bids: Level[] = Array.from({ length: 7 }, (_, level) => ({ price: bid - level / 100, size: level + 0.25 }));
    const exact = bids.map(({ price, size }) => ({ price: Number(price.toFixed(3)), size }));
    return [
      sampleSnapshot({ ...label, bids: exact, asks: [{ price: ask, size: 100.000001 + index }] }),
      sampleQuote({ ...label, bidPrice: bid, askPrice: ask }),
      samplePrice({ ...label, price: ask, size: 2.5, side: 'buy' }),
    ];
  });
const RECORDS = [...MARKETS, ...MARKETS.flatMap(recordsOf)];

const directory = temporaryDirectory();
const cwd = directory.path;
const place = { cwd, env: { BOOKREEL_DATA: 'data' } };
afterAll(() => directory[Symbol.dispose]());

interface Line {
  readonly type: string;
  readonly conditionId: string;
  readonly slug: string;
  readonly symbol: string;
  readonly timeframe: string;
  readonly outcome: string;
  readonly timestamp: string;
  readonly bidPrice: number;
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}
/** The records as NDJSON, with the fields of their markets. */
let lines: readonly Line[];

beforeAll(async () => {
  writeFileSync(join(cwd, 'all.ndjson'), RECORDS.map((record) => JSON.stringify(record)).join('\n'));
  await outputOf(['import', 'all.ndjson'], place);
  const text = await outputOf(['export', '--format', 'ndjson'], place);
  const all = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  const markets = new Map(all.filter(({ type }) => type === 'market').map((line) => [line.conditionId, line]));
  lines = all.map((line) => ({ ...markets.get(line.conditionId), ...line }));
  for (const command of textsIn('sh').flatMap((block) => block.trim().split('\n'))) {
    await outputOf(command.split(' ').slice(1), place);
  }
});

/** Rows of a query, with every value as DuckDB writes it in JSON. */
async function rowsOf(sql: string): Promise<Record<string, unknown>[]> {
  const database = await DuckDBInstance.create(':memory:');
  const connection = await database.connect();
  try {
    await connection.run(`SET file_search_path = '${cwd}'`);
    return (await connection.runAndReadAll(sql)).getRowObjectsJson() as Record<string, unknown>[];
  } finally {
    connection.closeSync();
    database.closeSync();
  }
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): (readonly [string, readonly T[]])[] {
  return Object.entries(Object.groupBy(items, keyOf)).map(([key, values]) => [key, values!] as const);
}

const books = () => lines.filter(({ type }) => type === 'snapshot');
/** The mean of best ask - best bid by market and outcome, as the examples compute it. */
const spreads = () =>
  grouped(books(), ({ slug, outcome }) => `${slug} ${outcome}`)
    .map(
      ([key, group]) =>
        [key, group.reduce((sum, { bids, asks }) => sum + asks[0]!.price - bids[0]!.price, 0) / group.length] as const,
    )
    .sort(([a], [b]) => (a < b ? -1 : 1));

function expectSpreads(rows: readonly Record<string, unknown>[]): void {
  const found = rows
    .map(({ slug, outcome, spread }) => [`${slug} ${outcome}`, spread as number] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const keys: string[] = found.map(([key]) => key);
  expect(keys).toEqual(spreads().map(([key]) => key));
  for (const [index, [, spread]] of spreads().entries()) expect(found[index]![1]).toBeCloseTo(spread, 12);
}

describe('the examples of the manual run as they are, with the values of NDJSON:', () => {
  test('DuckDB', async () => {
    const [best, quotes, exact, ...more] = textsIn('sql');
    expect(more).toEqual([]);
    expectSpreads(await rowsOf(best!));
    const ofDays = grouped(
      lines.filter(({ type, symbol, timeframe }) => type === 'quote' && symbol === 'btc' && timeframe === '5m'),
      ({ timestamp }) => timestamp.slice(0, 10),
    );
    expect(ofDays.length).toBe(2);
    expect(await rowsOf(quotes!)).toEqual(
      ofDays.map(([date, group]) => ({
        date,
        quotes: String(group.length),
        best: Math.max(...group.map(({ bidPrice }) => bidPrice)),
      })),
    );
    const units = (value: number, places: number) => BigInt(value.toFixed(places).replace('.', ''));
    const values = grouped(books(), ({ slug }) => slug).map(([slug, group]) => {
      const levels = group.flatMap(({ bids }) => bids);
      const sum = levels.reduce((total, { price, size }) => total + units(price, 3) * units(size, 2), 0n);
      return { slug, value: `${sum / 100_000n}.${String(sum % 100_000n).padStart(5, '0')}${'0'.repeat(14)}` };
    });
    expect(await rowsOf(exact!)).toEqual(values.sort((a, b) => (a.slug < b.slug ? -1 : 1)));
  });

  test('polars', async () => {
    const [example] = textsIn('js');
    const shown = 'console.log(JSON.stringify([spreads.toRecords(), quotes.toRecords(), trades.toRecords()]));';
    writeFileSync(join(cwd, 'polars.mjs'), `${example}${shown}`);
    const env = { NODE_PATH: join(ROOT, 'node_modules') };
    const { stdout, stderr } = await finished([process.execPath, 'polars.mjs'], { cwd, env });
    expect(stderr).toBe('');
    const [found, quotes, trades] = JSON.parse(stdout) as Record<string, unknown>[][];
    expectSpreads(found!);
    const expected = lines.filter(({ type, symbol }) => type === 'quote' && symbol === 'btc');
    expect(quotes!.map(({ slug, tf, bidPrice }) => `${slug} ${tf} ${bidPrice}`).sort()).toEqual(
      expected.map(({ slug, timeframe, bidPrice }) => `${slug} ${timeframe} ${bidPrice}`).sort(),
    );
    expect(trades!.length).toBe(lines.filter(({ type }) => type === 'price').length);
  });

  const python = (script: string) => Bun.spawnSync(['python3', '-c', script]).exitCode === 0;
  const hasPandas = Bun.which('python3') !== null && python('import pandas');
  const reader = hasPandas && python('import pyarrow') ? 'pyarrow' : 'DuckDB in place of pyarrow, which Debian has not';
  test.skipIf(!hasPandas)(`pandas (where it is installed), with Parquet read by ${reader}`, async () => {
    const [example] = textsIn('python');
    const rows = await rowsOf("SELECT * FROM 'wide.parquet'");
    writeFileSync(join(cwd, 'rows.json'), JSON.stringify(rows));
    const replaced = `import json, pandas
pandas.read_parquet = lambda name: pandas.DataFrame(json.load(open({"wide.parquet": "rows.json"}[name])))
`;
    const shown = 'print(spreads.reset_index().to_json(orient="records", double_precision=15))';
    writeFileSync(join(cwd, 'frames.py'), `${reader === 'pyarrow' ? '' : replaced}${example}${shown}`);
    const { stdout, stderr, code } = await finished(['python3', 'frames.py'], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expectSpreads(JSON.parse(stdout) as Record<string, unknown>[]);
  });
});

/** The paths of the files below a directory. */
function filesIn(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
    .sort();
}

describe('a partition by date', () => {
  const PARTS = [
    ['btc', '15m', '2026-04-16'],
    ['btc', '15m', '2026-04-17'],
    ['btc', '5m', '2026-04-16'],
    ['btc', '5m', '2026-04-17'],
    ['eth', '5m', '2026-04-16'],
    ['eth', '5m', '2026-04-17'],
  ].map(([coin, tf, date]) => `coin=${coin}/tf=${tf}/date=${date}/bookreel.parquet`);
  const partition = (...args: readonly string[]) =>
    runCommand(['export', '--format', 'parquet', '--partition', 'date', ...args], place);

  test.each([
    [['--shape', 'books']],
    [['--shape', 'wide', '--depth', '2', '--numbers', 'decimal']],
    [['--shape', 'levels', '--outcome', 'up']],
    [['--type', 'quote', '--interval', '1h']],
    [['--type', 'price', '--from', iso(START_MS + 120_000), '--to', iso(START_MS + 900_000)]],
    [['--type', 'trade', '--coin', 'btc', '--tf', '5m']],
  ])('has the rows of the export as one file, each under its coin, timeframe and day: %j', async (args) => {
    await outputOf(['export', ...args, '--force', '-o', 'whole.parquet'], place);
    const parts = `parts-${Bun.hash(args.join())}`;
    expect(await partition(...args, '-o', parts)).toMatchObject({ code: 0, stderr: '' });
    const [own, whole] = [
      'coin, tf, date',
      "symbol AS coin, timeframe AS tf, CAST(timezone('UTC', timestamp) AS DATE) AS date",
    ];
    const all = (columns: string, file: string, less: string) =>
      rowsOf(`SELECT ${columns}, * ${less} FROM '${file}' ORDER BY ALL`);
    const found = await all(own, `${parts}/**/*.parquet`, 'EXCLUDE (coin, tf, date)');
    expect(found.length).toBeGreaterThan(10);
    expect(found).toEqual(await all(whole, 'whole.parquet', ''));
  });

  test('lists its files in the manifest, and the same data gives the same bytes', async () => {
    expect(filesIn(join(cwd, 'quotes'))).toEqual(PARTS);
    const manifest = JSON.parse(readFileSync(join(cwd, 'quotes.manifest.json'), 'utf8')) as {
      bytes: number;
      counts: { quote: number };
      files: { path: string; bytes: number; sha256: string }[];
      sha256?: string;
    };
    expect(manifest.files.map(({ path }) => path)).toEqual(PARTS);
    expect(manifest.counts.quote).toBe(lines.filter(({ type }) => type === 'quote').length);
    expect(manifest.sha256).toBeUndefined();
    for (const { path, bytes, sha256 } of manifest.files) {
      const content = readFileSync(join(cwd, 'quotes', path));
      expect([content.length, new Bun.CryptoHasher('sha256').update(content).digest('hex')]).toEqual([bytes, sha256]);
    }
    expect(manifest.bytes).toBe(manifest.files.reduce((sum, { bytes }) => sum + bytes, 0));
    const again = await partition('--type', 'quote', '-o', 'again', '--json');
    expect((JSON.parse(again.stdout) as typeof manifest).files).toEqual(manifest.files);
  });

  test('joins a directory that exists only with --force, and keeps the files of other days', async () => {
    const day = (nth: number) => ['--from', iso(DAY_MS * Math.floor(START_MS / DAY_MS + nth)), '--type', 'quote'];
    const before = ['--to', iso(DAY_MS * Math.ceil(START_MS / DAY_MS) - 1)];
    expect((await partition(...day(0), ...before, '-o', 'joined')).code).toBe(0);
    expect(filesIn(join(cwd, 'joined'))).toEqual(PARTS.filter((path) => path.includes('-16/')));
    const refused = await partition(...day(1), '-o', 'joined');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(
      "'joined' exists already: name another directory, or add --force to replace its files",
    );
    expect((await partition(...day(1), '-o', 'joined', '--force')).code).toBe(0);
    expect(filesIn(join(cwd, 'joined'))).toEqual(PARTS);
    for (const path of PARTS) {
      expect(readFileSync(join(cwd, 'joined', path)).equals(readFileSync(join(cwd, 'quotes', path))), path).toBe(true);
    }
  });

  test('that ends with an error leaves neither directory nor files', async () => {
    using other = temporaryDirectory();
    const size = { size: 0.1234567, outcome: 'up', timestamp: iso(START_MS + DAY_MS) };
    const [market] = MARKETS;
    writeFileSync(
      join(other.path, 'all.ndjson'),
      [market, ...recordsOf(market!, 0), samplePrice({ conditionId: market!.conditionId, ...size })]
        .map((record) => JSON.stringify(record))
        .join('\n'),
    );
    const there = { cwd: other.path, env: { BOOKREEL_DATA: 'data' } };
    await outputOf(['import', 'all.ndjson'], there);
    const args = ['export', '--format', 'parquet', '--partition', 'date', '--type', 'trade', '-o', 'out'];
    const { code, stderr } = await runCommand([...args, '--numbers', 'decimal'], there);
    expect(code).toBe(1);
    expect(stderr).toContain('the size 0.1234567 does not fit a decimal');
    expect(readdirSync(other.path).sort()).toEqual(['all.ndjson', 'data']);
    expect((await runCommand(args, there)).code).toBe(0);
  });

  test.each([
    [
      ['--format', 'csv', '-o', 'x'],
      '--partition is for Parquet with one type of records: add --format parquet, and --shape or --type',
    ],
    [['--format', 'arrow', '--type', 'quote', '-o', 'x'], '--partition is for Parquet with one type of records'],
    [['--format', 'parquet', '-o', 'x'], '--partition is for Parquet with one type of records'],
    [['--format', 'parquet', '--shape', 'rows', '-o', 'x'], '--partition is for Parquet with one type of records'],
    [['--format', 'parquet', '--type', 'quote'], '--partition writes a directory: name it with -o'],
    [
      ['--format', 'parquet', '--type', 'quote', '--zstd', '-o', 'x'],
      '--partition must not be given with a compression: Parquet is compressed inside',
    ],
    [
      ['--format', 'parquet', '--type', 'quote', '--interval', '7h', '-o', 'x'],
      '--partition needs an --interval that divides a day',
    ],
    [['--format', 'parquet', '--type', 'quote', '-o', 'all.ndjson'], 'all.ndjson'],
  ])('is refused: %j', async (args, sentence) => {
    const { code, stderr } = await runCommand(['export', '--partition', 'date', ...args], place);
    expect(code).toBe(2);
    expect(stderr).toContain(sentence);
    expect(existsSync(join(cwd, 'x'))).toBe(false);
  });

  test.each([
    ['trades.arrow', 'it is an Arrow stream: convert it to Parquet, CSV or lines of JSON'],
    ['books.parquet', 'it is a table of one type of records, without their markets'],
    ['quotes/coin=btc/tf=5m/date=2026-04-16/bookreel.parquet', 'it is a table of one type of records'],
  ])('%s is not imported, and a sentence says why', async (name, sentence) => {
    const { code, stderr } = await runCommand(['import', name], place);
    expect(code).toBe(1);
    expect(stderr).toContain(sentence);
  });
});
