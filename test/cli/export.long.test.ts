import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { openArchive } from '../../src/store/archive.ts';
import { importBytes, NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { outputOf, runCommand } from '../support/command.ts';
import { EXECUTABLE, runExecutable } from '../support/executable.ts';
import {
  LIGHT_CONDITION_ID,
  LIGHT_MARKET,
  LIGHT_START_MS,
  lightNdjson,
  writeLightRecording,
} from '../support/light-recording.ts';
import { Screen } from '../support/screen.ts';

setDefaultTimeout(120_000);

const FORMATS = ['ndjson', 'msgpack', 'csv', 'parquet', 'arrow', 'segments', 'sqlite'] as const;
const SNAPSHOTS = 2000;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

interface Manifest {
  readonly format: string;
  readonly compression: string | null;
  readonly bookreel: string;
  readonly counts: Record<string, number>;
  readonly first: string | null;
  readonly last: string | null;
  readonly bytes: number;
  readonly sha256: string;
  readonly contentBytes: number;
  readonly contentSha256: string;
}

/** Standard output as bytes. */
async function exported(data: string, args: readonly string[] = []) {
  const process = Bun.spawn([EXECUTABLE, 'export', '--data', data, ...args], { stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr, code] = await Promise.all([
    new Response(process.stdout).bytes(),
    new Response(process.stderr).text(),
    process.exited,
  ]);
  return { stdout, stderr, code };
}

const directory = temporaryDirectory();
const data = join(directory.path, 'data');
const place = (name: string) => join(directory.path, name);

beforeAll(async () => {
  const recording = place('light.ndjson');
  writeLightRecording(recording, SNAPSHOTS);
  const prices = [0, 1, 2].map((i) => ({
    type: 'coinPrice',
    symbol: 'btc',
    source: 'x',
    timestamp: LIGHT_START_MS + i,
    price: 7 + i,
  }));
  const other = {
    ...LIGHT_MARKET,
    conditionId: `0x${'cd'.repeat(32)}`,
    slug: 'eth-updown-5m-1',
    symbol: 'eth',
    timeframe: '5m',
    clobTokenIds: ['21', '22'],
  };
  const gap = {
    type: 'gap',
    conditionId: other.conditionId,
    from: LIGHT_START_MS,
    to: LIGHT_START_MS + 5,
    reason: 'restarted',
  };
  writeFileSync(place('more.ndjson'), [...prices, other, gap].map((record) => JSON.stringify(record)).join('\n'));
  const { code, stderr } = await runCommand(['import', recording, place('more.ndjson'), '--data', data]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

describe('a sampled export', () => {
  test('is what the flags say, and its manifest states them', async () => {
    const args = ['--market', LIGHT_CONDITION_ID, '--interval', '1s', '--depth', '1', '--outcome', 'UP'];
    const { stdout, stderr } = await exported(data, args);
    const [, ...lines] = Buffer.from(stdout).toString().trimEnd().split('\n');
    const books = lines.map((line) => JSON.parse(line) as { timestamp: string; bids: unknown[]; asks: unknown[] });
    // A snapshot of up every 20 ms: the last one of each second.
    const expected = Array.from({ length: SNAPSHOTS / 100 }, (_, i) => LIGHT_START_MS + i * 1000 + 980);
    expect(books.map(({ timestamp }) => Date.parse(timestamp))).toEqual(expected);
    for (const { bids, asks } of books) expect([bids.length, asks.length]).toEqual([1, 1]);
    expect(JSON.parse(stderr)).toMatchObject({ outcome: 'up', intervalMs: 1000, depth: 1, counts: { snapshot: 20 } });
  });

  test.each([
    [['--interval', '1'], 'it must be a whole number with a unit (ms, s, m, h, d) from 100ms to 1d'],
    [['--interval', '2d'], 'from 100ms to 1d'],
    [['--depth', '0'], 'it must be an integer from 1 to 10001'],
    [['--outcome', 'both'], 'it must be up or down'],
    [['-o', 'x.segments', '--interval', '1s'], '--format must not be segments with interval or depth'],
    [['--format', 'segments', '--depth', '5', '-o', 'x'], '--format must not be segments with interval or depth'],
  ])('Segments are exported as stored: an interval is refused. (%j)', async (args, reason) => {
    const { stdout, stderr, code } = await exported(data, args);
    expect([code, stdout.length]).toEqual([2, 0]);
    expect(stderr).toContain(reason);
  });
});

describe('to standard output', () => {
  test('only records are written; the manifest is one line of JSON on stderr', async () => {
    const { stdout, stderr, code } = await exported(data);
    expect(code).toBe(0);
    const lines = Buffer.from(stdout).toString().trimEnd().split('\n');
    expect(lines.length).toBe(3 + 1 + SNAPSHOTS + 2);
    expect(stderr.split('\n').length).toBe(2);
    expect(JSON.parse(stderr) as Manifest).toEqual({
      format: 'ndjson',
      ...{ compression: null, outcome: null, intervalMs: null, depth: null, table: null },
      bookreel: JSON.parse(readFileSync(join(import.meta.dir, '..', '..', 'package.json'), 'utf8')).version,
      counts: { market: 2, gap: 1, snapshot: SNAPSHOTS, quote: 0, price: 0, lastTradePrice: 0, coinPrice: 3 },
      first: new Date(LIGHT_START_MS).toISOString(),
      last: new Date(LIGHT_START_MS + (SNAPSHOTS - 1) * 10).toISOString(),
      bytes: stdout.length,
      sha256: sha256(stdout),
      contentBytes: stdout.length,
      contentSha256: sha256(stdout),
    });
    expect(Buffer.from((await exported(data, ['-o', '-'])).stdout).equals(Buffer.from(stdout))).toBe(true);
  });

  test('a slow reader gets every byte', async () => {
    const { stdout } = await exported(data, ['--format', 'csv']);
    expect(stdout.length).toBeGreaterThan(1_000_000);
    const slow = Bun.spawnSync([
      'sh',
      '-c',
      '"$0" export --format csv --data "$1" 2>/dev/null | { sleep 0.5; cat; }',
      EXECUTABLE,
      data,
    ]);
    expect(sha256(slow.stdout)).toBe(sha256(stdout));
  });

  test('is no failure if the reader closes the pipe early', () => {
    const script = '{ "$0" export --data "$1" 2>/dev/null; echo "exit $?" >&2; } | head -n 1';
    const { stdout, stderr } = Bun.spawnSync(['sh', '-c', script, EXECUTABLE, data]);
    expect(stderr.toString()).toBe('exit 0\n');
    expect(JSON.parse(stdout.toString())).toMatchObject({ type: 'coinPrice' });
  });

  test.skipIf(!existsSync('/dev/full'))(
    'an output that cannot be written (needs /dev/full) is a failure that says so',
    () => {
      const { exitCode, stderr } = Bun.spawnSync(['sh', '-c', '"$0" export --data "$1" > /dev/full', EXECUTABLE, data]);
      expect(exitCode).toBe(1);
      expect(stderr.toString()).toContain('standard output cannot be written (ENOSPC)');
    },
  );

  test('an export can be piped into an import', async () => {
    const again = place('piped');
    const script =
      '"$0" export --data "$1" --zstd $3 2>/dev/null | "$0" import - --data "$2" > /dev/null && "$0" export --data "$2" 2>/dev/null';
    for (const format of ['ndjson', 'msgpack', 'segments']) {
      const { stdout } = Bun.spawnSync(['sh', '-c', script, EXECUTABLE, data, again + format, `--format=${format}`]);
      expect(sha256(stdout), format).toBe(sha256((await exported(data)).stdout));
    }
  });
});

describe('to a terminal', () => {
  const onTerminal = async (...args: string[]) => {
    const screen = new Screen(200);
    const child = Bun.spawn([EXECUTABLE, 'export', '--data', data, '--coin', 'eth', ...args], {
      env: { ...process.env, NO_COLOR: '1' },
      terminal: { cols: 200, rows: 20, data: (_, bytes) => screen.write(bytes) },
    });
    const code = await child.exited;
    child.terminal?.close();
    return { code, screen: screen.written };
  };

  test.each([
    [['--format', 'parquet'], 'parquet'],
    [['--format', 'msgpack', '-o', '-'], 'msgpack'],
    [['--format', 'segments'], 'segments'],
    [['--format', 'sqlite'], 'sqlite'],
    [['--zstd'], 'ndjson compressed with zstd'],
    [['--format', 'csv', '--gzip'], 'csv compressed with gzip'],
  ])('An export that is not text is never written to a terminal. (%j)', async (args, what) => {
    expect(await onTerminal(...args)).toEqual({
      code: 2,
      screen: `bookreel: a terminal cannot show ${what}: write it to a file with -o FILE\r\n`,
    });
  });

  test.each([['ndjson'], ['csv']])('%s is written', async (format) => {
    const { code, screen } = await onTerminal('--format', format);
    expect({ code, screen }).toEqual({ code: 0, screen: expect.stringContaining('eth-updown-5m-1') });
  });
});

describe('to a file', () => {
  test.each(FORMATS)('%s has the bytes that standard output gets, and a manifest', async (format) => {
    const path = place(`whole.${format}`);
    const { code, stdout, stderr } = await runCommand([
      'export',
      '--data',
      data,
      '--format',
      format,
      '-o',
      path,
      '--json',
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const written = readFileSync(path);
    const streamed = await exported(data, ['--format', format]);
    expect(written.equals(Buffer.from(streamed.stdout))).toBe(true);
    const manifest = JSON.parse(readFileSync(`${path}.manifest.json`, 'utf8')) as Manifest;
    expect(manifest).toEqual(JSON.parse(streamed.stderr) as Manifest);
    expect(JSON.parse(stdout) as Manifest).toEqual(manifest);
    expect(manifest).toMatchObject({
      format,
      bytes: written.length,
      sha256: sha256(written),
      contentSha256: sha256(written),
    });
  });

  test.each([
    ['--zstd', 'zstd', (bytes: Buffer) => Buffer.from(Bun.zstdDecompressSync(bytes))],
    ['--gzip', 'gzip', (bytes: Buffer) => gunzipSync(bytes)],
  ] as const)('%s compresses it, to the same bytes every time', async (flag, compression, unpacked) => {
    const plain = (await exported(data)).stdout;
    const [first, second] = [place(`packed-1.${compression}`), place(`packed-2.${compression}`)];
    for (const path of [first, second]) {
      expect((await runCommand(['export', '--data', data, flag, '-o', path])).code).toBe(0);
    }
    const written = readFileSync(first);
    expect(readFileSync(second).equals(written)).toBe(true);
    expect(Buffer.from((await exported(data, [flag])).stdout).equals(written)).toBe(true);
    expect(unpacked(written).equals(Buffer.from(plain))).toBe(true);
    expect(JSON.parse(readFileSync(`${first}.manifest.json`, 'utf8'))).toMatchObject({
      compression,
      bytes: written.length,
      sha256: sha256(written),
      contentBytes: plain.length,
      contentSha256: sha256(plain),
    });
    expect(readFileSync(`${first}.manifest.json`, 'utf8')).toBe(readFileSync(`${second}.manifest.json`, 'utf8'));
  });

  test.each([
    ['named.csv.gz', 'csv', 'gzip', [0x1f, 0x8b]],
    ['named.msgpack.zst', 'msgpack', 'zstd', [0x28, 0xb5, 0x2f, 0xfd]],
    ['named.parquet', 'parquet', null, [...Buffer.from('PAR1')]],
    ['named.db', 'sqlite', null, [...Buffer.from('SQLite format 3')]],
  ])('%s says format and compression by its name', async (name, format, compression, magic) => {
    expect((await exported(data, ['-o', place(name)])).code).toBe(0);
    expect([...readFileSync(place(name)).subarray(0, magic.length)]).toEqual(magic);
    expect(JSON.parse(readFileSync(`${place(name)}.manifest.json`, 'utf8'))).toMatchObject({ format, compression });
  });

  test.each([
    [['--format', 'csv', '-o', 'x.parquet'], "the name 'x.parquet' says parquet, not csv"],
    [['--zstd', '-o', 'x.csv.gz'], "the name 'x.csv.gz' says gzip compression, not zstd"],
  ])('%j contradicts itself: a usage error that leaves no file', async (args, reason) => {
    const { code, stdout, stderr } = await runCommand(['export', '--data', data, ...args], { cwd: directory.path });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^bookreel: [^\n]+\n$/);
    expect(stderr).toContain(reason);
    expect(readdirSync(directory.path).filter((name) => name.startsWith('x.'))).toEqual([]);
  });

  test('a file that exists is replaced only with --force', async () => {
    const path = place('taken');
    writeFileSync(path, 'mine');
    const refused = await runCommand(['export', '--data', data, '-o', path]);
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 1, stdout: '' });
    expect(refused.stderr).toContain(`'${path}' exists already: name another file, or add --force to replace it`);
    expect(readFileSync(path, 'utf8')).toBe('mine');
    expect(existsSync(`${path}.manifest.json`)).toBe(false);
    expect((await runCommand(['export', '--data', data, '-o', path, '--force'])).code).toBe(0);
    expect((await runCommand(['export', '--data', data, '--coin', 'eth', '-o', path, '--force'])).code).toBe(0);
    const manifest = JSON.parse(readFileSync(`${path}.manifest.json`, 'utf8')) as Manifest;
    expect(manifest.sha256).toBe(sha256(readFileSync(path)));
    expect(manifest.counts.snapshot).toBe(0);
  });

  test.each([
    ['a directory', 'a-directory', 'is not an ordinary file'],
    ['a directory that is missing', join('nowhere', 'file'), 'cannot be written (ENOENT)'],
    ['a file in place of a directory', join('light.ndjson', 'file'), 'cannot be written (ENOTDIR)'],
  ])('%s is refused in one sentence, and nothing is left', async (_, name, reason) => {
    mkdirSync(place('a-directory'), { recursive: true });
    const before = readdirSync(directory.path).sort();
    const { code, stdout, stderr } = await runCommand(['export', '--data', data, '-o', place(name), '--force']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.trimEnd().split('\n').length).toBe(1);
    expect(stderr).toContain(reason);
    expect(readdirSync(directory.path).sort()).toEqual(before);
  });

  test('an export that fails leaves no file, no manifest and no temporary files', async () => {
    using damaged = temporaryDirectory();
    writeLightRecording(join(damaged.path, 'light.ndjson'), SNAPSHOTS);
    const archive = join(damaged.path, 'data');
    await runCommand(['import', join(damaged.path, 'light.ndjson'), '--data', archive]);
    const { Database } = await import('bun:sqlite');
    using database = new Database(join(archive, 'bookreel.db'));
    database.run(
      "UPDATE segments SET digest = zeroblob(32) WHERE segment_id = (SELECT MAX(segment_id) FROM segments JOIN series USING (series_id) WHERE kind = 'book')",
    );
    for (const format of FORMATS) {
      const path = join(damaged.path, 'out');
      const { code, stderr } = await runCommand(['export', '--data', archive, '--format', format, '-o', path]);
      expect(code).toBe(1);
      expect(stderr).toContain('damaged');
      expect(readdirSync(damaged.path).sort()).toEqual(['data', 'light.ndjson']);
    }
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('.bookreel-export-'));
    expect((await exported(archive, ['--format', 'sqlite'])).code).toBe(1);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('.bookreel-export-'))).toEqual(before);
  });

  test('only the owner can read the file', async () => {
    const path = place('private');
    await runCommand(['export', '--data', data, '--coin', 'eth', '-o', path]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(`${path}.manifest.json`).mode & 0o777).toBe(0o600);
  });
});

describe('the content of an export', () => {
  const types = async (...args: string[]) => {
    const records = (await outputOf(['export', '--data', data, ...args]))
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { type: string; slug?: string });
    return Object.fromEntries(
      Object.entries(Object.groupBy(records, ({ type }) => type)).map(([type, of]) => [type, of!.length]),
    );
  };

  test('can be selected by coin, timeframe, market and time, with lists and repeated flags', async () => {
    const eth = { market: 1, gap: 1 };
    const btc = { market: 1, snapshot: SNAPSHOTS };
    expect(await types('--coin', 'ETH')).toEqual(eth);
    expect(await types('--coin', 'btc')).toEqual({ ...btc, coinPrice: 3 });
    expect(await types('--coin', 'btc,eth')).toEqual({ market: 2, gap: 1, snapshot: SNAPSHOTS, coinPrice: 3 });
    expect(await types('--coin', 'btc', '--coin', 'eth')).toEqual(await types());
    expect(await types('--tf', '5m')).toEqual(eth);
    expect(await types('--tf', '5m,24h')).toEqual({ market: 2, gap: 1, snapshot: SNAPSHOTS });
    expect(await types('--tf', '5m', '--tf', '24h')).toEqual(await types('--tf', '5m,24h'));
    expect(await types('--tf', '4h')).toEqual({});
    expect(await types('--market', 'ETH-updown-5m-1')).toEqual(eth);
    expect(await types('--market', LIGHT_CONDITION_ID, '--market', 'eth-updown-5m-1')).toEqual({
      market: 2,
      gap: 1,
      snapshot: SNAPSHOTS,
    });
    const [from, to] = [LIGHT_START_MS + 100, LIGHT_START_MS + 200];
    expect(await types('--from', String(from), '--to', new Date(to).toISOString())).toEqual({
      market: 1,
      snapshot: 11,
    });
    expect(await types('--to', '2020-01-01')).toEqual({});
  });

  test('is one state of the archive, also during an import', async () => {
    using growing = temporaryDirectory();
    const archive = join(growing.path, 'data');
    await runExecutable(['import', '-', '--data', archive], { stdin: lightNdjson(3000) });
    const before = sha256((await exported(archive)).stdout);
    const script = '"$0" export --data "$1" | { head -c 100000; while [ -e "$2" ]; do sleep 0.01; done; cat; }';
    const hold = join(growing.path, 'hold');
    writeFileSync(hold, '');
    const exporting = Bun.spawn(['sh', '-c', script, EXECUTABLE, archive, hold], { stderr: 'ignore' });
    let bytes = Buffer.alloc(0);
    for await (const chunk of exporting.stdout) {
      bytes = Buffer.concat([bytes, chunk]);
      if (bytes.length < 100_000 || !existsSync(hold)) continue;
      // Not with the executable: before it ends, it waits for readers of the earlier state.
      const opened = openArchive(archive, NOW_MS, { create: false });
      await importBytes(opened, lightNdjson(500, 3000));
      opened.database.close();
      rmSync(hold);
    }
    expect(sha256(bytes)).toBe(before);
    expect(sha256((await exported(archive)).stdout)).not.toBe(before);
  });

  test.each([
    [['--coin', 'doge'], "the archive has no records of the coin 'doge': it has btc, eth"],
    [['--market', 'nope'], "no market of btc, eth has the conditionId or slug 'nope'"],
    [
      ['--coin', 'eth', '--market', LIGHT_CONDITION_ID],
      `no market of eth has the conditionId or slug '${LIGHT_CONDITION_ID}'`,
    ],
  ])('%j is a failure in one sentence', async (args, reason) => {
    const { code, stdout, stderr } = await exported(data, args);
    expect({ code, length: stdout.length }).toEqual({ code: 1, length: 0 });
    expect(stderr).toStartWith(`bookreel: ${reason}`);
    expect(stderr.trimEnd().split('\n').length).toBe(1);
  });

  test.each([
    [['--format', 'xml'], 'is invalid: allowed choices are ndjson, msgpack, csv, parquet, arrow, segments, sqlite'],
    [['--coin', 'b/c'], 'coin codes like btc,eth'],
    [['--coin', ''], 'coin codes like btc,eth'],
    [['--tf', '5m,10m'], 'is invalid: it must be a list of these: 5m, 15m, 1h, 4h, 24h'],
    [['--from', 'yesterday'], 'is invalid: it must be Unix milliseconds'],
    [['--from', '2026-02-30'], 'is invalid: it must be a day and a time that exist'],
    [['--from', '2', '--to', '1'], '--from must not be later than --to'],
    [['--zstd', '--gzip'], "option '--zstd' cannot be used with option '--gzip'"],
    [['--market', ''], 'is invalid: it must be a conditionId or a slug'],
    [['extra'], 'too many arguments'],
  ])('%j is a usage error in one sentence', async (args, reason) => {
    const { code, stdout, stderr } = await exported(data, args);
    expect({ code, length: stdout.length }).toEqual({ code: 2, length: 0 });
    expect(stderr).toMatch(/^bookreel: [^\n]+\n$/);
    expect(stderr).toContain(reason);
  });

  test('without a data directory is a failure and creates none', async () => {
    using empty = temporaryDirectory();
    const { code, stderr } = await exported(join(empty.path, 'missing'));
    expect(code).toBe(1);
    expect(stderr).toContain('there is no archive in');
    expect(readdirSync(empty.path)).toEqual([]);
  });
});
