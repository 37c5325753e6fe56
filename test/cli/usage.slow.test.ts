import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { createProgram } from '../../src/cli/program.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { runCommand } from '../support/command.ts';
import { EXECUTABLE, runExecutable } from '../support/executable.ts';

const program = await createProgram(captured());

/** All commands, each as its words. */
const COMMANDS: readonly string[][] = commandsBelow(program, []);

function commandsBelow(command: CommandUnknownOpts, words: readonly string[]): string[][] {
  return [[...words], ...command.commands.flatMap((child) => commandsBelow(child, [...words, child.name()]))];
}

/** Expects one sentence on stderr with the prefix of all errors, nothing on stdout, and no internals of the program. */
function expectSentence(stderr: string, stdout: string): void {
  expect(stdout).toBe('');
  expect(stderr).toMatch(/^bookreel: [^\n]+[^.\n]\n$/);
  expect(stderr).not.toContain('error: ');
  expect(stderr).not.toContain('defect');
}

describe('help', () => {
  test('there is a command for every noun of the interface', () => {
    expect(COMMANDS.map((words) => words.join(' '))).toEqual(
      expect.arrayContaining([
        ...['serve', 'seed', 'import', 'export', 'openapi', 'version', 'tier list', 'tier set'],
        ...['tier add', 'tier show', 'tier retire', 'usage', 'audit', 'account delete'],
        ...['verify', 'backup', 'restore', 'manual'],
        ...['key create', 'key list', 'key rotate', 'key revoke'],
      ]),
    );
  });

  test.each(COMMANDS.map((words) => [words.join(' '), words] as const))(
    "'bookreel %s --help' explains itself on stdout, with examples",
    async (name, words) => {
      const { code, stdout, stderr } = await runCommand([...words, '--help']);
      expect(code).toBe(0);
      expect(stderr).toBe('');
      expect(stdout).toStartWith(`Usage: ${['bookreel', ...words].join(' ')}`);
      expect(stdout).toContain('\nExamples:\n');
      expect(stdout).toContain(`  $ bookreel ${name}`.trimEnd());
      expect(stdout).toContain('--data <dir>');
      expect(stdout).toContain('--json');
      // Commands to copy have one line each; everything else fits into 80 columns.
      const prose = stdout.split('\n').filter((line) => !line.startsWith('  $ '));
      expect(prose.filter((line) => line.length > 80)).toEqual([]);
      // A time is written as a person would give it, not in milliseconds.
      expect(stdout).not.toMatch(/default: \d{6,}/);
    },
  );

  test.each([[[]], [['key']], [['tier']]])(
    '%j without a command shows the help on stderr and is a usage error',
    async (words) => {
      const { code, stdout, stderr } = await runCommand(words);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain('Examples:');
    },
  );
});

