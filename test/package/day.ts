import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { LIGHT_MARKET, lightNdjson } from '../support/light-recording.ts';
import { settingsOf } from './unit.ts';

/** The steps of an operator, one after the other on one machine. Started by operator.ts, which gives it a machine of its own. */
const [shared = '', own = '', proxies = ''] = process.argv.slice(2);

const CONFIG = '/etc/bookreel/bookreel.toml';
const DATA = '/var/lib/bookreel';
const BACKUPS = '/var/backups/bookreel';
const HOST = 'api.example.com';
const PLAIN = 'http://127.0.0.1:8080';
const PAGE = `/v1/btc/markets/${LIGHT_MARKET.slug}/snapshots?limit=100`;
const WAIT_MS_MAX = 20_000;
const LOADERS = 4;
const RENEWALS = 5;
const IMPORTED = 40_000;

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function tried(...command: string[]): Outcome {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: '/' });
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
}

function ran(...command: string[]): string {
  const { code, out, err } = tried(...command);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${err}${out}${logOfServices()}`);
  return out;
}

/** Starts, restarts or upgrades are not refused for being quick: an operator's day takes a minute here. */
function forgetStarts(): void {
  // A service that is not loaded has none.
  tried('systemctl', 'reset-failed', 'bookreel.service');
}

function logOfServices(): string {
  const lines = tried('journalctl', '-n', '200', '--no-pager', '-o', 'cat').out.split('\n');
  // Without the lines of requests.
  return `\nlog of the services: ${lines
    .filter((line) => !line.includes('"method":'))
    .slice(-25)
    .join('\n')}`;
}

/** A command of the program as the user of the service, with the settings of the service. */
function asService(...args: string[]): string[] {
  return ['runuser', '-u', 'bookreel', '--', 'bookreel', ...args, '--config', CONFIG];
}

function expect(what: string, isSo: boolean): void {
  if (!isSo) throw new Error(`${what}: this is not so${logOfServices()}`);
}

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const startMs = performance.now(); !(await isSo()); await Bun.sleep(50)) {
    if (performance.now() - startMs > WAIT_MS_MAX)
      throw new Error(`${what}: not within ${WAIT_MS_MAX / 1000} s${logOfServices()}`);
  }
}

interface AskOptions {
  readonly key?: string;
  readonly certificate?: string;
  readonly isNewConnection?: boolean;
}

async function ask(url: string, { key, certificate, isNewConnection = false }: AskOptions = {}): Promise<Response> {
  return await fetch(url, {
    keepalive: !isNewConnection,
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    ...(certificate === undefined ? {} : { tls: { ca: certificate } }),
  });
}

async function isReady(origin: string, certificate?: string): Promise<boolean> {
  try {
    return (await ask(`${origin}/readyz`, certificate === undefined ? {} : { certificate })).status === 200;
  } catch {
    // It does not listen yet.
    return false;
  }
}

/** The books of a page, which no restart, upgrade or restore may change. */
async function pageAt(origin: string, key: string, certificate?: string): Promise<string> {
  const answer = await ask(`${origin}${PAGE}`, { key, ...(certificate === undefined ? {} : { certificate }) });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${PAGE} answers ${answer.status}: ${text}`);
  return JSON.stringify((JSON.parse(text) as { data: unknown }).data);
}

/** Asks without a pause, on open and on new connections, until it is disposed of; then `failures` are complete. */
function load(url: string, options: () => AskOptions) {
  const failures: string[] = [];
  let answers = 0;
  let isOver = false;
  const loaders = Array.from({ length: LOADERS }, async (_, index) => {
    while (!isOver) {
      try {
        const answer = await ask(url, { ...options(), isNewConnection: index % 2 === 1 });
        await answer.arrayBuffer();
        answers += 1;
        if (answer.status !== 200) failures.push(String(answer.status));
      } catch (error) {
        failures.push(String(error));
      }
    }
  });
  return {
    failures,
    answers: () => answers,
    end: async () => {
      isOver = true;
      await Promise.all(loaders);
    },
  };
}

function makeCertificate(directory: string): string {
  mkdirSync(directory, { recursive: true });
  const [certificate, key] = [join(directory, 'fullchain.pem'), join(directory, 'privkey.pem')];
  const names = `subjectAltName=DNS:${HOST},DNS:replay.example.com,IP:127.0.0.1`;
  const options = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '30',
    '-subj',
    `/CN=${HOST}`,
  ];
  ran('openssl', 'req', '-x509', ...options, '-addext', names, '-keyout', key, '-out', certificate);
  return readFileSync(certificate, 'utf8');
}

