import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { runCommand } from '../support/command.ts';
import { EXECUTABLE, runExecutable, startServer } from '../support/executable.ts';
import {
  LIGHT_CONDITION_ID,
  LIGHT_MARKET,
  lightNdjson,
  lightSnapshot,
  writeLightRecording,
} from '../support/light-recording.ts';
import { contentDigest, hasSchema, storedIn } from '../support/stored.ts';

interface Report {
  readonly files: readonly { readonly path: string; readonly error?: string }[];
  readonly total: {
    readonly read: number;
    readonly stored: number;
    readonly duplicate: number;
    readonly rejected: number;
  };
  readonly rejections: readonly { readonly path: string; readonly line: number; readonly reason: string }[];
  readonly skipped: readonly string[];
}

/** An import of so many takes seconds: it is stopped before its end. */
const RECORDS = 200_000;
/** Records before an import that pages are read during. */
const BEFORE = 1000;

describe('seed', () => {
  test('run twice changes nothing', async () => {
    using directory = temporaryDirectory();
    const seed = ['seed', '--json', '--data', directory.path];
    const first = await runCommand(seed);
    expect(first.code).toBe(0);
    const before = contentDigest(directory.path);
    const second = await runCommand(seed);
    expect(second.code).toBe(0);
    expect(contentDigest(directory.path)).toBe(before);
    const [{ total }, again] = [JSON.parse(first.stdout) as Report, JSON.parse(second.stdout) as Report];
    expect(total).toMatchObject({ stored: total.read, duplicate: 0, rejected: 0 });
    expect(again.total).toMatchObject({ read: total.read, stored: 0, duplicate: total.read, rejected: 0 });
    // The digest does show a change.
    await runCommand(['tier', 'set', 'free', '--rpm', '11', '--data', directory.path]);
    expect(contentDigest(directory.path)).not.toBe(before);
  });

  test('keeps the changes of tier set', async () => {
    using directory = temporaryDirectory();
    const data = ['--data', directory.path];
    await runCommand(['tier', 'set', 'free', '--rpm', '77', '--coins', 'eth', '--price', '3', ...data]);
    await runCommand(['seed', ...data]);
    const tiers = JSON.parse((await runCommand(['tier', 'list', '--json', ...data])).stdout) as { id: string }[];
    expect(tiers[0]).toMatchObject({ id: 'free', requestsPerMinute: 77, coins: ['eth'], monthlyPriceUsd: 3 });
    expect(tiers).toHaveLength(4);
  });

  test('--fixtures loads the recordings of a directory instead', async () => {
    using directory = temporaryDirectory();
    const recordings = join(directory.path, 'recordings');
    mkdirSync(recordings);
    writeLightRecording(join(recordings, 'one.ndjson'), 20);
    const data = join(directory.path, 'data');
    const { code, stdout } = await runCommand(['seed', '--fixtures', recordings, '--data', data]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('21 stored') });
    expect(storedIn(data).markets).toBe(1);
  });
});

