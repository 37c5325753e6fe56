import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { HAS_EXECUTABLE, runExecutable } from '../support/executable.ts';

const MAPPING = `
  format = "csv"
  time = { field = "at", format = "YYYY-MM-DD hh:mm:ss" }
  market = { slug = { value = "btc-updown-5m-1776323400" } }
  [midpoints.up]
  price = "up"
`;
const ROWS = 'at,up\n2026-04-16 07:10:04,0.515\n2026-04-16 07:10:05,0.52\n';

/** Runs a command in a directory that has `my.toml` and `rows.csv`; `$` in a word is that directory. */
async function imported(...words: readonly string[]) {
  using directory = temporaryDirectory();
  writeFileSync(join(directory.path, 'my.toml'), MAPPING);
  writeFileSync(join(directory.path, 'rows.csv'), ROWS);
  writeFileSync(join(directory.path, 'broken.toml'), 'format = "csv"\ntime = [');
  const terminal = captured();
  const argv = words.map((word) => word.replace('$', directory.path));
  const code = await run(['import', ...argv, '--data', join(directory.path, 'data')], terminal);
  const isStored = existsSync(join(directory.path, 'data', 'bookreel.db'));
  return { code, stdout: terminal.stdout(), stderr: terminal.stderr().replaceAll(directory.path, '$'), isStored };
}

test('--map reads the files as the mapping says, and --set states what it leaves open', async () => {
  const { code, stdout, stderr } = await imported('--map', '$/my.toml', '$/rows.csv', '--set', 'time.zone=UTC');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^2 records read from 1 file: 2 stored, 0 duplicate, 0 rejected/);
  expect(stdout).toContain('my.toml');
});

test('--dry-run checks the mapping and the rows, and stores nothing', async () => {
  const { code, stdout, isStored } = await imported(
    '--map',
    '$/my.toml',
    '$/rows.csv',
    '--set',
    'time.zone=UTC',
    '--dry-run',
  );
  expect({ code, isStored }).toEqual({ code: 0, isStored: false });
  expect(stdout).toContain('2 would be stored');
});

test('A URL is downloaded, named without its signature, and removed after the import; a second import stores nothing.', async () => {
  using directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  const mapping = join(directory.path, 'my.toml');
  const market = 'market = { slug = { file_name = "^(.+)[.]csv$" } }';
  writeFileSync(mapping, MAPPING.replace(/market = .*/, market));
  await using server = Bun.serve({ port: 0, fetch: () => new Response(ROWS, { headers: { etag: '"1"' } }) });
  const url = new URL('/a/btc-updown-5m-1776323400.csv?signature=secret', server.url).href;
  for (const [dryRun, expected] of [
    [true, '2 would be stored'],
    [false, '2 stored'],
    [false, '0 stored, 2 duplicate'],
  ] as const) {
    const terminal = captured();
    const words = ['import', '--map', mapping, '--set', 'time.zone=UTC', url, '--files', '--data', data];
    expect(await run(dryRun ? [...words, '--dry-run'] : words, terminal)).toBe(0);
    expect(terminal.stdout()).toContain(expected);
    expect(terminal.stdout()).toContain('/a/btc-updown-5m-1776323400.csv');
    expect(terminal.stdout()).not.toContain('secret');
    expect(existsSync(data)).toBe(!dryRun);
    expect(dryRun ? [] : readdirSync(join(data, 'downloads'))).toEqual([]);
  }
});

test('Ctrl-C stops a download as it stops an import.', async () => {
  using directory = temporaryDirectory();
  const terminal = captured();
  // Other tests of this process have listeners of their own.
  const others = process.listeners('SIGINT');
  await using server = Bun.serve({
    port: 0,
    fetch: () => {
      for (const stop of process.listeners('SIGINT')) if (!others.includes(stop)) stop('SIGINT');
      return new Response(ROWS);
    },
  });
  const data = join(directory.path, 'data');
  expect(await run(['import', server.url.href, '--data', data], terminal)).toBe(1);
  expect(terminal.stderr()).toContain('the import was stopped: run the same command again to import the rest');
  expect(terminal.stderr().trim().split('\n')).toHaveLength(2);
});

test.each([
  ['another path', ['$/none.csv'], "'$/none.csv' cannot be read"],
  ['the file of --markets', ['--markets', '$/none.json'], "'$/none.json' cannot be read"],
  ['another URL', ['http://host:99999/'], "'http://host:99999/' is not a URL"],
])('Nothing is downloaded if %s cannot be read.', async (_, words, problem) => {
  let requests = 0;
  await using server = Bun.serve({
    port: 0,
    fetch: () => {
      requests += 1;
      return new Response(ROWS);
    },
  });
  const { code, stderr } = await imported(server.url.href, ...words);
  expect(Number(code)).toBe(1);
  expect(stderr).toContain(problem);
  expect(requests).toBe(0);
});

test.each([
  ['not downloaded', 404],
  ['no recording', 200],
])('A dry run leaves no directory behind if the file is %s.', async (_, status) => {
  using temporary = temporaryDirectory();
  const before = process.env.TMPDIR;
  await using server = Bun.serve({ port: 0, fetch: () => new Response('nothing of this', { status }) });
  try {
    process.env.TMPDIR = temporary.path;
    const { code } = await imported(server.url.href, '--dry-run');
    expect(Number(code)).toBe(1);
    expect(readdirSync(temporary.path)).toEqual([]);
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
});

describe('is refused before anything is read, in one sentence:', () => {
  test.each([
    [['--map', '$/my.toml', '$/rows.csv'], 2, "in the mapping '$/my.toml' time.zone is not stated"],
    [['--map', '$/my.toml', '$/rows.csv', '--set', 'time.zone'], 2, 'it must be a key, = and a text'],
    [['--map', '$/my.toml', '$/rows.csv', '--set', 'tme.zone=UTC'], 2, 'tme is not a key: did you mean time?'],
    [['--map', '$/none.toml', '$/rows.csv'], 2, "'$/none.toml' cannot be read: check its path and permissions"],
    [['--map', '$/broken.toml', '$/rows.csv'], 2, "'$/broken.toml' is not TOML, line 2"],
    [['--map', 'bid-ask-liquidty', '$/rows.csv'], 2, 'did you mean bid-ask-liquidity?'],
    [['$/rows.csv', '--set', 'time.zone=UTC'], 2, '--set states a key of a mapping: name the mapping with --map'],
    [['$/rows.csv', '--name', 'a.csv'], 2, '--name is the name of standard input: add - to the paths'],
  ])('%j', async (words, code, problem) => {
    const { stderr, ...found } = await imported(...words);
    expect({ ...found, code: Number(found.code) }).toEqual({ code, stdout: '', isStored: false });
    expect(stderr).toContain(problem);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});

test.skipIf(!HAS_EXECUTABLE)('the executable has the mappings, and reads standard input with them', async () => {
  using directory = temporaryDirectory();
  const stdin =
    'Timestamp,TargetTime,Expiration,UpBid,UpAsk,DownBid,DownAsk\n2025-12-25 16:00:21,2025-12-25 16:00:00,2025-12-25 16:15:00,0.57,0.58,0.42,0.43\n';
  const set = ['--set', 'time.zone=UTC', '--set', 'market.coin.value=btc'];
  const words = ['import', '-', '--map', 'bid-ask-liquidity', ...set, '--data', directory.path];
  const { code, stdout, stderr } = await runExecutable(words, { stdin });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('1 stored');
});