/** The certificate that a new connection gets, as a fingerprint. */
async function shownCertificate(port: number): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, servername: HOST, rejectUnauthorized: false });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve);
      socket.once('error', reject);
    });
    return socket.getPeerCertificate().fingerprint256;
  } finally {
    socket.destroy();
  }
}

function fingerprintOf(path: string): string {
  return ran('openssl', 'x509', '-in', path, '-noout', '-fingerprint', '-sha256').trim().split('=')[1]!;
}

/** The only block of the manual's page 'public' in a language. */
function blockOf(language: string): string {
  const page = ran('bookreel', 'manual', 'public');
  return new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(page)![1]!;
}

function userOf(pid: string): string {
  return ran('ps', '-o', 'user=', '-p', pid).trim();
}

const state = { key: '', page: '', certificate: '' };

async function install(): Promise<void> {
  // Images of containers have it, which starts no service.
  rmSync('/usr/sbin/policy-rc.d', { force: true });
  ran('dpkg', '-i', join(shared, own));
  await until('the service is ready', () => isReady(PLAIN));
  expect('the service is enabled', ran('systemctl', 'is-enabled', 'bookreel').trim() === 'enabled');
  const pid = ran('systemctl', 'show', '-P', 'MainPID', 'bookreel').trim();
  expect('its user is bookreel', userOf(pid) === 'bookreel');
  expect('its data are for its user only', (statSync(DATA).mode & 0o777) === 0o700);
  ran('systemd-analyze', 'verify', 'bookreel.service', 'bookreel-recorder.service');
  expect('nothing is recorded', tried('systemctl', 'is-enabled', 'bookreel-recorder').code !== 0);
  expect('man finds the page', ran('man', '-w', 'bookreel').includes('/man1/bookreel.1'));
  for (const path of [
    'bash-completion/completions/bookreel',
    'zsh/vendor-completions/_bookreel',
    'fish/vendor_completions.d/bookreel.fish',
  ]) {
    expect(`there is ${path}`, existsSync(join('/usr/share', path)));
  }
}

function limit(): void {
  const unit = settingsOf(readFileSync('/usr/lib/systemd/system/bookreel.service', 'utf8'));
  const pid = ran('systemctl', 'show', '-P', 'MainPID', 'bookreel').trim();
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean).join(' ');
  expect('it runs as the unit says', command === unit.ExecStart?.[0]);
  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
  const filesOf = (text: string) => Number(/^Max open files +\d+ +(\d+) /m.exec(text)?.[1]);
  // systemd gives no more than it has.
  const files = Math.min(65_536, filesOf(readFileSync('/proc/1/limits', 'utf8')));
  expect(`it may open ${files} files`, filesOf(limits) === files);
  expect('it may use all addresses', /^Max address space +unlimited /m.test(limits));
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  expect('system calls are filtered', /^Seccomp:\s+2$/m.test(status));
  expect('it gets no new privileges', /^NoNewPrivs:\s+1$/m.test(status));
  expect('it may take ports below 1024 and nothing else', /^CapEff:\s+0{13}400$/m.test(status));
  expect('its umask is 0077', /^Umask:\s+0077$/m.test(status));
  const group = /^(?:\d+:memory|0:):(.+)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))![1]!;
  const memoryFiles = [`/sys/fs/cgroup/memory${group}/memory.limit_in_bytes`, `/sys/fs/cgroup${group}/memory.max`];
  const memory = memoryFiles.filter(existsSync).map((path) => Number(readFileSync(path, 'utf8')));
  expect('it gets 1 GiB of memory', memory.includes(1024 ** 3));
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
  expect(
    'it gets the directory of secrets',
    environment.includes('CREDENTIALS_DIRECTORY=/run/credentials/bookreel.service'),
  );
}

/** Adds lines to the settings file, and starts the service with them. */
async function configure(lines: readonly string[], origin = PLAIN, certificate?: string): Promise<void> {
  writeFileSync(CONFIG, `${readFileSync(CONFIG, 'utf8')}${lines.join('\n')}\n`);
  ran(...asService('config', 'check'));
  forgetStarts();
  ran('systemctl', 'restart', 'bookreel');
  await until('the service is ready', () => isReady(origin, certificate));
}

