import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { failingDisk, hasDisk, smallDisk } from '../support/disks.ts';
import { EXECUTABLE, type Finished, runExecutable, startServer } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, LIGHT_START_MS, writeLightRecording } from '../support/light-recording.ts';
import { storedIn } from '../support/stored.ts';

const SNAPSHOTS = 140_000;
const RECORDS = SNAPSHOTS + 1;
/** The disks are smaller than the free space that imports leave. */
const env = { BOOKREEL_DISK_FLOOR: '0' };
const FREE_SPACE = /the disk is full, '.*' cannot grow: free some space and run this again/;

const CAN_MOUNT = hasDisk((parent) => smallDisk(parent, '64k'));
const CAN_FAIL = hasDisk(failingDisk);

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

/** An import that fails reports the number of stored records before the reason. */
function expectStopped({ code, stdout, stderr }: Finished): void {
  expect(code).toBe(1);
  expect(stdout).toMatch(/^(?:\d+ records read .*\n(?:.*\n)*)?$/);
  expect(stderr).not.toContain('defect');
  expect(stderr.trimEnd().split('\n').at(-1)).toStartWith('bookreel: ');
}

describe('a full disk', () => {
  test.skipIf(!CAN_MOUNT)(
    'ends an import with the advice to free space; committed records stay, and with more space another import completes (needs to mount a tmpfs)',
    async () => {
      using directory = temporaryDirectory();
      const cwd = directory.path;
      writeLightRecording(join(cwd, 'light.ndjson'), SNAPSHOTS);
      using disk = smallDisk(cwd, '2m');
      const data = join(disk!.path, 'data');
      const importing = ['import', 'light.ndjson', '--data', data];
      const full = await runExecutable(importing, { cwd, env });
      expectStopped(full);
      expect(full.stderr).toMatch(FREE_SPACE);
      disk!.resize('64m');
      const kept = recordsIn(data);
      expect(full.stdout === '' ? 0 : Number(/(\d+) stored/.exec(full.stdout)?.[1])).toBe(kept);
      expect(kept).toBeGreaterThan(0);
      expect(kept).toBeLessThan(RECORDS);
      const again = await runExecutable(importing, { cwd, env });
      expect(again.code).toBe(0);
      // A long import prints its progress, and nothing else.
      expect(again.stderr).toMatch(/^(?:\d+ % of .*\n)*$/);
      expect(again.stdout).toContain(`${RECORDS - kept} stored, ${kept} duplicate`);
      expect(recordsIn(data)).toBe(RECORDS);
    },
  );

  test.skipIf(!CAN_MOUNT)(
    'makes every command print the same advice, however early it fails (needs to mount a tmpfs)',
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
          const finished = await runExecutable([...command, '--data', join(disk!.path, 'data')], { cwd, env });
          expectFailure(finished);
          expect(finished.stderr).toMatch(FREE_SPACE);
          Bun.spawnSync(['rm', '-rf', join(disk!.path, 'data')]);
        }
      }
    },
  );

  test('a limit on file sizes ends an import in the same way, and without the limit it completes', async () => {
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

const EARLY_SNAPSHOTS = 2000;

/** An archive with the recording's first snapshots, a server, and a client that requests them without a pause. */
async function askedServer(cwd: string, data: string) {
  writeLightRecording(join(cwd, 'early.ndjson'), EARLY_SNAPSHOTS);
  expect((await runExecutable(['import', 'early.ndjson', '--data', data], { cwd, env })).code).toBe(0);
  const create = ['key', 'create', '--tier', 'enterprise', '--rpm', '1000000', '--data', data];
  const key = (await runExecutable(create)).stdout.trim();
  const server = await startServer(data);
  const path = `/v1/btc/markets/${LIGHT_CONDITION_ID}/snapshots/at`;
  const ask = async (timestampMs: number) => {
    const response = await fetch(`${server.origin}${path}/${timestampMs}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const { data: found } = (await response.json()) as { data?: { timestamp: string }[] };
    return { status: response.status, timestampMs: Date.parse(found?.[0]?.timestamp ?? '') };
  };
  let asking = true;
  const answers: Awaited<ReturnType<typeof ask>>[] = [];
  const reader = (async () => {
    while (asking) answers.push(await ask(LIGHT_START_MS + (answers.length % EARLY_SNAPSHOTS) * 10));
  })();
  return {
    ask,
    /** Stops the client. Every request has its answer then. */
    expectAllAnswered: async () => {
      asking = false;
      await reader;
      expect(answers.length).toBeGreaterThan(10);
      const expected = answers.map((_, index) => ({
        status: 200,
        timestampMs: LIGHT_START_MS + (index % EARLY_SNAPSHOTS) * 10,
      }));
      expect(answers).toEqual(expected);
    },
    [Symbol.asyncDispose]: async () => {
      asking = false;
      await reader.catch(() => undefined);
      await server.stop();
    },
  };
}

const LAST_MS = LIGHT_START_MS + (SNAPSHOTS - 1) * 10;

async function expectClean(data: string): Promise<void> {
  const { code, stderr } = await runExecutable(['verify', '--data', data]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}

describe('a server whose disk fails during an import', () => {
  test.skipIf(!CAN_MOUNT)(
    'continues to serve when the disk is full, and serves the rest after an import with more space (needs to mount a tmpfs)',
    async () => {
      using directory = temporaryDirectory();
      const cwd = directory.path;
      writeLightRecording(join(cwd, 'light.ndjson'), SNAPSHOTS);
      using disk = smallDisk(cwd, '2m');
      const data = join(disk!.path, 'data');
      await using server = await askedServer(cwd, data);
      const importing = ['import', 'light.ndjson', '--data', data];
      const full = await runExecutable(importing, { cwd, env });
      expectStopped(full);
      expect(full.stderr).toMatch(FREE_SPACE);
      await server.expectAllAnswered();
      disk!.resize('64m');
      const kept = recordsIn(data);
      expect(kept).toBeGreaterThan(EARLY_SNAPSHOTS);
      expect(kept).toBeLessThan(RECORDS);
      await expectClean(data);
      expect((await runExecutable(importing, { cwd, env })).stdout).toContain(
        `${RECORDS - kept} stored, ${kept} duplicate`,
      );
      await expectClean(data);
      expect(await server.ask(LAST_MS)).toEqual({ status: 200, timestampMs: LAST_MS });
    },
  );

  test.skipIf(!CAN_FAIL)(
    'continues to serve when the file system becomes read-only, and the archive is sound after the repair (needs to mount an ext4)',
    async () => {
      using directory = temporaryDirectory();
      const cwd = directory.path;
      writeLightRecording(join(cwd, 'light.ndjson'), SNAPSHOTS);
      using disk = failingDisk(cwd);
      const data = join(disk!.path, 'data');
      const importing = ['import', 'light.ndjson', '--data', data];
      {
        await using server = await askedServer(cwd, data);
        await using importer = startChild([EXECUTABLE, ...importing], { cwd, env });
        while (importer.code === undefined && recordsWithin(data) <= EARLY_SNAPSHOTS + 1) await Bun.sleep(1);
        disk!.becomeReadOnly();
        expectStopped({ code: await importer.exited, stdout: importer.stdout(), stderr: importer.stderr() });
        expect(importer.stderr()).toMatch(
          /cannot be (?:read or )?written(?: \(SQLITE_[A-Z_]+\))?: check .* its (?:disk|file system)$/m,
        );
        await server.expectAllAnswered();
        expectFailure(await runExecutable(importing, { cwd, env }));
        expect((await server.ask(LIGHT_START_MS)).status).toBe(200);
      }
      disk!.repair();
      const kept = recordsIn(data);
      expect(kept).toBeGreaterThan(EARLY_SNAPSHOTS);
      expect(kept).toBeLessThan(RECORDS);
      await expectClean(data);
      expect((await runExecutable(importing, { cwd, env })).stdout).toContain(
        `${RECORDS - kept} stored, ${kept} duplicate`,
      );
      await expectClean(data);
    },
  );
});

/** Like recordsIn, for an archive that is being written. */
function recordsWithin(data: string): number {
  try {
    return recordsIn(data);
  } catch {
    // Another process has the lock.
    return 0;
  }
}