describe('import', () => {
  test.each([
    ['plain', (text: string) => Buffer.from(text)],
    ['.gz', (text: string) => gzipSync(text)],
    ['.zst', (text: string) => zstdCompressSync(text)],
    ['.gz of two members', (text: string) => Buffer.concat([gzipSync(text.slice(0, 999)), gzipSync(text.slice(999))])],
  ])('reads standard input, %s', async (_, packed) => {
    using directory = temporaryDirectory();
    const stdin = packed(lightNdjson(500));
    const { code, stdout, stderr } = await runExecutable(['import', '-', '--data', directory.path], { stdin });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^501 records read from 1 file: 501 stored, 0 duplicate, 0 rejected, 0 gaps opened \(\d+ records\/s\)\n/,
    );
    expect(stdout).toMatch(
      /^standard input +bookreel NDJSON +market +1 +1 +0 +0 +0 +0\n +snapshot +500 +500 +0 +0 +0\n$/m,
    );
    expect(storedIn(directory.path).series).toContainEqual(
      expect.objectContaining({ kind: 'book', outcome: 'up', records: 250 }),
    );
  });

  test('an empty standard input is an empty recording', async () => {
    using directory = temporaryDirectory();
    const finished = await runExecutable(['import', '-', '--data', directory.path], { stdin: '' });
    expect({ code: finished.code, stderr: finished.stderr }).toEqual({ code: 0, stderr: '' });
    expect(finished.stdout).toContain('0 records read');
  });

  test('If records are rejected, the others are stored, and the exit code is 1.', async () => {
    using directory = temporaryDirectory();
    const good = (index: number) => JSON.stringify(lightSnapshot(index));
    const lines = [
      JSON.stringify(LIGHT_MARKET),
      good(0),
      'not json',
      good(1),
      '',
      JSON.stringify({ ...lightSnapshot(2), bids: [{ price: 1.5, size: 1 }] }),
      good(3),
      JSON.stringify({ ...lightSnapshot(4), conditionId: '0xffff' }),
      JSON.stringify({ ...lightSnapshot(5), timestamp: '2026-02-30T00:00:00Z' }),
      JSON.stringify({ type: 'rumour' }),
    ];
    const path = join(directory.path, 'mixed.ndjson');
    writeFileSync(path, lines.join('\n'));
    const data = join(directory.path, 'data');
    const text = await runCommand(['import', path, '--data', data]);
    expect(text.code).toBe(1);
    expect(text.stdout).toStartWith('9 records read from 1 file: 4 stored, 0 duplicate, 5 rejected');
    const refused = [3, 6, 8, 9, 10];
    const said = text.stderr.trimEnd().split('\n');
    expect(said.splice(-3)).toEqual([
      'unknown market 0xffff',
      'bookreel: 5 of 9 records rejected: correct them and import them again',
      expect.stringMatching(
        /^bookreel: 1 market unknown: import their market records, then this again; --missing FILE writes/,
      ),
    ]);
    expect(said.map((line) => line.slice(0, `${path}:10:`.length).replace(/: .*$/, ''))).toEqual(
      refused.map((line) => expect.stringContaining(`${path}:${line}`)),
    );
    expect(storedIn(data).series.filter(({ kind }) => kind === 'book')).toEqual([
      expect.objectContaining({ outcome: 'down', records: 2 }),
      expect.objectContaining({ outcome: 'up', records: 1 }),
    ]);
    const again = await runCommand(['import', path, '--data', data, '--json']);
    expect(again.code).toBe(1);
    const errors = again.stderr.trimEnd().split('\n');
    expect(errors.map((line) => (JSON.parse(line) as { error: string }).error)).toEqual([
      expect.stringMatching(/^5 of 9 records rejected: /),
      expect.stringMatching(/^1 market unknown: /),
    ]);
    const report = JSON.parse(again.stdout) as Report;
    expect(report.total).toMatchObject({ read: 9, stored: 0, duplicate: 4, rejected: 5 });
    expect(report.rejections.map(({ path: name, line }) => [name, line])).toEqual(refused.map((line) => [path, line]));
    // The report as text has the same reasons as the report as JSON.
    expect(said).toEqual(report.rejections.map(({ path: name, line, reason }) => `${name}:${line}: ${reason}`));
  });

  test('A named file that is not a recording is a failure, in a directory it is skipped, and a directory without any recording fails.', async () => {
    using directory = temporaryDirectory();
    const recordings = join(directory.path, 'recordings');
    mkdirSync(recordings);
    writeLightRecording(join(recordings, 'one.ndjson'), 3);
    writeFileSync(join(recordings, 'notes.txt'), 'call the venue\n');
    const data = join(directory.path, 'data');
    const all = await runCommand(['import', recordings, '--data', data]);
    expect(all.code).toBe(0);
    expect(all.stderr).toBe(`${join(recordings, 'notes.txt')}: skipped, not a recording\n`);
    const notes = join(directory.path, 'notes');
    mkdirSync(notes);
    writeFileSync(join(notes, 'notes.txt'), 'call the venue\n');
    const none = await runCommand(['import', notes, '--data', data]);
    expect(none.code).toBe(1);
    expect(none.stderr).toEndWith(
      `no recording was found in 1 file (1 .txt; for example ${join(notes, 'notes.txt')}): 'bookreel inspect' prints a mapping for other layouts, and 'bookreel manual recordings' lists the formats\n`,
    );
    const paths = ['one.ndjson', 'notes.txt'].map((name) => join(recordings, name));
    const named = await runCommand(['import', ...paths, '--data', data]);
    expect({ code: named.code, stdout: named.stdout }).toEqual({ code: 1, stdout: '' });
    expect(named.stderr).toContain("notes.txt' is not a recording");
  });

  test('A reason for rejections is printed once, with the number of its records and the places of three.', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'books.jsonl');
    const books = Array.from({ length: 9 }, (_, index) =>
      JSON.stringify({
        ...{ event_type: 'book', market: `0x${index % 2}f`, asset_id: `${index + 1}`, timestamp: '1776323400000' },
        ...{ bids: [], asks: [] },
      }),
    );
    writeFileSync(path, books.join('\n'));
    const missing = join(directory.path, 'missing.txt');
    const args = ['import', path, '--data', join(directory.path, 'data'), '--missing', missing];
    const { code, stderr } = await runCommand(args);
    expect(code).toBe(1);
    expect(stderr.split('\n').slice(0, 4)).toEqual([
      `${path}:1: market 0x0f is unknown: import its market record first, or name a file with it (--markets) (9 records, also ${path}:2, ${path}:3, …)`,
      'unknown market 0x0f',
      'unknown market 0x1f',
      'bookreel: 9 of 9 records rejected: --rejects FILE writes them all',
    ]);
    expect(readFileSync(missing, 'utf8')).toBe('0x0f\n0x1f\n');
    // An existing file is refused before anything is imported.
    const again = await runCommand(args);
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toBe(`bookreel: '${missing}' exists already: name another one\n`);
    expect(readFileSync(missing, 'utf8')).toBe('0x0f\n0x1f\n');
  });

  test('records are counted by type where they are not one for each line of the file', async () => {
    using directory = temporaryDirectory();
    writeLightRecording(join(directory.path, 'one.ndjson'), 3);
    const level = { price: 0.5, size: 1 };
    const books = { up: { bids: [level], asks: [] }, down: { bids: [level], asks: [] } };
    const line = { type: 'orderbook_snapshot', ts: 1_776_323_404_000, ...books };
    const name = 'btc-updown-5m-1776323400.jsonl';
    writeFileSync(join(directory.path, name), `${JSON.stringify(line)}\n`.repeat(2));
    const data = join(directory.path, 'data');
    const { stdout } = await runCommand(['import', name, 'one.ndjson', '--data', data], { cwd: directory.path });
    const [, table] = stdout.trimEnd().split('\n\n');
    expect(table!.split('\n').map((row) => row.trimEnd().split(/ {2,}/))).toEqual([
      ['file', 'records', 'made', 'stored', 'duplicate', 'rejected'],
      [name, 'market', '1', '1', '0', '0'],
      ['', 'snapshot', '4', '2', '2', '0'],
    ]);
  });

  test('The report of an import begins with the totals, also if it failed; skipped files are counted by kind, and --missing creates its file first.', async () => {
    using directory = temporaryDirectory();
    const recordings = join(directory.path, 'recordings');
    mkdirSync(recordings);
    writeLightRecording(join(recordings, 'one.ndjson'), 3);
    writeFileSync(join(recordings, 'two.ndjson'), '{"type":"gap","conditionId":"0x1"}\n');
    writeFileSync(join(recordings, 'three.parquet'), 'PAR1');
    for (const name of ['a.png', 'b.png', 'c.md', 'd.png']) writeFileSync(join(recordings, name), 'x');
    for (const part of [1, 2]) writeLightRecording(join(recordings, `normalized_${part}.ndjson`), 3);
    const missing = join(directory.path, 'missing.txt');
    const output = join(directory.path, 'output.txt');
    const data = join(directory.path, 'data');
    // A terminal shows both streams in the order of their bytes.
    const command = '"$0" import recordings --data "$1" --missing "$2" > "$3" 2>&1';
    const child = Bun.spawn(['sh', '-c', command, EXECUTABLE, data, missing, output], { cwd: directory.path });
    expect(await child.exited).toBe(1);
    const [summary, heading, ...rest] = readFileSync(output, 'utf8').trimEnd().split('\n');
    expect(summary).toMatch(/^\d+ records read from 3 files: \d+ stored, 0 duplicate, 1 rejected/);
    expect(heading).toStartWith('file ');
    const files = ['one.ndjson', 'three.parquet', 'two.ndjson'].map((name) => `recordings/${name}`);
    expect(rest.filter((line) => /^\S+ {2}/.test(line)).map((line) => line.split(' ')[0])).toEqual(files);
    expect(rest.slice(-5)).toEqual([
      'recordings/normalized_1.ndjson: skipped, and 1 more, derived from the captures next to them: name a file to import it',
      'skipped 4 files (3 .png, 1 .md; for example recordings/a.png, recordings/b.png, recordings/c.md): they are not recordings',
      expect.stringContaining('recordings/two.ndjson:1: '),
      "bookreel: 'recordings/three.parquet' cannot be read as Parquet: it is damaged or cut off",
      'bookreel: 1 of 5 records rejected: correct them and import them again',
    ]);
    // No market is missing.
    expect(existsSync(missing)).toBe(false);
  });

  test('A file that was derived from the capture next to it is skipped with a note, unless it is named.', async () => {
    using directory = temporaryDirectory();
    const recordings = join(directory.path, 'recordings');
    mkdirSync(recordings);
    writeLightRecording(join(recordings, 'capture.ndjson'), 3);
    const derived = join(recordings, 'normalized_events.ndjson');
    writeLightRecording(derived, 5);
    const data = join(directory.path, 'data');
    const { code, stdout, stderr } = await runCommand(['import', recordings, '--data', data]);
    expect(code).toBe(0);
    expect(stdout).toContain('read from 1 file:');
    expect(stderr).toContain(`${derived}: skipped, derived from the capture next to it`);
    expect((await runCommand(['import', derived, '--data', data])).stdout).toContain('read from 1 file:');
  });

  test('a pipe in place of a file is read from its first byte', async () => {
    using directory = temporaryDirectory();
    const recording = join(directory.path, 'recording.ndjson');
    writeLightRecording(recording, 3000);
    const script = `"$0" import <(cat '${recording}') --data '${directory.path}/data'`;
    const finished = Bun.spawnSync(['bash', '-c', script, EXECUTABLE]);
    expect({ code: finished.exitCode, stderr: finished.stderr.toString() }).toEqual({ code: 0, stderr: '' });
    expect(finished.stdout.toString()).toStartWith('3001 records read');
  });

  test('the file of --markets is read first', async () => {
    using directory = temporaryDirectory();
    const markets = join(directory.path, 'markets-elsewhere.ndjson');
    writeFileSync(markets, `${JSON.stringify(LIGHT_MARKET)}\n`);
    const books = join(directory.path, 'books.ndjson');
    writeFileSync(books, `${JSON.stringify(lightSnapshot(0))}\n${JSON.stringify(lightSnapshot(1))}\n`);
    const data = join(directory.path, 'data');
    const without = await runCommand(['import', books, '--data', data]);
    expect(without.code).toBe(1);
    expect(without.stderr).toContain(`${books}:1: market ${LIGHT_CONDITION_ID} is unknown`);
    const withMarkets = await runCommand(['import', books, '--markets', markets, '--data', data]);
    expect(withMarkets.code).toBe(0);
    expect(withMarkets.stdout).toContain('3 stored');
  });

  test('--rejects writes every rejected record, also those that the report only counts', async () => {
    using directory = temporaryDirectory();
    const rejects = join(directory.path, 'rejects.ndjson');
    const stdin = [JSON.stringify(LIGHT_MARKET), ...Array.from({ length: 1500 }, () => 'bad'), ''].join('\n');
    const data = join(directory.path, 'data');
    const { code, stdout, stderr } = await runExecutable(['import', '-', '--data', data, '--rejects', rejects], {
      stdin,
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('1500 rejected') });
    const said = stderr.trimEnd().split('\n');
    expect(said.filter((line) => line.startsWith('standard input:'))).toEqual([
      expect.stringMatching(
        /^standard input:\d+: .* \(1500 records, also standard input:\d+, standard input:\d+, …\)$/,
      ),
    ]);
    expect(said.at(-1)).toBe('bookreel: 1500 of 1501 records rejected: --rejects FILE writes them all');
    const lines = readFileSync(rejects, 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      Array.from({ length: 1500 }, (_, index) => ({
        path: 'standard input',
        line: index + 2,
        kind: 'unknown',
        reason: 'the line is not JSON',
      })),
    );
    const nowhere = await runExecutable(['import', '-', '--data', data, '--rejects', directory.path], { stdin });
    expect(nowhere).toMatchObject({ code: 1, stdout: '' });
    expect(nowhere.stderr).toContain('exists already');
  });

  test('--rejects refuses an existing file, a device or a link, and removes a file without a rejected record.', async () => {
    using directory = temporaryDirectory();
    const recording = join(directory.path, 'light.ndjson');
    writeLightRecording(recording, 3);
    const before = readFileSync(recording);
    const data = join(directory.path, 'data');
    const args = ['import', recording, '--data', data, '--rejects'];
    expect((await runCommand([...args, join(directory.path, 'rejects')])).code).toBe(0);
    expect(existsSync(join(directory.path, 'rejects'))).toBe(false);
    const link = join(directory.path, 'link');
    symlinkSync(join(directory.path, 'target'), link);
    const other = join(directory.path, 'other');
    writeFileSync(other, 'kept');
    const archived = contentDigest(data);
    for (const path of [recording, join(data, 'bookreel.db'), link, other]) {
      const { code, stderr } = await runCommand([...args, path]);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `bookreel: '${path}' exists already: name another one\n`,
      });
    }
    expect(readFileSync(recording)).toEqual(before);
    expect(readFileSync(other, 'utf8')).toBe('kept');
    expect(existsSync(join(directory.path, 'target'))).toBe(false);
    expect(contentDigest(data)).toBe(archived);
  });

  test('A dry run imports everything in a transaction that it rolls back.', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'light.ndjson');
    // More records than fit into a batch: the second copy of each repeats a record of an earlier batch.
    const lines = lightNdjson(9000);
    writeFileSync(path, lines + lines);
    const data = join(directory.path, 'data');
    const rehearse = ['import', path, '--data', data, '--dry-run', '--json'];
    const unborn = await runCommand(rehearse);
    expect(unborn.code).toBe(0);
    expect(existsSync(data)).toBe(false);
    const imported = await runCommand(['import', path, '--data', data, '--json']);
    const [would, did] = [JSON.parse(unborn.stdout) as Report, JSON.parse(imported.stdout) as Report];
    expect(would.total).toEqual(did.total);
    expect(would.total).toMatchObject({ read: 18_002, stored: 9001, duplicate: 9001 });
    const before = contentDigest(data);
    const more = join(directory.path, 'more.ndjson');
    writeFileSync(more, `${JSON.stringify(lightSnapshot(1, 2, 5))}\n${JSON.stringify(lightSnapshot(0))}\n`);
    const again = await runCommand(['import', more, '--data', data, '--dry-run']);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('1 would be stored, 1 duplicate') });
    expect(contentDigest(data)).toBe(before);
  });

  test('SIGINT stops after a batch and keeps the records counted as stored; the same command imports the rest', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'light.ndjson');
    writeLightRecording(path, RECORDS);
    const data = join(directory.path, 'data');
    const command = [EXECUTABLE, 'import', path, '--data', data, '--json'];
    await using child = startChild(command);
    await waitUntil(() => child.code !== undefined || storedRecords(data) > 0);
    child.kill('SIGINT');
    expect(await child.exited).toBe(1);
    expect(child.stderr()).toContain('stopping after this batch; a second signal stops at once');
    const stopped = JSON.parse(child.stdout()) as Report & { stopped: boolean };
    expect(stopped).toMatchObject({ stopped: true, total: { rejected: 0, duplicate: 0 } });
    expect(stopped.total.stored).toBeGreaterThan(0);
    expect(stopped.total.stored).toBeLessThan(RECORDS + 1);
    // The report also counts the market record.
    expect(storedRecords(data)).toBe(stopped.total.stored - 1);
    const again = await runCommand(command.slice(1));
    expect(again.code).toBe(0);
    const rest = JSON.parse(again.stdout) as Report;
    expect(rest.total.duplicate).toBe(stopped.total.stored);
    expect(rest.total.stored).toBe(RECORDS + 1 - stopped.total.stored);
  });

  test('SIGINT also stops an import that waits for a pipe', async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'data');
    const rejects = join(directory.path, 'rejects.ndjson');
    const child = Bun.spawn([EXECUTABLE, 'import', '-', '--data', data, '--json', '--rejects', rejects], {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'ignore',
    });
    child.stdin.write(`${JSON.stringify(LIGHT_MARKET)}\n${JSON.stringify(lightSnapshot(0))}\nbad\n`);
    await child.stdin.flush();
    // When the last line is rejected, all lines before it were read.
    await waitUntil(() => existsSync(rejects) && readFileSync(rejects, 'utf8') !== '');
    child.kill('SIGINT');
    const report = JSON.parse(await new Response(child.stdout).text()) as Report;
    expect(await child.exited).toBe(1);
    expect(report.total).toMatchObject({ read: 3, stored: 2, rejected: 1 });
  });

  test('an unknown value of --every is a usage error', async () => {
    const { code, stderr } = await runExecutable(['import', '-', '--every', 'often'], { stdin: '' });
    expect(code).toBe(2);
    expect(stderr).toContain('100ms');
  });
});