describe('usage errors', () => {
  const cases: readonly (readonly [readonly string[], string])[] = [
    [['nonsense'], "unknown command 'nonsense'; see 'bookreel --help'"],
    [['serv'], "unknown command 'serv': did you mean serve?"],
    [['key', 'lst'], "unknown command 'lst': did you mean list?"],
    [['\u001b[2Jimport'], "unknown command '\\u{1b}[2Jimport'"],
    [['tier', 'drop'], "unknown command 'drop'"],
    [['--jsn', 'version'], "unknown option '--jsn': did you mean --json?"],
    [['key', 'list', '--all'], "unknown option '--all'; see 'bookreel key list --help'"],
    [['version', 'extra'], "too many arguments for 'version': 0 expected, 1 given; see 'bookreel version --help'"],
    [['seed', 'extra'], 'too many arguments'],
    [['verify', 'extra'], 'too many arguments'],
    [['verify', '--market'], "option '--market <name>' argument missing"],
    [
      ['manual', 'replai'],
      'interface, sdk, agents, viewer, replay, paper, backtest, notebooks, venue, bots, segments, limits, install, recording, recordings',
    ],
    [['manual', 'replay', 'limits'], 'too many arguments'],
    [['backup', 'a', 'b'], 'too many arguments'],
    [['restore'], "missing required argument 'backup'"],
    [['restore', 'a', '--now'], "unknown option '--now'"],
    [['serve', 'extra'], 'too many arguments'],
    [['key', 'revoke', 'a', 'b'], 'too many arguments'],
    [['import'], "missing required argument 'path'"],
    [['key', 'rotate'], "missing required argument 'id'"],
    [['key', 'revoke'], "missing required argument 'id'"],
    [['tier', 'set'], "missing required argument 'id'"],
    [['key', 'create'], '--tier'],
    [['key', 'create', '--tier'], '--tier'],
    [['key', 'create', '--tier', 'gold'], 'free, starter, pro, enterprise'],
    [['key', 'create', '--tier', 'free', '--account', 'nobody'], 'not an email address'],
    [['key', 'create', '--tier', 'free', '--rpm', '0'], 'integer from 1 to 1000000'],
    [['key', 'create', '--tier', 'free', '--rpm', '1e3'], 'integer from 1 to 1000000'],
    [['key', 'create', '--tier', 'free', '--rpm', '-5'], 'integer from 1 to 1000000'],
    [['key', 'create', '--tier', 'free', '--rpm', '1000001'], 'integer from 1 to 1000000'],
    [['tier', 'set', 'free'], 'nothing to change'],
    [['tier', 'add', 'gold', '--rpm', '5'], 'a new tier needs --name and --rpm'],
    [['tier', 'add', 'Gold', '--name', 'Gold', '--rpm', '5'], "'Gold' is not an id of a tier"],
    [['tier', 'set', 'gold', '--rpm', '5'], "there is no tier 'gold'"],
    [['tier', 'set', 'free', '--rpm', '010'], 'integer from 1 to 1000000'],
    [['tier', 'set', 'free', '--rpm', '5.0'], 'integer from 1 to 1000000'],
    [['tier', 'set', 'free', '--coins', ''], 'coin codes'],
    [['tier', 'set', 'free', '--coins', 'btc,,eth'], 'coin codes'],
    [['tier', 'set', 'free', '--coins', 'b/c'], 'coin codes'],
    [['tier', 'set', 'free', '--routes', 'everything'], 'markets, prices, snapshots, quotes'],
    [['tier', 'set', 'free', '--price', '-1'], 'amount in USD'],
    [['tier', 'set', 'free', '--price', '1.999'], 'amount in USD'],
    [['tier', 'set', 'free', '--price', '1e3'], 'amount in USD'],
    [['serve', '--port', '65536'], "'65536' is invalid: it must be an integer from 0 to 65535"],
    [['export', '--format', 'xml'], "'xml' is invalid: allowed choices are ndjson, msgpack"],
    [['replay', 'seek', 'noon'], "bookreel: 'noon' is invalid for argument 'instant': it must be Unix milliseconds"],
    [['replay', 'shwo'], "there is no command 'replay shwo': choose one of start, list, show, create"],
    [['record', 'stats'], "there is no command 'record stats': choose one of start, status"],
    [['replay', 'start', 'extra'], "too many arguments for 'start'"],
    [['serve', '--port', '80a'], 'integer from 0 to 65535'],
    [['serve', '--port', ''], 'integer from 0 to 65535'],
    [['serve', '--host', ''], 'must not be empty'],
    [['key', 'list', '--data', ''], 'must not be empty'],
  ];

  test.each(cases)('Every error is one line that says what to do, with exit code 2. (%j)', async (args, reason) => {
    using directory = temporaryDirectory();
    const { code, stdout, stderr } = await runCommand(args, { cwd: directory.path });
    expect(code).toBe(2);
    expectSentence(stderr, stdout);
    expect(stderr).toContain(reason);
  });

  test.each([
    ['BOOKREEL_PORT', 'http', 'integer from 0 to 65535'],
    ['BOOKREEL_HOST', '', 'must not be empty'],
    ['BOOKREEL_DATA', '', 'must not be empty'],
  ])('a bad %s=%j of the environment is refused under its name', async (name, value, reason) => {
    using directory = temporaryDirectory();
    const finished = await runCommand(['serve'], { cwd: directory.path, env: { [name]: value } });
    expect(finished.code).toBe(2);
    expectSentence(finished.stderr, finished.stdout);
    expect(finished.stderr).toContain(reason);
    expect(finished.stderr).toContain(name);
    expect(readdirSync(directory.path)).toEqual([]);
  });
});

