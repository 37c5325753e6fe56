import { chownSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { LeftOut, requiredProgram, versionOf } from '../program.ts';
import { started, stop } from './contender.ts';

const DEBIAN = '/usr/lib/postgresql';
const PACKAGES = 'postgresql-15';
/** Memory for the whole corpus, no background work, and no durability. */
const SETTINGS = {
  listen_addresses: '',
  shared_buffers: '1GB',
  max_wal_size: '8GB',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  jit: 'off',
  default_toast_compression: 'lz4',
};

export interface Postgres extends AsyncDisposable {
  readonly version: string;
  /** Directory of its Unix socket. */
  readonly socketDirectory: string;
}

/** A new PostgreSQL in a new directory, with a superuser `postgres` without a password. */
export async function startPostgres(): Promise<Postgres> {
  const programs = programsDirectory();
  // PostgreSQL refuses to run as root.
  const owner = process.getuid?.() === 0 ? postgresUser() : undefined;
  const path = mkdtempSync(join(tmpdir(), 'bookreel-bench-postgres-'));
  if (owner !== undefined) chownSync(path, owner.uid, owner.gid);
  const as =
    owner === undefined
      ? []
      : [requiredProgram('setpriv', 'util-linux'), `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'];
  const data = join(path, 'data');
  const options = { cwd: path, stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' } as const;
  const made = Bun.spawnSync(
    [...as, join(programs, 'initdb'), '-D', data, '-U', 'postgres', '-A', 'trust', '--locale=C', '-E', 'UTF8'],
    options,
  );
  if (!made.success) throw new Error(`initdb failed: ${made.stderr}`);
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = Bun.spawn([...as, join(programs, 'postgres'), '-D', data, '-k', path, ...settings], {
    ...options,
    stderr: Bun.file(join(path, 'postgres.log')),
  });
  const isReady = () => Bun.spawnSync([join(programs, 'pg_isready'), '-q', '-h', path]).success;
  await started('PostgreSQL', child, isReady);
  return {
    version: versionOf(join(programs, 'postgres'), '--version'),
    socketDirectory: path,
    [Symbol.asyncDispose]: async () => {
      await stop(child, 'SIGQUIT');
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** On the path, or in Debian's directory of servers. */
function programsDirectory(): string {
  const found = Bun.which('postgres');
  if (found !== null) return dirname(realpathSync(found));
  try {
    const latest = readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a))[0];
    if (latest !== undefined) return join(DEBIAN, latest, 'bin');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  throw new LeftOut(`PostgreSQL is not installed (Debian: apt-get install ${PACKAGES})`);
}

function postgresUser(): { uid: number; gid: number } {
  const id = (option: string) => {
    const { stdout, success } = Bun.spawnSync(['id', option, 'postgres'], { stderr: 'ignore' });
    if (!success) throw new LeftOut('PostgreSQL refuses to run as root, and there is no user postgres');
    return Number(stdout.toString());
  };
  return { uid: id('-u'), gid: id('-g') };
}
