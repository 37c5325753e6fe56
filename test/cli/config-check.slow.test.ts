import { describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { runCommand } from '../support/command.ts';
import { startServer } from '../support/executable.ts';

const ACCOUNTS = 'public-url = "https://data.example.com"\n';
const OIDC = (file: string) => `${ACCOUNTS}oidc-providers = ["corp https://login.example.com id ${file}"]\n`;
const SMTP = `${ACCOUNTS}smtp-url = "smtp://user@mail.example.com"\nsmtp-sender = "a@example.com"\n`;
const PAYMENTS = {
  payTo: '0x52908400098527886E0F7030069857D2E4169EE7',
  networks: [
    {
      network: 'eip155:137',
      name: 'Polygon',
      rpcUrl: 'http://127.0.0.1:1',
      confirmations: 1,
      gasKeyFile: 'gas-key',
      tokens: [
        {
          symbol: 'USDC',
          asset: '0x52908400098527886E0F7030069857D2E4169EE7',
          decimals: 6,
          name: 'USD Coin',
          version: '2',
        },
      ],
    },
  ],
};

/** A directory with a settings file and the files that it names; commands run in it. */
function place(toml: string, files: Readonly<Record<string, string>> = {}) {
  const directory = temporaryDirectory();
  const cwd = directory.path;
  for (const [name, text] of Object.entries({ ...files, 'bookreel.toml': `port = 0\n${toml}` })) {
    writeFileSync(join(cwd, name), text, { mode: 0o600 });
  }
  const options = { cwd, env: { BOOKREEL_CONFIG: 'bookreel.toml', BOOKREEL_DATA: 'data' } };
  return {
    cwd,
    check: async () => await runCommand(['config', 'check'], options),
    serve: async () => await runCommand(['serve'], options),
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

describe('config check and serve refuse with the same sentence', () => {
  test.each([
    ['prot = 1', {}, "in 'bookreel.toml' there is no setting 'prot': did you mean port?"],
    ['admin-passkeys = "required"', {}, '--admin-passkeys needs --public-url, which turns accounts on'],
    [
      'admin-passkeys = "required"\npublic-url = "http://127.0.0.1:8080"',
      {},
      '--admin-passkeys needs a host name in --public-url: browsers have no passkeys for an address',
    ],
    ['sign-up = "open"', {}, '--sign-up needs --public-url, which turns accounts on'],
    ['new-account-tier = "gold"', {}, "there is no tier 'gold': choose one of free, starter, pro, enterprise"],
    [OIDC('absent'), {}, "'absent' cannot be read: check its path and permissions"],
    [OIDC('.'), {}, "'.' cannot be read: check its path and permissions"],
    [OIDC('secret'), { secret: '\n' }, "'secret' is empty: write the secret into its first line"],
    [`${SMTP}smtp-password-file = "absent"`, {}, "'absent' cannot be read: check its path and permissions"],
    [SMTP, {}, '--smtp-password-file and the user in --smtp-url need each other: give both'],
    ['payments = "absent"', {}, "'absent' cannot be read: check its path and permissions"],
    ['payments = "payments.json"', { 'payments.json': '{}' }, "see 'bookreel manual payments'"],
    ['payments = "payments.json"', { 'payments.json': JSON.stringify(PAYMENTS) }, "'gas-key' cannot be read"],
    [
      'payments = "payments.json"',
      { 'payments.json': JSON.stringify(PAYMENTS), 'gas-key': 'hunter2' },
      'the gas key of Polygon is malformed',
    ],
  ] as const)('%j', async (toml, files, sentence) => {
    using settings = place(toml, files);
    const before = readdirSync(settings.cwd);
    const checked = await settings.check();
    expect({ code: checked.code, stdout: checked.stdout }).toEqual({ code: 2, stdout: '' });
    expect(checked.stderr).toContain(sentence);
    expect(checked.stderr).toMatch(/^bookreel: [^\n]+[^.\n]\n$/);
    expect(checked.stderr).not.toContain('hunter2');
    // It creates nothing.
    expect(readdirSync(settings.cwd)).toEqual(before);
    const served = await settings.serve();
    expect(served.code).toBeOneOf([1, 2]);
    expect(served.stderr).toBe(checked.stderr);
  });

  test('for a directory that others may write to', async () => {
    using settings = place('');
    mkdirSync(join(settings.cwd, 'data'));
    chmodSync(join(settings.cwd, 'data'), 0o777);
    const checked = await settings.check();
    expect(checked).toMatchObject({
      code: 2,
      stderr: "bookreel: other users may write to 'data': run 'chmod 700 data' first\n",
    });
    expect((await settings.serve()).stderr).toBe(checked.stderr);
  });
});

test('config check refuses what serve would refuse at its start, in the same sentence, but lists everything.', async () => {
  using settings = place('new-account-tier = "gold"\nsign-up = "open"\nkey-file = "absent"\n');
  const { code, stderr } = await settings.check();
  expect(code).toBe(2);
  expect(stderr.trim().split('\n')).toHaveLength(3);
  const options = { cwd: settings.cwd, env: { BOOKREEL_CONFIG: 'bookreel.toml' } };
  const listed = await runCommand(['config', 'check', '--json'], options);
  expect(listed).toMatchObject({ code: 2, stderr: '' });
  const { ok, problems } = JSON.parse(listed.stdout) as { ok: boolean; problems: string[] };
  expect({ ok, lines: problems.map((problem) => `bookreel: ${problem}`) }).toEqual({
    ok: false,
    lines: stderr.trim().split('\n'),
  });
});

test('a server starts with every setting from a file that config check accepts, and uses it', async () => {
  using settings = place(
    `${OIDC('secret')}access-log = true\nallowed-hosts = ["127.0.0.1"]\ntrusted-proxies = ["loopback"]\n`,
    {
      secret: 'hunter2\n',
    },
  );
  const config = join(settings.cwd, 'bookreel.toml');
  writeFileSync(join(settings.cwd, 'secret'), 'hunter2');
  const checked = await settings.check();
  expect(checked).toMatchObject({ code: 0, stderr: '' });
  expect(checked.stdout).toMatch(/^\d+ settings \(.*6 of the file.*\): no problem\n$/);
  const data = join(settings.cwd, 'data');
  writeFileSync(config, (await Bun.file(config).text()).replace(' secret"', ` ${join(settings.cwd, 'secret')}"`));
  await using server = await startServer(data, ['--config', config]);
  const headers = { 'x-forwarded-for': '192.0.2.7' };
  expect((await fetch(`${server.origin}/healthz`, { headers })).status).toBe(200);
  expect((await fetch(`${server.origin}/healthz`, { headers: { host: 'localhost' } })).status).not.toBe(200);
  expect((await fetch(`${server.origin}/sign-in`)).status).toBe(200);
  expect(await server.stop()).toBe(0);
  const log = await server.log;
  expect(log).toContain('"address":"192.0.2.7"');
  expect(log).not.toContain('hunter2');
});

test('the key of the commands that steer a replay is the first line of its file', async () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'key');
  const list = async () => await runCommand(['replay', 'list', '--key-file', path, '--url', 'http://127.0.0.1:1']);
  expect(await list()).toMatchObject({
    code: 2,
    stderr: `bookreel: '${path}' cannot be read: check its path and permissions\n`,
  });
  writeFileSync(path, '\n', { mode: 0o600 });
  expect((await list()).stderr).toBe(`bookreel: '${path}' is empty: write the secret into its first line\n`);
  writeFileSync(path, 'br_live_x\n');
  expect((await list()).stderr).toStartWith('bookreel: no answer from http://127.0.0.1:1');
});
