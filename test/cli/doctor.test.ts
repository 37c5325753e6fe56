import { describe, expect, test } from 'bun:test';
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { walFindings } from '../../src/cli/checkups.ts';
import { run } from '../../src/cli/program.ts';
import { openArchive } from '../../src/store/archive.ts';
import { writeRecorderStatus } from '../../src/store/recorder-file.ts';
import { importRecords, NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { createCertificate, LACKS_OPENSSL } from '../support/certificates.ts';
import { recorderStatus } from '../support/recorder-status.ts';
import { sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { sealAll, sealedMarkets } from '../support/sealed.ts';

const CHECKS = [
  'settings',
  'clock',
  'disk',
  'permissions',
  'databases',
  'sealed markets',
  'backup',
  'recorder',
  'node',
  'publication',
  'secrets',
  'windows',
  'proxy',
  'demo',
  'payments',
];
const PUBLIC = ['--public-url', 'https://data.example.com', '--trusted-proxies', 'loopback'];
const IS_ROOT = process.getuid?.() === 0;

async function command(...words: readonly string[]) {
  const terminal = captured();
  const code = await run([...words], terminal);
  return { code, stdout: terminal.stdout(), stderr: terminal.stderr() };
}

/** A data directory with an account and a key, in a directory of its own. */
async function installation() {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  mkdirSync(data, { mode: 0o700 });
  const before = process.umask(0o077);
  try {
    expect((await command('key', 'create', '--tier', 'pro', '--data', data)).code).toBe(0);
  } finally {
    process.umask(before);
  }
  expect((await command('backup', join(directory.path, 'kept'), '--data', data)).code).toBe(0);
  return {
    directory: directory.path,
    data,
    /** The findings by their checks; only the checks with findings. */
    findings: async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await command('doctor', '--json', '--data', data, ...args);
      expect(stderr).toBe('');
      const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: { check: string; findings: string[] }[] };
      expect(checks.map(({ check }) => check)).toEqual(CHECKS);
      const found = checks.filter(({ findings }) => findings.length > 0);
      expect({ ok, code }).toEqual(found.length === 0 ? { ok: true, code: 0 } : { ok: false, code: 3 });
      return Object.fromEntries(found.map(({ check, findings }) => [check, findings]));
    },
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

/** Runs the command of the program that a finding names. */
async function follow(finding: string, data: string): Promise<void> {
  const words = /run 'bookreel ([^']+)'/.exec(finding)![1]!.split(' ');
  expect((await command(...words, '--data', data)).code).toBe(0);
}

test('a sound installation has no finding, in text and as JSON', async () => {
  using place = await installation();
  expect(await place.findings()).toEqual({});
  const { code, stdout } = await command('doctor', '--data', place.data);
  expect(code).toBe(0);
  expect(stdout).toBe(`${CHECKS.map((check) => `${check}: ok\n`).join('')}nothing was found\n`);
});

test('findings are lines of text, and their number is the last one', async () => {
  using place = await installation();
  chmodSync(join(place.data, 'key-secret'), 0o644);
  const { code, stdout } = await command('doctor', '--data', place.data, '--host', '0.0.0.0');
  expect(code).toBe(3);
  const path = join(place.data, 'key-secret');
  expect(stdout).toContain(`permissions: other users may read or write '${path}': run 'chmod 600 ${path}'\n`);
  expect(stdout).toContain('\nsecrets: ok\n');
  expect(stdout).toEndWith('\n2 findings\n');
});

describe('the settings', () => {
  test('that are refused, or do not fit, are findings', async () => {
    using place = await installation();
    const file = join(place.directory, 'bookreel.toml');
    writeFileSync(file, 'prot = 1\nport = "8080"\n');
    expect((await place.findings('--config', file)).settings).toEqual([
      `in '${file}' there is no setting 'prot': did you mean port?`,
      `in '${file}' port = "8080" is invalid: it must be a number, without quotes, like port = 8080`,
    ]);
    expect(await place.findings('--port', '80a')).toEqual({
      settings: ["--port '80a' is invalid: it must be an integer from 0 to 65535"],
    });
    expect((await place.findings('--sign-up', 'open')).settings).toEqual([
      '--sign-up needs --public-url, which turns accounts on',
    ]);
    expect((await place.findings('--new-account-tier', 'gold')).settings).toEqual([
      "there is no tier 'gold': choose one of free, starter, pro, enterprise",
    ]);
    expect((await place.findings('--payments', join(place.directory, 'none'))).settings).toHaveLength(1);
  });

  test('name a data directory that does not exist', async () => {
    using place = await installation();
    const elsewhere = join(place.directory, 'elsewhere');
    expect(await place.findings('--data', elsewhere)).toEqual({
      disk: [
        `there is no data directory '${elsewhere}': name it with --data, or create it with 'bookreel serve --data ${elsewhere}'`,
      ],
    });
    expect(readdirSync(place.directory).sort()).toEqual(['data', 'kept']);
  });
});

