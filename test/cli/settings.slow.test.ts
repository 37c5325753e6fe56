import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { createProgram, run } from '../../src/cli/program.ts';
import { ALL_SETTINGS, keyOf, type Setting, type SettingName, variableOf } from '../../src/config.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';

/** Of each setting a value for the file, one for its variable and one for its flag, as a flag has them. */
const VALUES: Readonly<Record<SettingName, readonly [string, string, string]>> = {
  config: ['a.toml', 'b.toml', 'c.toml'],
  data: ['one', 'two', '/three four'],
  diskFloor: ['0', '1kB', '9999TB'],
  backupTo: ['kept', 's3://bucket', 's3://bucket/a folder'],
  books: ['s3://one', 's3://two/a', 's3://three/b/c'],
  host: ['0.0.0.0', '::1', 'localhost'],
  port: ['0', '1', '65535'],
  processes: ['2', 'auto', '256'],
  accessLog: ['on', 'off', 'on'],
  mcp: ['on', 'off', 'on'],
  logLevel: ['warn', 'error', 'info'],
  tlsCert: ['a.pem', '/b.pem', 'c d.pem'],
  tlsKey: ['a.key', '/b.key', 'c d.key'],
  metricsHost: ['0.0.0.0', '::1', 'localhost'],
  metricsPort: ['0', '1', '65535'],
  trustedProxies: ['loopback', '10.0.0.0/8,192.0.2.1', '2001:db8::/32'],
  corsOrigins: ['*', 'https://a.example', 'https://a.example,https://b.example'],
  allowedHosts: ['a.example', 'A.example,b.example', '[::1]'],
  idleSeconds: ['1', '2', '255'],
  drainSeconds: ['0', '1', '3600'],
  newAccountTier: ['pro', 'starter', 'enterprise'],
  keysPerAccount: ['1', '2', '1000000'],
  publicUrl: ['https://a.example', 'http://127.0.0.1:8080', 'https://b.example/'],
  signUp: ['open', 'invited', 'open'],
  signUpDomains: ['a.example', 'A.example,b.example', 'c.example'],
  smtpUrl: ['smtp://user@a.example:587', 'smtps://b.example', 'smtp://c.example'],
  smtpSender: ['a@a.example', 'b@a.example', 'c@a.example'],
  windows: ['redis://a.example', 'rediss://b.example:6380/1', 'redis://user@c.example/0?wait=100ms'],
  windowsPasswordFile: ['a', '/b', 'c d'],
  smtpPasswordFile: ['a', '/b', 'c d'],
  oidcProviders: [
    'a https://a.example id /a',
    'b https://b.example id /b,c https://c.example id /c',
    'd https://d.example id /d',
  ],
  nodeSecretFile: ['a', '/b', 'c d'],
  home: ['http://10.0.0.10:8080', 'https://home.example', 'http://[::1]:8080'],
  cacheBytes: ['1GB', '100MB', '2TB'],
  homeGrace: ['1s', '0', '1m'],
  adminPasskeys: ['required', 'optional', 'required'],
  contact: ['mailto:a@a.example', 'https://b.example/x?y=z', 'https://c.example'],
  payments: ['a.json', 'b.json', '/c d.json'],
  replayPort: ['0', '1', '65535'],
  maxSockets: ['1', '2', '1000000'],
  replayUrl: ['http://a.example', 'https://b.example/x', 'http://127.0.0.1:1'],
  keyFile: ['a', '/b', 'c d'],
};

const directory = temporaryDirectory();
const FILE = join(directory.path, 'bookreel.toml');
/** Variables of whoever runs the tests. */
const INHERITED = { ...process.env };

function removeVariables(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('BOOKREEL_')) delete process.env[name];
}

beforeAll(removeVariables);
afterEach(removeVariables);
afterAll(() => {
  Object.assign(process.env, INHERITED);
  directory[Symbol.dispose]();
});

interface Shown {
  readonly setting: string;
  readonly value: string;
  readonly origin: string;
  readonly from: string | null;
}

