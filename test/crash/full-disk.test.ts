import { describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE, type Finished, runExecutable } from '../support/executable.ts';
import { writeLightRecording } from '../support/light-recording.ts';
import { storedIn } from '../support/stored.ts';

const SNAPSHOTS = 60_000;
const RECORDS = SNAPSHOTS + 1;
const FREE_SPACE = /the disk is full, '.*' cannot grow: free some space and run this again/;

interface SmallDisk extends Disposable {
  readonly path: string;
  resize(size: string): void;
}

/** A file system of a few pages, which only root may mount; undefined where it cannot be. */
function smallDisk(parent: string, size: string): SmallDisk | undefined {
  const path = join(parent, 'disk');
  mkdirSync(path, { recursive: true });
  const ran = (...command: string[]) => Bun.spawnSync(command, { stdout: 'ignore', stderr: 'ignore' }).exitCode === 0;
  if (process.getuid?.() !== 0 || Bun.which('mount') === null) return undefined;
  if (!ran('mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path)) return undefined;
  return {
    path,
    resize: (to) => expect(ran('mount', '-o', `remount,size=${to}`, path)).toBe(true),
    [Symbol.dispose]: () => expect(ran('umount', path)).toBe(true),
  };
}

function canMount(): boolean {
  using directory = temporaryDirectory();
  using disk = smallDisk(directory.path, '64k');
  return disk !== undefined;
}

function recordsIn(data: string): number {
  const { integrity, markets, series } = storedIn(data);
  expect(integrity).toBe('ok');
  return markets + series.filter(({ kind }) => kind === 'book').reduce((sum, { records }) => sum + records, 0);
}

function expectFailure({ code, stdout, stderr }: Finished): void {
  expect(stderr).toStartWith('bookreel: ');
  expect(stderr).not.toContain('defect');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
}

/** An import that stops half way reports what it had stored before it says why. */
function expectStopped({ code, stdout, stderr }: Finished): void {
  expect(code).toBe(1);
  expect(stdout).toMatch(/^(?:\d+ records read .*\n)?$/);
  expect(stderr).not.toContain('defect');
  expect(stderr.trimEnd().split('\n').at(-1)).toStartWith('bookreel: ');
}

describe('a disk that fills up', () => {
  test.skipIf(!canMount())(
    'ends an import with the advice to free space, keeps what was committed, and more space completes it (needs to mount a tmpfs)',
    async () => {
      using directory = temporaryDirectory();
      const cwd = directory.path;
      writeLightRecording(join(cwd, 'light.ndjson'), SNAPSHOTS);
      using disk = smallDisk(cwd, '2m');
      const data = join(disk!.path, 'data');
      const importing = ['import', 'light.ndjson', '--data', data];
      const full = await runExecutable(importing, { cwd });
      expectStopped(full);
      expect(full.stderr).toMatch(FREE_SPACE);
      disk!.resize('64m');
      const kept = recordsIn(data);
      expect(full.stdout === '' ? 0 : Number(/(\d+) stored/.exec(full.stdout)?.[1])).toBe(kept);
      expect(kept).toBeGreaterThan(0);
      expect(kept).toBeLessThan(RECORDS);
      const again = await runExecutable(importing, { cwd });
      expect({ code: again.code, stderr: again.stderr }).toEqual({ code: 0, stderr: '' });
      expect(again.stdout).toContain(`${RECORDS - kept} stored, ${kept} duplicate`);
      expect(recordsIn(data)).toBe(RECORDS);
    },
  );

  test.skipIf(!canMount())(
    'gives every command the same advice, however early it comes (needs to mount a tmpfs)',
    async () => {
      using directory = temporaryDirectory();
      const cwd = directory.path;
      writeLightRecording(join(cwd, 'light.ndjson'), SNAPSHOTS);
      using disk = smallDisk(cwd, '4k');
      for (const size of ['8k', '16k', '24k', '48k', '64k', '128k']) {
        disk!.resize(size);
        for (const command of [
          ['import', 'light.ndjson'],
          ['key', 'create', '--tier', 'free'],
          ['serve', '--port', '0'],
        ]) {
          const finished = await runExecutable([...command, '--data', join(disk!.path, 'data')], { cwd });
          expectFailure(finished);
          expect(finished.stderr).toMatch(FREE_SPACE);
          Bun.spawnSync(['rm', '-rf', join(disk!.path, 'data')]);
        }
      }
    },
  );

  test('a limit on the size of files ends an import likewise, and without the limit it completes', async () => {
    using directory = temporaryDirectory();
    const cwd = directory.path;
    writeLightRecording(join(cwd, 'light.ndjson'), SNAPSHOTS);
    const script = 'trap \'\' XFSZ; ulimit -f 2000; exec "$0" import light.ndjson --data data';
    const limited = Bun.spawnSync(['sh', '-c', script, EXECUTABLE], { cwd });
    expectStopped({
      code: limited.exitCode,
      stdout: limited.stdout.toString(),
      stderr: limited.stderr.toString(),
    });
    const kept = recordsIn(join(cwd, 'data'));
    expect(kept).toBeLessThan(RECORDS);
    const again = await runExecutable(['import', 'light.ndjson', '--data', 'data'], { cwd });
    expect(again.code).toBe(0);
    expect(again.stdout).toContain(`${RECORDS - kept} stored, ${kept} duplicate`);
    expect(recordsIn(join(cwd, 'data'))).toBe(RECORDS);
  });
});