test('a clock before the last entry of the audit is a finding', async () => {
  using place = await installation();
  const terminal = captured(() => Date.now() - 600_000);
  expect(await run(['doctor', '--data', place.data], terminal)).toBe(3);
  expect(terminal.stdout()).toMatch(
    /^clock: the clock says .+, and the audit has an entry of .+: set the clock, .+\n/m,
  );
});

test('a disk below the floor is a finding', async () => {
  using place = await installation();
  const { disk } = await place.findings('--disk-floor', '9999TB');
  expect(disk).toHaveLength(1);
  expect(disk![0]).toMatch(/ MB left, less than the 9999TB of --disk-floor: free some space, 'du -x -d 1 .+' shows/);
});

/** Adds a market that ended `days` ago. */
/** Stores a market of the day that is this many days ago. Its window ends on that day, whatever the time is now. */
async function record(data: string, days: number): Promise<void> {
  const startMs = (Math.floor(Date.now() / 86_400_000) - days) * 86_400_000;
  const [startTime, endTime] = [startMs, startMs + 60_000].map((ms) => new Date(ms).toISOString());
  const conditionId = `0x${Math.round(days)}`;
  const archive = openArchive(data, NOW_MS, { create: true });
  const market = sampleMarket({ conditionId, slug: `m-${conditionId}`, startTime, endTime });
  await importRecords(archive, [market, sampleSnapshot({ conditionId, timestamp: startTime })]);
  archive.database.close();
}

function withArchive<T>(data: string, work: (archive: ReturnType<typeof openArchive>) => T): T {
  const archive = openArchive(data, NOW_MS, { create: false });
  try {
    return work(archive);
  } finally {
    archive.database.close();
  }
}

describe('sealed markets', () => {
  test('are findings where their files are missing or cut, and where others are left open', async () => {
    using place = await installation();
    for (const days of [11, 12, 5]) await record(place.data, days);
    // An archive that never sealed, with few markets.
    expect(await place.findings()).toEqual({});
    withArchive(place.data, sealAll);
    await record(place.data, 13);
    await record(place.data, 6);
    expect((await place.findings())['sealed markets']).toEqual([
      expect.stringMatching(
        /^not sealed 10 days after their end: 1 market, the first since \S+; .+: run 'systemctl enable --now bookreel-seal\.timer', or 'bookreel seal'/,
      ),
    ]);
    expect((await command('seal', '--data', place.data)).code).toBe(0);
    expect(await place.findings()).toEqual({});
    const [first, second] = withArchive(place.data, sealedMarkets).map(({ path }) => join(place.data, 'books', path));
    truncateSync(second!, 1);
    rmSync(first!);
    expect((await place.findings())['sealed markets']).toEqual([
      `missing or of another size: 2 files of 4 sealed markets, the first is '${first}': run 'bookreel verify', and restore a backup`,
    ]);
  });

  test('that will fill the disk within two weeks are a finding, unless the recorder deletes as much', async () => {
    using place = await installation();
    for (const days of [5, 8]) await record(place.data, days);
    withArchive(place.data, (archive) => {
      sealAll(archive);
      archive.database.write(() => archive.database.query('UPDATE sealed_markets SET bytes = 1e15').run());
    });
    const { disk } = await place.findings();
    expect(disk).toEqual([
      expect.stringMatching(
        /^the recordings take 285714285\.7 MB a day, and the disk is full in [\d.]+ \w+: free some space, or keep less/,
      ),
    ]);
    const keep = (days: number) =>
      writeRecorderStatus(place.data, recorderStatus(Date.now(), { keepMs: days * 86_400_000 }));
    keep(9);
    expect((await place.findings()).disk).toEqual(disk!);
    keep(8);
    expect((await place.findings()).disk).toBeUndefined();
  });
});