async function configureByFile(): Promise<void> {
  const packaged = readFileSync(CONFIG, 'utf8');
  writeFileSync(CONFIG, `${packaged}trusted-proxys = ["loopback"]\n`);
  const wrong = tried(...asService('config', 'check'));
  expect(
    'a wrong key is refused with the right one',
    wrong.code === 2 && wrong.err.includes('did you mean trusted-proxies?'),
  );
  writeFileSync(CONFIG, packaged);
  await configure([
    'trusted-proxies = ["loopback"]',
    `allowed-hosts = ["${HOST}", "127.0.0.1"]`,
    'idle-seconds = 240',
    'access-log = true',
    'metrics-port = 9464',
  ]);
  ran(...asService('health'));
  expect('doctor says what it finds', [0, 3].includes(tried(...asService('doctor')).code));
}

function makeKey(): void {
  state.key = ran(...asService('key', 'create', '--tier', 'enterprise', '--rpm', '1000000')).trim();
  expect('it is a key', state.key.startsWith('br_live_'));
}

async function importWhileServing(): Promise<void> {
  writeFileSync('/srv/first.ndjson', lightNdjson(1000));
  writeFileSync('/srv/more.ndjson', lightNdjson(IMPORTED, 1000));
  ran(...asService('import', '/srv/first.ndjson'));
  state.page = await pageAt(PLAIN, state.key);
  const loading = load(`${PLAIN}${PAGE}`, () => ({ key: state.key }));
  await until('requests are answered', () => loading.answers() > 0);
  const before = loading.answers();
  const importing = Bun.spawn(asService('import', '/srv/more.ndjson', '--json'), { cwd: '/', stdout: 'pipe' });
  const report = await new Response(importing.stdout).text();
  expect('the import succeeds', (await importing.exited) === 0);
  expect('requests were answered meanwhile', loading.answers() > before);
  await loading.end();
  expect(`all are stored: ${report}`, report.includes(String(IMPORTED)));
  expect(`no request failed: ${loading.failures.slice(0, 3)}`, loading.failures.length === 0);
  expect('the page is the same', (await pageAt(PLAIN, state.key)) === state.page);
}

/** The manual's configuration as it is written, with the service of the proxy's own package. */
async function serveBehind(name: string, path: string, configuration: string): Promise<void> {
  if (!existsSync('/etc/ssl/bookreel')) {
    state.certificate = makeCertificate('/etc/ssl/bookreel');
    ran('chmod', '644', '/etc/ssl/bookreel/privkey.pem');
    writeFileSync('/etc/hosts', `${readFileSync('/etc/hosts', 'utf8')}\n127.0.0.1 ${HOST}\n`);
  }
  writeFileSync(path, configuration);
  ran('systemctl', 'start', name);
  try {
    const { certificate, key } = state;
    const origin = `https://${HOST}`;
    await until(`${name} answers`, () => isReady(origin, certificate));
    expect('the page is the same', (await pageAt(origin, key, certificate)) === state.page);
    expect('without a key it is refused', (await ask(`${origin}${PAGE}`, { certificate })).status === 401);
  } finally {
    // The next one needs the port.
    ran('systemctl', 'stop', name);
  }
}

async function scrape(): Promise<void> {
  const text = await (await ask('http://127.0.0.1:9464/metrics')).text();
  expect('it has figures of requests', /^bookreel_\w*requests_total\{.*\} [1-9]/m.test(text));
  expect('it has no key', !text.includes(state.key) && !text.includes('br_live_'));
}

async function renewCertificate(): Promise<void> {
  const directory = '/etc/bookreel/tls';
  const certificates = [makeCertificate(directory)];
  const give = () => ran('chgrp', '-R', 'bookreel', directory) + ran('chmod', '-R', 'u=rwX,g=rX,o=', directory);
  give();
  const [certificate, key] = [join(directory, 'fullchain.pem'), join(directory, 'privkey.pem')];
  await configure([`tls-cert = "${certificate}"`, `tls-key = "${key}"`], 'https://127.0.0.1:8080', certificates[0]);
  ran(...asService('health'));
  const all = () => certificates.join('');
  const loading = load(`https://127.0.0.1:8080${PAGE}`, () => ({ key: state.key, certificate: all() }));
  for (let count = 0; count < RENEWALS; count += 1) {
    const next = `${directory}-${count}`;
    certificates.push(makeCertificate(next));
    const before = loading.answers();
    await until('requests are answered', () => loading.answers() > before + 20);
    for (const name of ['fullchain.pem', 'privkey.pem']) cpSync(join(next, name), join(directory, name));
    give();
    ran('systemctl', 'reload', 'bookreel');
    const expected = fingerprintOf(certificate);
    await until('new connections get the new certificate', async () => (await shownCertificate(8080)) === expected);
  }
  await loading.end();
  expect(`no request failed: ${loading.failures.slice(0, 3)}`, loading.failures.length === 0);
  writeFileSync(CONFIG, readFileSync(CONFIG, 'utf8').replace(/^tls-.*\n/gm, ''));
  await configure([]);
}