/** A value as the configuration file has it. */
function inToml({ type, word }: Setting, text: string): string {
  if (type === 'boolean') return text === 'on' ? 'true' : 'false';
  if (type === 'number') return text === word ? `"${text}"` : text;
  return type === 'list' && text.includes(',') ? JSON.stringify(text.split(',')) : JSON.stringify(text);
}

const PROGRAM = await createProgram(captured());

/** All commands that take the setting, each as its words. */
function commandsWith(env: string, command = PROGRAM): string[][] {
  const below = command.commands.flatMap((child) => commandsWith(env, child).map((words) => [child.name(), ...words]));
  const isOwn = command.options.some(({ envVar }) => envVar === env);
  const isRunnable = command.commands.length === 0;
  return isOwn && !isRunnable ? leavesOf(command) : isOwn ? [[]] : below;
}

function leavesOf(command: CommandUnknownOpts): string[][] {
  if (command.commands.length === 0) return [[]];
  return command.commands.flatMap((child) => leavesOf(child).map((words) => [child.name(), ...words]));
}

/** The options that the command would work with. Its action is not run. */
async function optionsOf(words: readonly string[], args: readonly string[]): Promise<Record<string, unknown>> {
  const program = await createProgram(captured());
  let command = program;
  for (const word of words) command = command.commands.find((child) => child.name() === word)!;
  let found: Record<string, unknown> | undefined;
  command.action(() => {
    found = command.optsWithGlobals();
  });
  const required = command.options.filter(({ mandatory }) => mandatory).flatMap(({ long }) => [long!, '1']);
  const given = command.registeredArguments.flatMap((argument) =>
    argument.required ? [argument.argChoices?.[0] ?? '1'] : [],
  );
  await program.parseAsync([...words, ...args, ...required, ...given], { from: 'user' });
  return found!;
}

/** Commands whose settings are not read. */
const WITHOUT = ['completion', 'config', 'doctor', 'manual', 'metrics', 'openapi', 'version'];

describe.each(ALL_SETTINGS)('the setting %s', (name, setting) => {
  const [inFile, inVariable, inFlag] = VALUES[name];
  const flag = setting.flag.split(' ')[0]!;
  const commands = commandsWith(variableOf(name)).filter(([noun]) => !WITHOUT.includes(noun!));

  test('is a default, of the file, of a variable, of a flag, and the last one wins', async () => {
    expect(commands.length).toBeGreaterThan(0);
    writeFileSync(FILE, name === 'config' ? '' : `${keyOf(name)} = ${inToml(setting, inFile)}\n`);
    for (const words of commands) {
      const attribute = flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
      const found = async (...args: string[]) => ({ words, value: (await optionsOf(words, args))[attribute] });
      const expected = (text: string) => ({ words, value: setting.read(text) });
      expect(await found()).toEqual(expected(setting.fallback));
      // The file that is named cannot name itself.
      const file = name === 'config' ? [] : ['--config', FILE];
      if (name !== 'config') expect(await found(...file)).toEqual(expected(inFile));
      if (name === 'config') for (const text of VALUES.config) writeFileSync(join(directory.path, text), '');
      const at = (text: string) => (name === 'config' ? join(directory.path, text) : text);
      process.env[variableOf(name)] = at(inVariable);
      expect(await found(...file)).toEqual(expected(at(inVariable)));
      expect(await found(...file, flag, at(inFlag))).toEqual(expected(at(inFlag)));
      delete process.env[variableOf(name)];
    }
  });

  test('is shown with its value and its origin', async () => {
    const key = keyOf(name);
    const shown = async (...args: string[]) => {
      const terminal = captured();
      await run(['config', 'show', '--json', ...args], terminal);
      const rows = JSON.parse(terminal.stdout()) as Shown[];
      const { value, origin, from } = rows.find((row) => row.setting === key)!;
      return [value, origin, from];
    };
    expect(await shown()).toEqual([setting.fallback, 'default', null]);
    writeFileSync(FILE, name === 'config' ? '' : `${key} = ${inToml(setting, inFile)}\n`);
    const file = name === 'config' ? [] : ['--config', FILE];
    if (name !== 'config') expect(await shown(...file)).toEqual([inFile, 'file', FILE]);
    process.env[variableOf(name)] = inVariable;
    expect(await shown(...file)).toEqual([inVariable, 'variable', variableOf(name)]);
    expect(await shown(...file, `--${key}`, inFlag)).toEqual([inFlag, 'flag', `--${key}`]);
  });

  test('A key of the configuration file has the name of its flag, and replay has keys of its own for --port and --url.', async () => {
    if (name !== 'replayPort' && name !== 'replayUrl') expect(flag).toBe(`--${keyOf(name)}`);
    if (name === 'config') return;
    writeFileSync(FILE, `${keyOf(name)} = ""\n`);
    const terminal = captured();
    expect(await run(['config', 'check', '--config', FILE, '--data', directory.path], terminal)).toBe(2);
    expect(terminal.stderr()).toStartWith(`bookreel: in '${FILE}' ${keyOf(name)} = "" is invalid: `);
  });
});