describe('permissions', () => {
  test('that let others write to the directory are a finding, and the command mends them', async () => {
    using place = await installation();
    chmodSync(place.data, 0o777);
    const { permissions } = await place.findings();
    expect(permissions).toEqual([`other users may write to '${place.data}': run 'chmod 700 ${place.data}' first`]);
    expect(Bun.spawnSync(/run '([^']+)'/.exec(permissions![0]!)![1]!.split(' ')).exitCode).toBe(0);
    expect(await place.findings()).toEqual({});
  });

  test.each(['accounts.db', 'key-secret'])(
    'that let others read %s are a finding, and the command mends them',
    async (name) => {
      using place = await installation();
      chmodSync(join(place.data, name), 0o640);
      const { permissions } = await place.findings();
      expect(permissions).toHaveLength(1);
      expect(permissions![0]).toContain(`'${join(place.data, name)}'`);
      expect(Bun.spawnSync(/run '([^']+)'/.exec(permissions![0]!)![1]!.split(' ')).exitCode).toBe(0);
      expect(await place.findings()).toEqual({});
    },
  );

  test.skipIf(!IS_ROOT)(
    'of files that another user left, and of a directory of another user (needs root)',
    async () => {
      using place = await installation();
      const path = join(place.data, 'bookreel.db-wal');
      writeFileSync(path, '', { mode: 0o600 });
      chownSync(path, 1234, 1234);
      expect((await place.findings()).permissions).toEqual([
        `'${path}' belongs to the user 1234, and the archive to 0: run 'chown 0 ${path}'`,
      ]);
      rmSync(path);
      // A service of another user would lose what is given to root.
      chownSync(join(place.data, 'accounts.db'), 1234, 1234);
      const run = ['', 'key-secret', 'last-backup.json'].map((name) => join(place.data, name).replace(/\/$/, ''));
      expect((await place.findings()).permissions).toEqual(
        run.map((of) => `'${of}' belongs to the user 0, and the archive to 1234: run 'chown 1234 ${of}'`),
      );
      chownSync(place.data, 1234, 1234);
      const found = await place.findings();
      expect(found).toEqual({
        permissions: [expect.stringContaining('belongs to the user 1234: run this as that user')],
      });
    },
  );
});

describe('secrets', () => {
  test.skipIf(LACKS_OPENSSL !== undefined)('has a certificate that does not fit its key (needs openssl)', async () => {
    using place = await installation();
    const pair = await createCertificate(place.directory, 'pair');
    const other = await createCertificate(place.directory, 'other');
    const findings = (key: string) => place.findings('--tls-cert', pair.certPath, '--tls-key', key);
    expect(await findings(pair.keyPath)).toEqual({});
    expect((await findings(other.keyPath)).secrets).toEqual([expect.stringContaining('is not the key of the first')]);
    chmodSync(pair.keyPath, 0o644);
    expect((await findings(pair.keyPath)).secrets).toEqual([
      `other users may read or write '${pair.keyPath}': run 'chmod 600 ${pair.keyPath}'`,
    ]);
    const { code, stderr } = await command('config', 'check', '--tls-cert', pair.certPath, '--data', place.data);
    expect([code, stderr]).toEqual([2, 'bookreel: --tls-cert and --tls-key need each other: give both\n']);
  });

  test.skipIf(LACKS_OPENSSL !== undefined)(
    'doctor and config check find a certificate that ends soon or is not for the host of --public-url. (needs openssl)',
    async () => {
      using place = await installation();
      const checked = async (days: string, ...args: string[]) => {
        const { certPath, keyPath } = await createCertificate(place.directory, 'served', ['-days', days]);
        const settings = ['--tls-cert', certPath, '--tls-key', keyPath, ...args];
        const { secrets = [] } = await place.findings(...settings);
        const { code, stderr } = await command('config', 'check', '--data', place.data, ...settings);
        expect({ code, stderr }).toEqual({
          code: 0,
          stderr: secrets.map((finding) => `warning: ${finding}\n`).join(''),
        });
        return secrets;
      };
      const own = ['--public-url', 'https://localhost'];
      expect(await checked('90', ...own)).toEqual([]);
      expect(await checked('10')).toEqual([]);
      expect(await checked('90', '--public-url', 'https://data.example.com')).toEqual([
        'the certificate of --tls-cert is not for data.example.com, the host of --public-url, and clients refuse it: get one with that name, then send SIGHUP',
      ]);
      expect(await checked('90', '--public-url', 'https://127.0.0.1')).toEqual([]);
      expect(await checked('90', '--public-url', 'https://127.0.0.2')).toHaveLength(1);
      // A proxy has a certificate of its own.
      expect(await checked('90', ...PUBLIC)).toEqual([]);
    },
  );

  test('of keys that are missing or damaged are findings', async () => {
    using place = await installation();
    const path = join(place.data, 'key-secret');
    writeFileSync(path, 'short');
    expect((await place.findings()).secrets).toEqual([expect.stringContaining(`'${path}' is damaged`)]);
  });

  test('doctor finds secrets that cannot be read, are empty, or can be read by others, and leaves files of root alone.', async () => {
    using place = await installation();
    const path = join(place.directory, 'secret');
    const args = [...PUBLIC, '--oidc-providers', `corp https://login.example.com id ${path}`];
    expect((await place.findings(...args)).secrets).toEqual([
      `'${path}' cannot be read: check its path and permissions`,
    ]);
    writeFileSync(path, '\n', { mode: 0o600 });
    expect((await place.findings(...args)).secrets).toEqual([
      `'${path}' is empty: write the secret into its first line`,
    ]);
    writeFileSync(path, 'hunter2');
    expect(await place.findings(...args)).toEqual({});
    chmodSync(path, 0o644);
    const { secrets } = await place.findings(...args);
    expect(secrets).toEqual([`other users may read or write '${path}': run 'chmod 600 ${path}'`]);
  });
});