/** Root acts as the owner of the data: the running service takes the key, and can write all files. */
async function makeKeyAsRoot(): Promise<void> {
  const key = ran('env', 'SUDO_USER=ada', 'bookreel', 'key', 'create', '--tier', 'enterprise').trim();
  expect('the service takes it', (await pageAt(PLAIN, key)) === state.page);
  for (const name of readdirSync(DATA)) {
    expect(`${name} belongs to the service`, statSync(join(DATA, name)).uid === statSync(DATA).uid);
  }
  expect('the audit names the person', ran('bookreel', 'audit', '--limit', '1').includes('ada (command)'));
  const elsewhere = tried('bookreel', 'key', 'create', '--tier', 'pro', '--data', '/srv/elsewhere');
  expect(`another archive is named: ${elsewhere.err}`, elsewhere.err.includes("created in '/srv/elsewhere'"));
  expect('no server uses it', elsewhere.err.includes("no server uses '/srv/elsewhere'"));
}

/** An expired certificate, and one of another host, leave the one that is served; both checks find them. */
async function refuseCertificates(): Promise<void> {
  const directory = '/etc/bookreel/wrong';
  const pem = makeCertificate(directory);
  const give = () => ran('chgrp', '-R', 'bookreel', directory) + ran('chmod', '-R', 'u=rwX,g=rX,o=', directory);
  give();
  const [certificate, key] = [join(directory, 'fullchain.pem'), join(directory, 'privkey.pem')];
  const packaged = readFileSync(CONFIG, 'utf8');
  await configure([`tls-cert = "${certificate}"`, `tls-key = "${key}"`], 'https://127.0.0.1:8080', pem);
  const served = await shownCertificate(8080);
  ran('openssl', 'x509', '-in', certificate, '-signkey', key, '-days', '-1', '-out', certificate);
  give();
  expect('config check warns', tried('bookreel', 'config', 'check').err.includes('expired at'));
  expect('doctor finds it', tried('bookreel', 'doctor').out.includes('expired at'));
  ran('systemctl', 'reload', 'bookreel');
  await until('the log says so', () =>
    logOfServices().includes('the certificate was not replaced, and the earlier one'),
  );
  expect('the earlier one is served', (await shownCertificate(8080)) === served);
  writeFileSync(CONFIG, packaged);
  await configure([]);
}

/** A small disk under the data, filled to the last byte. */
async function startOnFullDisk(): Promise<void> {
  forgetStarts();
  ran('systemctl', 'stop', 'bookreel');
  const kept = '/srv/kept';
  ran('cp', '-a', DATA, kept);
  ran('mount', '-t', 'tmpfs', '-o', 'size=96m,mode=0700', 'tmpfs', DATA);
  try {
    ran('sh', '-c', `cp -a ${kept}/. ${DATA} && chown bookreel:bookreel ${DATA}`);
    ran('systemctl', 'start', 'bookreel');
    await until('the service is ready', () => isReady(PLAIN));
    ran('systemctl', 'stop', 'bookreel');
    expect('the disk is full', tried('dd', 'if=/dev/zero', `of=${DATA}/ballast`, 'bs=4k').code !== 0);
    ran('systemctl', 'start', 'bookreel');
    await until('the service is ready', () => isReady(PLAIN));
    expect('the page is the same', (await pageAt(PLAIN, state.key)) === state.page);
    ran('env', 'SUDO_USER=ada', 'bookreel', 'delete', '--market', LIGHT_MARKET.slug, '--all', '--yes');
    expect('the audit names the person', ran('bookreel', 'audit', '--limit', '1').includes('ada (command)'));
    rmSync(`${DATA}/ballast`);
    await until('the service writes again', () => logOfServices().includes('the disk has space again'));
    await until('the service is ready', () => isReady(PLAIN));
  } finally {
    ran('systemctl', 'stop', 'bookreel');
    ran('umount', DATA);
    rmSync(kept, { recursive: true });
    forgetStarts();
    ran('systemctl', 'start', 'bookreel');
  }
  await until('the service is ready', () => isReady(PLAIN));
  expect('the page is the same', (await pageAt(PLAIN, state.key)) === state.page);
}

