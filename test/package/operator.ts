import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * A day of an operator: installs the package of this version on this machine's files, as day.ts describes. They are under an overlay,
 * in namespaces with a systemd of their own, so the machine itself stays as it was. The last line counts the steps.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const NEEDED = [
  'unshare',
  'nsenter',
  'dpkg',
  'dpkg-deb',
  'systemctl',
  'ip',
  'openssl',
  'curl',
  'git',
  'make',
  'runuser',
];
/** With one of these missing, the steps about it are skipped. */
const PROXIES = ['nginx', 'caddy', 'prometheus'];
const BOOT_MS_MAX = 30_000;
const POLL_MS = 50;

interface Booted extends AsyncDisposable {
  /** The prefix of a command that runs there. */
  readonly inside: readonly string[];
}

function lacking(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'root on Linux';
  const missing = NEEDED.filter((program) => Bun.which(program) === null);
  if (missing.length > 0) return missing.join(', ');
  return existsSync('/lib/systemd/systemd') ? undefined : 'systemd';
}

function run(command: readonly string[], options: { readonly cwd?: string } = {}): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd: ROOT, ...options });
  if (exitCode !== 0) throw new Error(`${command.join(' ')} ended with ${exitCode}: ${stderr}${stdout}`);
  return stdout.toString();
}

/** Changes a file by its text, which must occur once. */
function edit(path: string, from: string, to: string): void {
  const text = readFileSync(path, 'utf8');
  if (text.split(from).length !== 2) throw new Error(`${path} must have '${from}' once`);
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
}

/** Builds the package of a next version, 0.99.0, with another schema of the recordings. Returns its path. */
function nextPackage(directory: string): string {
  const tree = join(directory, 'next');
  for (const file of run(['git', 'ls-files', '-z']).split('\0').filter(Boolean))
    cpSync(join(ROOT, file), join(tree, file));
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const table = 'CREATE TABLE later (value INTEGER) STRICT;';
  edit(join(tree, 'package.json'), `"version": "${version}"`, '"version": "0.99.0"');
  edit(join(tree, 'CHANGELOG.md'), `## [${version}]`, '## [0.99.0]');
  const file = join(tree, 'src/store/database-file.ts');
  const [former = '', number = '', migrations = ''] =
    /version: (\d+),\n {2}schema: recordings,\n {2}migrations: (\[.*\]),/.exec(readFileSync(file, 'utf8')) ?? [];
  const later = `version: ${Number(number) + 1},\n  schema: recordings,\n  migrations: [...${migrations}, { sql: '${table}' }],`;
  edit(file, former, later);
  const sql = join(tree, 'src/store/bookreel.sql');
  writeFileSync(sql, `${readFileSync(sql, 'utf8')}\n${table}\n`);
  run(['make', '-s', 'deb'], { cwd: tree });
  return join(tree, 'dist', packageIn(join(tree, 'dist')));
}

function packageIn(directory: string): string {
  const name = readdirSync(directory).find((file) => file.endsWith('.deb'));
  if (name === undefined) throw new Error(`there is no package in ${directory}`);
  return name;
}

/** A cgroup below that of this process, in each hierarchy that systemd needs; removed with all below it. */
function ownGroups(name: string): Disposable & { readonly paths: readonly string[] } {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n');
  const isUnified = lines.length === 1;
  const paths = lines
    .map((line) => line.split(':'))
    .filter(([, controllers = '']) => isUnified || ['memory', 'pids', 'name=systemd'].includes(controllers))
    .map(([, controllers = '', path = '']) => join('/sys/fs/cgroup', controllers.replace('name=', ''), path, name));
  for (const path of paths) mkdirSync(path, { recursive: true });
  const remove = (path: string): void => {
    for (const entry of readdirSync(path, { withFileTypes: true }))
      if (entry.isDirectory()) remove(join(path, entry.name));
    rmdirSync(path);
  };
  return { paths, [Symbol.dispose]: () => paths.forEach(remove) };
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (const startMs = performance.now(); !isSo(); await Bun.sleep(POLL_MS)) {
    if (performance.now() - startMs > BOOT_MS_MAX) throw new Error(`${what} took longer than ${BOOT_MS_MAX / 1000} s`);
  }
}

async function boot(directory: string): Promise<Booted> {
  await using stack = new AsyncDisposableStack();
  const groups = stack.use(ownGroups('bookreel-operator'));
  const mountPoint = join(directory, 'machine');
  mkdirSync(mountPoint);
  const enter = groups.paths.map((path) => `echo $$ > '${path}/cgroup.procs'`).join(' && ');
  const namespaces = ['--fork', '--pid', '--mount', '--uts', '--ipc', '--cgroup', '--net'];
  const script = join(import.meta.dir, 'boot.sh');
  const words = [
    'unshare',
    ...namespaces,
    'sh',
    script,
    mountPoint,
    join(directory, 'shared'),
    ROOT,
    dirname(process.execPath),
  ];
  const started = Bun.spawn(['sh', '-c', `${enter} && exec ${words.map((word) => `'${word}'`).join(' ')}`], {
    stdout: 'ignore',
    stderr: Bun.file(join(directory, 'boot.log')),
  });
  const children = `/proc/${started.pid}/task/${started.pid}/children`;
  const initOf = () => (existsSync(children) ? readFileSync(children, 'utf8').trim() : '');
  await until('the start', () => initOf() !== '' || started.exitCode !== null);
  const init = initOf();
  if (init === '')
    throw new Error(`the namespaces could not be made: ${readFileSync(join(directory, 'boot.log'), 'utf8')}`);
  const inside = ['nsenter', '-t', init, '-m', '-p', '-u', '-i', '-n', '-C', '-r', '-w'];
  stack.defer(async () => {
    // The first process of a namespace of processes takes all others with it.
    process.kill(Number(init), 'SIGKILL');
    await started.exited;
  });
  const systemctl = (...args: string[]) => Bun.spawnSync([...inside, 'systemctl', ...args]);
  await until('the boot', () => systemctl('start', 'basic.target').exitCode === 0);
  const owned = stack.move();
  return { inside, [Symbol.asyncDispose]: async () => await owned.disposeAsync() };
}

const lacks = lacking();
if (lacks === undefined) {
  const directory = mkdtempSync(join(tmpdir(), 'bookreel-operator-'));
  try {
    const shared = join(directory, 'shared');
    mkdirSync(shared);
    run(['make', '-s', 'deb']);
    const own = packageIn(join(ROOT, 'dist'));
    cpSync(join(ROOT, 'dist', own), join(shared, own));
    const next = nextPackage(directory);
    cpSync(next, join(shared, 'next.deb'));
    await using booted = await boot(directory);
    const proxies = PROXIES.filter((name) => Bun.which(name) !== null);
    const day = [process.execPath, join(import.meta.dir, 'day.ts'), shared, own, proxies.join(',')];
    const { exitCode } = Bun.spawnSync([...booted.inside, ...day], { stdout: 'inherit', stderr: 'inherit' });
    process.exitCode = exitCode ?? 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
} else {
  process.stdout.write(`skipped: a day of an operator (needs ${lacks})\n0 passed, 0 failed, 1 skipped\n`);
}