async function waitUntil(happened: () => boolean): Promise<void> {
  while (!happened()) await Bun.sleep(5);
}

/** The number of stored snapshots that another process sees now; 0 before the archive is created. */
function storedRecords(data: string): number {
  if (!existsSync(join(data, 'bookreel.db')) || !hasSchema(data)) return 0;
  const books = storedIn(data).series.filter(({ kind }) => kind === 'book');
  return books.reduce((total, { records }) => total + records, 0);
}

interface Snapshot {
  readonly id: string;
  readonly timestamp: string;
}

describe('import while a server is running', () => {
  test('pages that are read during the import have every earlier record exactly once, in order', async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'data');
    const base = join(directory.path, 'base.ndjson');
    writeLightRecording(base, BEFORE, 200);
    await runCommand(['import', base, '--data', data]);
    // Between any two records, before the first and after the last.
    const added = join(directory.path, 'added.ndjson');
    const lines: string[] = [];
    for (const offsetMs of [5, 2, 7, 3, 1, 9, 4, 8, 6]) {
      for (let index = 0; index < 1400; index += 1) lines.push(JSON.stringify(lightSnapshot(index, 2, offsetMs)));
    }
    writeFileSync(added, lines.join('\n'));
    const create = ['key', 'create', '--tier', 'enterprise', '--rpm', '1000000', '--data', data];
    const key = (await runCommand(create)).stdout.trim();
    await using server = await startServer(data);

    const walk = async (): Promise<Snapshot[]> => {
      const found: Snapshot[] = [];
      let cursor: string | null = null;
      do {
        const query: string = cursor === null ? 'limit=400' : `limit=400&cursor=${cursor}`;
        const url = `${server.origin}/v1/btc/markets/${LIGHT_CONDITION_ID}/snapshots?${query}`;
        const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
        if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
        const page = (await response.json()) as { data: Snapshot[]; nextCursor: string | null };
        found.push(...page.data.map(({ id, timestamp }) => ({ id, timestamp })));
        cursor = page.nextCursor;
      } while (cursor !== null);
      return found;
    };

    const before = await walk();
    expect(before).toHaveLength(BEFORE);
    const ids = new Set(before.map(({ id }) => id));
    await using importing = startChild([EXECUTABLE, 'import', added, '--data', data, '--json']);
    const walks: Snapshot[][] = [];
    while (importing.code === undefined) walks.push(await walk());
    expect(await importing.exited).toBe(0);
    walks.push(await walk());
    expect(walks.at(-1)).toHaveLength(BEFORE + lines.length);
    // At least one walk was made during the import.
    expect(walks.some((found) => found.length > BEFORE && found.length < BEFORE + lines.length)).toBe(true);
    for (const found of walks) {
      expect(found.filter(({ id }) => ids.has(id))).toEqual(before);
      const places = found.map(({ timestamp, id }) => [timestamp, Number(id)] as const);
      const inOrder = places.every(([timestamp, id], index) => {
        const previous = places[index - 1];
        return previous === undefined || previous[0] < timestamp || (previous[0] === timestamp && previous[1] < id);
      });
      expect(inOrder).toBe(true);
    }
  });
});