describe('failures', () => {
  test.each([
    [['key', 'list']],
    [['key', 'rotate', 'key_aaaaaaaaaa']],
    [['key', 'revoke', 'key_aaaaaaaaaa']],
    [['tier', 'list']],
  ])('%j without a data directory says so and creates nothing', async (args) => {
    using directory = temporaryDirectory();
    for (const data of ['missing', join('deeply', 'missing')]) {
      const { code, stdout, stderr } = await runCommand([...args, '--data', data], { cwd: directory.path });
      expect(code).toBe(1);
      expectSentence(stderr, stdout);
      expect(stderr).toContain(`there is no archive in '${data}'`);
    }
    expect(readdirSync(directory.path)).toEqual([]);
  });

  test.each([[['key', 'rotate']], [['key', 'revoke']]])('%j of an unknown id is a failure', async (args) => {
    using directory = temporaryDirectory();
    await runCommand(['key', 'create', '--tier', 'free', '--data', directory.path]);
    const finished = await runCommand([...args, 'key_nobody', '--data', directory.path]);
    expect(finished.code).toBe(1);
    expectSentence(finished.stderr, finished.stdout);
    expect(finished.stderr).toContain("there is no key 'key_nobody'");
  });

  test('a path that does not exist is named, and no data directory is created', async () => {
    using directory = temporaryDirectory();
    const finished = await runCommand(['import', 'nowhere.ndjson', '--data', 'data'], { cwd: directory.path });
    expect(finished.code).toBe(1);
    expectSentence(finished.stderr, finished.stdout);
    expect(finished.stderr).toContain("'nowhere.ndjson' cannot be read");
    expect(existsSync(join(directory.path, 'data'))).toBe(false);
  });

  test.each([[['serve', '--port', '0']], [['seed']], [['key', 'create', '--tier', 'free']]])(
    '%j with a file in place of the data directory is a failure that names it',
    async (args) => {
      using directory = temporaryDirectory();
      await Bun.write(join(directory.path, 'data'), 'a file');
      const finished = await runCommand([...args, '--data', 'data'], { cwd: directory.path });
      expect(finished.code).toBe(args[0] === 'serve' ? 2 : 1);
      expectSentence(finished.stderr, finished.stdout);
      expect(finished.stderr).toContain("'data/");
    },
  );

  test('an address of another machine is a failure that names it', async () => {
    using directory = temporaryDirectory();
    const args = ['serve', '--data', directory.path, '--host', '203.0.113.1', '--port', '0'];
    const finished = await runCommand(args);
    expect(finished.code).toBe(2);
    expectSentence(finished.stderr, finished.stdout);
    expect(finished.stderr).toContain('203.0.113.1');
  });
});

describe('settings', () => {
  test('the data directory is the flag, else BOOKREEL_DATA, else bookreel-data in the working directory', async () => {
    using directory = temporaryDirectory();
    const cwd = directory.path;
    const env = { BOOKREEL_DATA: 'by-environment' };
    const create = ['key', 'create', '--tier', 'free'];
    expect((await runCommand(create, { cwd })).code).toBe(0);
    expect(readdirSync(cwd)).toEqual(['bookreel-data']);
    expect((await runCommand(create, { cwd, env })).code).toBe(0);
    expect(readdirSync(cwd).sort()).toEqual(['bookreel-data', 'by-environment']);
    expect((await runCommand([...create, '--data', 'by-flag'], { cwd, env })).code).toBe(0);
    expect((await runCommand(['--data', 'before-the-command', ...create], { cwd, env })).code).toBe(0);
    expect(readdirSync(cwd).sort()).toEqual(['before-the-command', 'bookreel-data', 'by-environment', 'by-flag']);
    const keys = async (data: string) =>
      JSON.parse((await runCommand(['key', 'list', '--json', '--data', data], { cwd })).stdout) as unknown[];
    for (const data of readdirSync(cwd)) expect(await keys(data)).toHaveLength(1);
  });

  test('host and port are the flags, else BOOKREEL_HOST and BOOKREEL_PORT', async () => {
    using directory = temporaryDirectory();
    await using first = await occupiedPort();
    await using second = await occupiedPort();
    const env = { BOOKREEL_DATA: directory.path, BOOKREEL_PORT: String(first.port), BOOKREEL_HOST: '127.0.0.1' };
    const byEnvironment = await runCommand(['serve'], { env });
    expect(byEnvironment.code).toBe(1);
    expect(byEnvironment.stderr).toContain(`127.0.0.1 port ${first.port}`);
    const byFlag = await runCommand(['serve', '--port', String(second.port)], { env });
    expect(byFlag.stderr).toContain(`127.0.0.1 port ${second.port}`);
    const hostByFlag = await runCommand(['serve', '--host', 'localhost'], { env });
    expect(hostByFlag.stderr).toContain(`localhost port ${first.port}`);
  });

  test('the defaults are a loopback address and port 8080', async () => {
    const { stdout } = await runCommand(['serve', '--help']);
    expect(stdout.replace(/\s+/g, ' ')).toContain('(default: "127.0.0.1", env: BOOKREEL_HOST)');
    expect(stdout.replace(/\s+/g, ' ')).toContain('(default: 8080, env: BOOKREEL_PORT)');
  });
});