test('a write-ahead log that has grown, and a file system of the network, are findings', async () => {
  using place = await installation();
  const path = join(place.data, 'bookreel.db-wal');
  writeFileSync(path, '', { mode: 0o600 });
  truncateSync(path, 64_000_000);
  expect(await place.findings()).toEqual({});
  truncateSync(path, 64_000_001);
  expect(await place.findings()).toEqual({
    databases: [
      "the write-ahead log of bookreel.db has 64 MB, because a process has read for a long time or was killed: restart the server, with 'systemctl restart bookreel'",
    ],
  });
  truncateSync(path, 0);
  // ext4, tmpfs, NFS, SMB 2.
  const found = [0xef53, 0x01021994, 0x6969, 0xfe534d42].map((type) => walFindings(place.data, type));
  expect(found.map(({ length }) => length)).toEqual([0, 0, 1, 1]);
  expect(found[2]![0]).toContain('is on a network file system');
});

test('the proxy has findings in these circumstances', async () => {
  using place = await installation();
  const circumstances: readonly (readonly [args: readonly string[], findings: readonly string[]])[] = [
    [[], []],
    [['--host', '::1'], []],
    [PUBLIC, []],
    [['--public-url', 'http://127.0.0.1:8080'], []],
    [['--host', '10.0.0.5', '--trusted-proxies', '10.0.0.4'], []],
    [['--host', '0.0.0.0'], ['other machines may connect to 0.0.0.0 without encryption']],
    [['--public-url', 'https://data.example.com'], ['no proxy is trusted']],
    [['--host', '0.0.0.0', '--trusted-proxies', 'loopback'], ['clients on other machines can bypass the proxy']],
    [['--trusted-proxies', '0.0.0.0/0'], ['--trusted-proxies covers most addresses']],
    [['--trusted-proxies', 'loopback,::/0'], ['--trusted-proxies covers most addresses']],
    [['--trusted-proxies', '10.0.0.0/8,2000::/3'], ['--trusted-proxies covers most addresses']],
    [['--trusted-proxies', '10.0.0.0/8,fc00::/7'], []],
  ];
  for (const [args, expected] of circumstances) {
    const { proxy = [], ...others } = await place.findings(...args);
    expect({ args, others }).toEqual({ args, others: {} });
    const starts = proxy.map((finding, index) => finding.slice(0, expected[index]?.length));
    expect({ args, starts }).toEqual({ args, starts: [...expected] });
  }
});