describe('a file that is wrong', () => {
  const cases: readonly (readonly [toml: string, sentence: string])[] = [
    ['port = "9000"', `port = "9000" is invalid: it must be a number, without quotes, like port = 8080`],
    ['port = 99999', 'port = 99999 is invalid: it must be an integer from 0 to 65535'],
    ['port = 80.5', 'port = 80.5 is invalid: it must be an integer from 0 to 65535'],
    ['disk-floor = 64', 'disk-floor = 64 is invalid: it must be a text in quotes'],
    ['disk-floor = "64"', 'is invalid: it must be a size like 64MB or 2GB, or 0'],
    ['disk-floor = "0MB"', 'is invalid: it must be a size like 64MB or 2GB, or 0'],
    ['disk-floor = "1 GB"', 'is invalid: it must be a size like 64MB or 2GB, or 0'],
    ['port = inf', 'is invalid: it must be an integer from 0 to 65535'],
    ['port = [8080]', 'port = [8080] is invalid: it must be a number'],
    ['access-log = "on"', 'access-log = "on" is invalid: it must be true or false, without quotes'],
    ['host = 1', 'host = 1 is invalid: it must be a text in quotes'],
    ['host = ["a"]', 'host = ["a"] is invalid: it must be a text in quotes'],
    [
      'trusted-proxies = [1]',
      'trusted-proxies = [1] is invalid: it must be a text in quotes, or a list of them, like ["a", "b"]',
    ],
    ['trusted-proxies = []', 'trusted-proxies = [] is invalid: '],
    ['trusted-proxies = ["loopback", "x"]', "is invalid: 'x' is not an address"],
    ['drain-seconds = 2026-01-01', 'is invalid: it must be a number, without quotes, like drain-seconds = 10'],
    ['prot = 1', "there is no setting 'prot': did you mean port?"],
    ['trusted_proxies = "loopback"', "there is no setting 'trusted_proxies': did you mean trusted-proxies?"],
    ['[serve]\nport = 1', "there is no setting 'serve': 'bookreel manual configuration' lists all"],
    ['__proto__ = 1', "there is no setting '__proto__': "],
    ['config = "x"', "there is no setting 'config': remove it, a file cannot name another one"],
  ];

  test.each(cases)('A wrong value of the file is refused: values have types. (%j)', async (toml, sentence) => {
    writeFileSync(FILE, toml);
    for (const words of [['serve'], ['key', 'list'], ['replay', 'list']]) {
      const terminal = captured();
      expect(await run([...words, '--config', FILE], terminal)).toBe(2);
      expect(terminal.stdout()).toBe('');
      expect(terminal.stderr()).toStartWith(`bookreel: in '${FILE}' `);
      expect(terminal.stderr()).toContain(sentence);
      expect(terminal.stderr().trim().split('\n')).toHaveLength(1);
    }
  });

  test.each([
    ['port = 1\nport = 2', 2, "cannot redefine key 'port'"],
    ['# a\n\nhost = "x', 3, 'unterminated string'],
    ['cors-origins = [\n"a",\n"b",\n]\nhost = [\n"a",\n\n', 5, 'unterminated array'],
    ['port', 1, "expected '=' after a key"],
    ['\n\n\n\nport = 08\n\nhost = "a"\n', 5, ''],
  ])('%j is not TOML on line %d', async (toml, line, reason) => {
    writeFileSync(FILE, toml);
    const terminal = captured();
    expect(await run(['key', 'list', '--config', FILE], terminal)).toBe(2);
    expect(terminal.stderr()).toStartWith(`bookreel: '${FILE}' is not TOML, line ${line}: ${reason}`);
  });

  test('and cannot be read is a failure that names it', async () => {
    for (const path of [join(directory.path, 'missing.toml'), directory.path]) {
      const terminal = captured();
      expect(await run(['key', 'list', '--config', path], terminal)).toBe(2);
      expect(terminal.stderr()).toBe(`bookreel: '${path}' cannot be read: check its path and permissions\n`);
    }
  });

  test('A wrong file leaves the commands alone that use no settings: version, manual, openapi and completion.', async () => {
    writeFileSync(FILE, 'prot = 1');
    expect(await run(['version', '--config', FILE], captured())).toBe(0);
    expect(await run(['manual', '--config', FILE], captured())).toBe(0);
    expect(await run(['metrics', 'alerts', '--config', FILE], captured())).toBe(0);
  });
});