describe('version and openapi', () => {
  test('The command version names the program, Bun, SQLite and the schema.', async () => {
    const { code, stdout, stderr } = await runCommand(['version']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^bookreel \d+\.\d+\.\d+ \(Bun \d+\.\d+\.\d+, SQLite \d+\.\d+\.\d+, schema \d+\)\n$/);
    const versions = JSON.parse((await runCommand(['version', '--json'])).stdout) as Record<string, unknown>;
    expect(stdout).toBe(
      `bookreel ${versions.bookreel} (Bun ${versions.bun}, SQLite ${versions.sqlite}, schema ${versions.schema})\n`,
    );
  });

  test.each([['--version'], ['-V']])('--version prints the name and the version. (%s)', async (flag) => {
    const { code, stdout, stderr } = await runCommand([flag]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^bookreel \d+\.\d+\.\d+\n$/);
    expect((await runCommand(['version'])).stdout).toStartWith(`${stdout.trim()} (`);
  });

  test('they need no data directory and create none', async () => {
    using directory = temporaryDirectory();
    await runExecutable(['version'], { cwd: directory.path });
    await runExecutable(['openapi'], { cwd: directory.path });
    expect(readdirSync(directory.path)).toEqual([]);
  });
});

describe('standard output', () => {
  test('a slow reader gets every byte of an output larger than a pipe', async () => {
    const whole = (await runCommand(['openapi'])).stdout;
    // The output must be larger than a pipe, or the test proves nothing.
    expect(whole.length).toBeGreaterThan(65_536);
    const slow = Bun.spawnSync(['sh', '-c', '"$0" openapi | { sleep 0.4; cat; }', EXECUTABLE]);
    expect(slow.stdout.toString()).toBe(whole);
  });

  test.each([['head -n 1'], ['true']])("'openapi | %s' ends quietly", (reader) => {
    const script = `{ "$0" openapi; echo "exit $?" >&2; } | ${reader}`;
    const { stderr } = Bun.spawnSync(['sh', '-c', script, EXECUTABLE]);
    expect(stderr.toString()).toBe('exit 0\n');
  });

  test.skipIf(!existsSync('/dev/full'))(
    'an output that cannot be written (needs /dev/full) is a failure that says so',
    () => {
      const { exitCode, stderr } = Bun.spawnSync(['sh', '-c', '"$0" version > /dev/full', EXECUTABLE]);
      expect(exitCode).toBe(1);
      expect(stderr.toString()).toContain('standard output cannot be written (ENOSPC)');
    },
  );
});

describe('working directory', () => {
  const planted = {
    '.env': 'BOOKREEL_DATA=planted-data\nBOOKREEL_PORT=planted\n',
    '.env.production': 'BOOKREEL_DATA=planted-data\n',
    'bunfig.toml': 'preload = ["./planted.ts"]\n[run]\npreload = ["./planted.ts"]\n',
    'planted.ts': "require('node:fs').writeFileSync('code-ran', '');\n",
    'tsconfig.json': '{"compilerOptions":{"paths":{"*":["./planted.ts"]}}}',
    'package.json': '{"name":"planted","main":"planted.ts","imports":{"#*":"./planted.ts"}',
  };

  test('No configuration file is read without being named.', async () => {
    using directory = temporaryDirectory();
    const cwd = directory.path;
    for (const [name, content] of Object.entries(planted)) await Bun.write(join(cwd, name), content);
    const version = await runExecutable(['version'], { cwd });
    expect({ code: version.code, stderr: version.stderr }).toEqual({ code: 0, stderr: '' });
    expect((await runExecutable(['key', 'create', '--tier', 'free'], { cwd })).code).toBe(0);
    expect((await runExecutable(['serve', '--host', '203.0.113.1'], { cwd })).stderr).toContain('port 8080');
    expect(readdirSync(cwd).sort()).toEqual([...Object.keys(planted), 'bookreel-data'].sort());
  });

  test('it may be empty and read-only when the data is elsewhere', async () => {
    using directory = temporaryDirectory();
    const cwd = join(directory.path, 'read-only');
    mkdirSync(cwd, { mode: 0o555 });
    const data = join(directory.path, 'data');
    expect((await runExecutable(['tier', 'list', '--data', data], { cwd })).code).toBe(1);
    expect((await runExecutable(['key', 'create', '--tier', 'free', '--data', data], { cwd })).code).toBe(0);
    expect(readdirSync(cwd)).toEqual([]);
  });
});

/** A port that another program listens on. */
async function occupiedPort(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