async function backUp(): Promise<void> {
  mkdirSync('/srv/backups', { recursive: true });
  chownSync('/srv/backups', Number(ran('id', '-u', 'bookreel')), Number(ran('id', '-g', 'bookreel')));
  ran(...asService('backup', '/srv/backups/before'));
}

/** The timer of the package; its unit is started at once, not at its time. */
function backUpByTimer(): void {
  expect('the timer is not enabled', tried('systemctl', 'is-enabled', 'bookreel-backup.timer').code !== 0);
  ran('systemctl', 'enable', '--now', 'bookreel-backup.timer');
  const next = ran('systemctl', 'list-timers', '--all', '--no-pager', 'bookreel-backup.timer');
  expect(`it starts the backup: ${next}`, next.includes('bookreel-backup.service'));
  ran('systemctl', 'start', 'bookreel-backup.service');
  const [name, ...others] = readdirSync(BACKUPS);
  expect('there is one backup', name !== undefined && others.length === 0);
  expect('it is for its user only', (statSync(join(BACKUPS, name!)).mode & 0o777) === 0o700);
  const exported = ran(...asService('export'));
  const data = '/srv/backups/restored-by-timer';
  const at = (...args: string[]) => ['runuser', '-u', 'bookreel', '--', 'bookreel', ...args, '--data', data];
  ran(...at('restore', join(BACKUPS, name!)));
  expect('the restored archive has the same export', ran(...at('export')) === exported);
}

/** With the manual's configuration of Prometheus, but for its pauses. */
async function noticeFailedBackup(): Promise<void> {
  const configuration = /^```yaml\n(.*?)^```$/ms.exec(ran('bookreel', 'manual', 'operations'))![1]!;
  const quick = configuration
    .replace('15s', '1s\n  evaluation_interval: 1s')
    .replace('/etc/prometheus/bookreel.yml', '/usr/share/bookreel/alerts.yml');
  writeFileSync('/srv/prometheus.yml', quick);
  const address = '127.0.0.1:9490';
  const storage = '--storage.tsdb.path=/srv/prometheus';
  const command = ['prometheus', '--config.file=/srv/prometheus.yml', storage, `--web.listen-address=${address}`];
  const prometheus = Bun.spawn(command, { cwd: '/', stdout: 'ignore', stderr: 'ignore' });
  const isFiring = async () => {
    const query = encodeURIComponent('ALERTS{alertstate="firing"}');
    const answer = await fetch(`http://${address}/api/v1/query?query=${query}`).catch(() => undefined);
    return (await answer?.text())?.includes('"BookreelBackupFailed"') ?? false;
  };
  try {
    const { uid, gid } = statSync(BACKUPS);
    chownSync(BACKUPS, 0, 0);
    expect('the backup fails', tried('systemctl', 'start', 'bookreel-backup.service').code !== 0);
    const journal = () => tried('journalctl', '-p', 'crit', '-o', 'cat', '-t', 'bookreel-backup').out;
    await until('the message is logged', () => journal().includes('the backup failed'));
    await until('Prometheus notices it', isFiring);
    expect('doctor says so', tried(...asService('doctor')).out.includes('backup: the backup of 2'));
    chownSync(BACKUPS, uid, gid);
    ran('systemctl', 'start', 'bookreel-backup.service');
    await until('the alert is over', async () => !(await isFiring()));
  } finally {
    prometheus.kill();
    await prometheus.exited;
  }
}

async function upgrade(): Promise<void> {
  cpSync('/usr/bin/bookreel', '/srv/earlier');
  forgetStarts();
  ran('dpkg', '-i', join(shared, 'next.deb'));
  await until('the new version is ready', () => isReady(PLAIN));
  expect('it is the new version', ran('bookreel', '--version').trim() === 'bookreel 0.99.0');
  expect('the settings are kept', readFileSync(CONFIG, 'utf8').includes('metrics-port = 9464'));
  expect(
    'the earlier database is kept',
    readdirSync(DATA).some((name) => /^bookreel\.db\.schema-\d+$/.test(name)),
  );
  expect(
    'the log says so',
    /"level":"warn","message":"'.*was upgraded from schema \d+ to \d+; the earlier/.test(logOfServices()),
  );
  expect('the page is the same, with the same key', (await pageAt(PLAIN, state.key)) === state.page);
  const earlier = tried('runuser', '-u', 'bookreel', '--', '/srv/earlier', 'verify', '--data', DATA);
  expect(
    `the earlier version refuses the newer database: ${earlier.err}`,
    earlier.code !== 0 && `${earlier.out}${earlier.err}`.includes('use the newer bookreel'),
  );
}