describe('an unknown variable', () => {
  test.each([
    ['BOOKREEL_PROT', 'did you mean BOOKREEL_PORT?'],
    ['BOOKREEL_SMTP_PASSWORD', 'did you mean BOOKREEL_SMTP_PASSWORD_FILE?'],
    ['BOOKREEL_ALLOWED_HOST', 'did you mean BOOKREEL_ALLOWED_HOSTS?'],
    ['BOOKREEL_X', 'unset it'],
  ])('An unknown variable is refused without its value. (%s)', async (name, advice) => {
    process.env[name] = 'hunter2';
    for (const words of [
      ['key', 'list'],
      ['config', 'check'],
      ['config', 'show'],
    ]) {
      const terminal = captured();
      expect(await run([...words, '--data', directory.path], terminal)).toBe(2);
      expect(terminal.stderr()).toBe(`bookreel: there is no setting for the variable ${name}: ${advice}\n`);
      expect(terminal.stdout()).not.toContain('hunter2');
    }
  });

  test('A variable that begins with BOOKREEL_ may be one of the clients that the manual shows, or of the tests.', async () => {
    process.env.BOOKREEL_KEY = 'br_live_x';
    process.env.BOOKREEL_URL = 'https://data.example.com';
    const root = join(import.meta.dir, '..');
    for (const path of new Bun.Glob('{contract,crash,fault,support}/*.ts').scanSync(root)) {
      const source = readFileSync(join(root, path), 'utf8');
      for (const [name] of source.matchAll(/(?<=process\.env\.)BOOKREEL_\w+/g)) process.env[name] = 'x';
    }
    expect(process.env.BOOKREEL_BINARY).toBe('x');
    expect(await run(['config', 'check', '--data', directory.path], captured())).toBe(0);
  });
});

test('Messages name a refused variable but not its value, and a URL without its password.', async () => {
  const secret = 'hunter2/@x';
  const smtp = (place: string) => `smtp://user:${secret}@mail.example.com${place}`;
  for (const place of ['', '/path', ':99999']) {
    writeFileSync(FILE, `smtp-url = "${smtp(place)}"\n`);
    const given: readonly (readonly [string[], string | undefined])[] = [
      [['--config', FILE], undefined],
      [[], smtp(place)],
    ];
    for (const [args, variable] of given) {
      if (variable === undefined) delete process.env.BOOKREEL_SMTP_URL;
      else process.env.BOOKREEL_SMTP_URL = variable;
      for (const words of [['serve'], ['config', 'check'], ['config', 'show'], ['config', 'show', '--json']]) {
        const terminal = captured();
        await run([...words, ...args, '--data', directory.path], terminal);
        const printed = `${terminal.stdout()}${terminal.stderr()}`;
        expect(printed).toMatch(/smtp-url|SMTP_URL/);
        expect(printed).not.toContain('hunter2');
      }
    }
  }
});