test('doctor finds keys and the admin of the demo only if the service is public, and names the commands that mend it.', async () => {
  using place = await installation();
  const { data } = place;
  expect((await command('account', 'create', 'demo@localhost', '--admin', '--data', data)).code).toBe(0);
  const key = ['key', 'create', '--account', 'demo@localhost', '--name', 'demo', '--tier', 'pro', '--data', data];
  expect((await command(...key)).code).toBe(0);
  expect((await command('account', 'create', 'desk@example.com', '--admin', '--data', data)).code).toBe(0);
  expect(await place.findings()).toEqual({});
  const { demo } = await place.findings(...PUBLIC);
  expect(demo).toEqual([
    expect.stringMatching(
      /^key_\w+, a key of 'serve --demo', is valid in a public service: run 'bookreel key revoke key_\w+'$/,
    ),
    "demo@localhost, of 'serve --demo', is an admin of a public service: run 'bookreel account disable demo@localhost'",
  ]);
  for (const args of [
    ['--host', '10.0.0.5', '--trusted-proxies', '10.0.0.4'],
    // As the manual puts a proxy before a server on the same machine.
    ['--trusted-proxies', 'loopback', '--allowed-hosts', 'api.example.com,127.0.0.1'],
  ]) {
    expect((await place.findings(...args)).demo).toEqual(demo!);
  }
  await follow(demo![0]!, data);
  expect((await place.findings(...PUBLIC)).demo).toEqual([demo![1]!]);
  await follow(demo![1]!, data);
  expect(await place.findings(...PUBLIC)).toEqual({});
});

test('nothing is changed, also by a check of a damaged or foreign database', async () => {
  using place = await installation();
  const state = () =>
    readdirSync(place.data).map((name) => {
      const { ino, mode, size, mtimeMs, ctimeMs } = statSync(join(place.data, name));
      return { name, ino, mode, size, mtimeMs, ctimeMs };
    });
  const before = state();
  await place.findings(...PUBLIC);
  expect(state()).toEqual(before);
  writeFileSync(join(place.data, 'accounts.db'), 'not a database');
  const damaged = state();
  const found = await place.findings();
  expect(found).toEqual({ databases: [expect.stringContaining('is not a SQLite database')] });
  expect(state()).toEqual(damaged);
});

test.each([
  ['0.0.0.0', true],
  ['::', true],
  ['192.0.2.1', true],
  ['2001:db8::1', true],
  ['172.32.0.1', true],
  ['127.0.0.1', false],
  ['localhost', false],
  ['10.1.2.3', false],
  ['172.31.0.1', false],
  ['192.168.0.1', false],
  ['fd00::1', false],
])('Metrics on %s are public: %p.', async (host, isPublic) => {
  using place = await installation();
  const args = ['--metrics-host', host, '--metrics-port', '9464'];
  const { proxy } = await place.findings(...args);
  const finding = `everybody who may connect to ${host}:9464 reads the metrics: name a private address of this machine with --metrics-host`;
  expect(proxy).toEqual(isPublic ? [finding] : undefined);
  const { code, stderr } = await command('config', 'check', '--data', place.data, ...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: isPublic ? `warning: ${finding}\n` : '' });
  // Without a port there are no metrics.
  expect(await place.findings('--metrics-host', host)).toEqual({});
});

test('doctor and config check find a lost accounts.db, and one port for two listeners.', async () => {
  using place = await installation();
  expect((await command('account', 'sessions', 'owner@localhost', '--data', place.data)).code).toBe(0);
  rmSync(join(place.data, 'accounts.db'));
  const lost = expect.stringMatching(/accounts\.db' is missing, and activity\.db has the usage of its keys: restore/);
  expect((await place.findings()).settings).toEqual([lost]);
  const both = ['--port', '9464', '--metrics-port', '9464'];
  const equal = '--port and --metrics-port are both 9464: choose another one for metrics';
  expect((await place.findings(...both)).settings).toEqual([equal, lost]);
  for (const words of [['config', 'check'], ['serve']]) {
    const { code, stderr } = await command(...words, '--data', place.data, ...both);
    expect(code).toBe(2);
    expect(stderr.split('\n')[0]).toBe(`bookreel: ${equal}`);
  }
  expect((await place.findings(...both, '--metrics-host', '127.0.0.2')).settings).toEqual([lost]);
});