async function restoreElsewhere(): Promise<void> {
  ran(...asService('backup', '/srv/backups/after'));
  for (const name of ['before', 'after']) {
    const data = `/srv/backups/restored-${name}`;
    const at = (...args: string[]) => ['runuser', '-u', 'bookreel', '--', 'bookreel', ...args, '--data', data];
    ran(...at('restore', `/srv/backups/${name}`));
    ran(...at('verify'));
    const server = Bun.spawn(at('serve', '--port', '8090'), { cwd: '/', stdout: 'ignore', stderr: 'ignore' });
    try {
      await until('the restored archive is served', () => isReady('http://127.0.0.1:8090'));
      expect(
        'the page is the same, with the same key',
        (await pageAt('http://127.0.0.1:8090', state.key)) === state.page,
      );
    } finally {
      server.kill('SIGTERM');
      await server.exited;
    }
  }
}

function remove(): void {
  const before = readdirSync(DATA)
    .filter((name) => name.endsWith('.db'))
    .sort();
  ran('dpkg', '-r', 'bookreel');
  expect('the service has ended', tried('systemctl', 'is-active', 'bookreel').code !== 0);
  expect('the program is gone', !existsSync('/usr/bin/bookreel'));
  expect('the settings are kept', existsSync(CONFIG));
  const said = ran('dpkg', '-P', 'bookreel');
  expect('the settings are gone', !existsSync('/etc/bookreel'));
  expect(
    'the data are kept',
    readdirSync(DATA)
      .filter((name) => name.endsWith('.db'))
      .sort()
      .join() === before.join(),
  );
  const [, command] = /To delete them: (.+)$/m.exec(said) ?? [];
  expect(`the command that deletes them is named: ${said}`, command !== undefined);
  ran('sh', '-c', command!);
  expect('nothing is left', !existsSync(DATA) && !existsSync(BACKUPS) && tried('id', 'bookreel').code !== 0);
  for (const unit of ['bookreel.service', 'bookreel-recorder.service', 'bookreel-backup.timer'])
    expect(`no unit is left: ${unit}`, tried('systemctl', 'cat', unit).code !== 0);
}

const has = new Set(proxies.split(','));
const STEPS: readonly (readonly [string, () => void | Promise<void>, string?])[] = [
  ['The service starts when the package is installed, on loopback, and again with each upgrade.', install],
  ["start with the unit's command line and limits", limit],
  ['configure by file', configureByFile],
  ['make a key', makeKey],
  ['import while it serves', importWhileServing],
  ['put nginx with TLS in front', () => serveBehind('nginx', '/etc/nginx/nginx.conf', blockOf('nginx')), 'nginx'],
  [
    'put Caddy with TLS in front',
    () => serveBehind('caddy', '/etc/caddy/Caddyfile', blockOf('caddy').replaceAll('# tls ', 'tls ')),
    'caddy',
  ],
  ['scrape metrics', scrape],
  ['make a key as root', makeKeyAsRoot],
  ['replace the certificate under load', renewCertificate],
  ['refuse wrong certificates', refuseCertificates],
  ['start on a full disk, and delete', startOnFullDisk],
  ['back up', backUp],
  ['back up every day', backUpByTimer],
  ['A backup that fails is noticed by Prometheus, in the journal, and by doctor.', noticeFailedBackup, 'prometheus'],
  ['upgrade with the data', upgrade],
  ['restore elsewhere', restoreElsewhere],
  ['apt purge deletes the settings, keeps the data, and prints the command that deletes them.', remove],
];

const counts = { passed: 0, failed: 0, skipped: 0 };
for (const [name, work, program] of STEPS) {
  const startMs = performance.now();
  const took = () => `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
  if (program !== undefined && !has.has(program)) {
    counts.skipped += 1;
    process.stdout.write(`skipped: ${name} (needs ${program})\n`);
    continue;
  }
  try {
    await work();
    counts.passed += 1;
    process.stdout.write(`passed: ${name} (${took()})\n`);
  } catch (error) {
    counts.failed += 1;
    process.stdout.write(`FAILED: ${name} (${took()}): ${error instanceof Error ? error.message : String(error)}\n`);
  }
}
process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
// Also if a step that failed has left a process or a request.
process.exit(counts.failed === 0 ? 0 : 1);
