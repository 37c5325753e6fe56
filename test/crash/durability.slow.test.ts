import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE } from '../support/executable.ts';
import { writeLightRecording } from '../support/light-recording.ts';

const CALLS = 'fsync,fdatasync,write,pwrite64,writev,pwritev,sendto';

/** One system call of a trace, or half of one that another thread interrupted. */
const CALL = /^(\d+)\s+(?:(\w+)\((\d+)<([^>]*)>|<\.\.\. (\w+) resumed>)/;

interface Trace {
  /** Data files that were written but not synced before the output. */
  readonly unsynced: readonly string[];
  readonly writes: number;
  readonly syncs: number;
  /** Whether the output is in the trace. */
  readonly reported: boolean;
}

/** Runs a command under strace and follows its data files up to the moment at which it prints `output`. */
function traceUntilOutput(cwd: string, args: readonly string[], output: string): Trace {
  const log = join(cwd, 'trace');
  const strace = ['strace', '-f', '-y', '-s', '64', '-e', `trace=${CALLS}`, '-o', log];
  const traced = Bun.spawnSync([...strace, EXECUTABLE, ...args], { cwd, stdout: 'pipe', stderr: 'pipe' });
  expect(traced.exitCode).toBe(0);
  const unsynced = new Set<string>();
  const syncing = new Map<string, string>();
  let writes = 0;
  let syncs = 0;
  for (const line of readFileSync(log, 'utf8').split('\n')) {
    const [, thread = '', call, , path = '', resumed] = CALL.exec(line) ?? [];
    const isSync = call === 'fsync' || call === 'fdatasync';
    if (call !== undefined && !isSync && line.includes(output))
      return { unsynced: [...unsynced], writes, syncs, reported: true };
    if (resumed === 'fsync' || resumed === 'fdatasync') {
      unsynced.delete(syncing.get(thread) ?? '');
      syncs += 1;
    }
    // SQLite rebuilds the index of the write-ahead log after a crash, so it need not be on disk.
    if (!path.startsWith(join(cwd, 'data')) || path.endsWith('-shm')) continue;
    if (isSync && line.includes('<unfinished')) syncing.set(thread, path);
    else if (isSync) {
      unsynced.delete(path);
      syncs += 1;
    } else {
      unsynced.add(path);
      writes += 1;
    }
  }
  return { unsynced: [...unsynced], writes, syncs, reported: false };
}

function canTrace(): boolean {
  if (Bun.which('strace') === null) return false;
  return Bun.spawnSync(['strace', '-o', '/dev/null', 'true'], { stdout: 'ignore', stderr: 'ignore' }).exitCode === 0;
}

describe.skipIf(!canTrace())('acknowledged data is on disk (needs strace)', () => {
  test('an import syncs every data file it wrote before it reports', () => {
    using directory = temporaryDirectory();
    writeLightRecording(join(directory.path, 'light.ndjson'), 20_000);
    const args = ['import', 'light.ndjson', '--data', 'data'];
    const { unsynced, writes, syncs, reported } = traceUntilOutput(directory.path, args, '20001 records read');
    expect(reported).toBe(true);
    expect(writes).toBeGreaterThan(0);
    expect(syncs).toBeGreaterThan(3);
    expect(unsynced).toEqual([]);
  });

  test('a key is stored before it is shown', () => {
    using directory = temporaryDirectory();
    const args = ['key', 'create', '--tier', 'free', '--data', 'data'];
    const { unsynced, writes, reported } = traceUntilOutput(directory.path, args, '"br_live_');
    expect(reported).toBe(true);
    expect(writes).toBeGreaterThan(0);
    expect(unsynced).toEqual([]);
  });
});
