import { expect } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { failingDisk, hasDisk, smallDisk } from '../support/disks.ts';
import { EXECUTABLE, runExecutable } from '../support/executable.ts';
import { writeLightRecording } from '../support/light-recording.ts';
import { fault } from './fault.ts';
import { expectRecorded, READY, type Served, serve, serveLight } from './served.ts';

const DISK = '8m';
const SNAPSHOTS = 140_000;
const LACKS_SMALL = hasDisk((parent) => smallDisk(parent, '64k')) ? undefined : 'to mount a tmpfs';
const LACKS_FAILING = hasDisk(failingDisk) ? undefined : 'to mount an ext4';
const REFUSED_REQUESTS = 300;

async function expectAllRight(served: Served): Promise<void> {
  for (let index = 0; index < served.snapshots; index += 20) expectRecorded(await served.nearest(index), index);
  expect(await served.ready()).toEqual(READY);
}

fault(
  {
    what: 'the disk of the data directory has no free byte during serve and import',
    expected: 'every answer is right, ready; writing commands report the full disk; with space again nothing is lost',
    lacks: LACKS_SMALL,
  },
  async () => {
    using directory = temporaryDirectory();
    const recording = join(directory.path, 'more.ndjson');
    writeLightRecording(recording, SNAPSHOTS);
    using disk = smallDisk(directory.path, DISK)!;
    await using served = await serveLight({ cwd: directory.path, data: join(disk.path, 'data') });
    disk.fill(true);
    await expectAllRight(served);
    const imported = await runExecutable(['import', recording, '--data', served.data, '--disk-floor', '0']);
    const create = await runExecutable(['key', 'create', '--tier', 'free', '--data', served.data]);
    for (const { code, stderr } of [imported, create]) {
      expect(code).toBe(1);
      expect(stderr).toContain('the disk is full');
    }
    expect(create.stdout).toBe('');
    await expectAllRight(served);
    disk.fill(false);
    const again = await runExecutable(['import', recording, '--data', served.data, '--disk-floor', '0']);
    expect(again.code).toBe(0);
    expectRecorded(await served.nearest(SNAPSHOTS - 1), SNAPSHOTS - 1);
    expect((await runExecutable(['verify', '--data', served.data])).code).toBe(0);
    return `200 answers right while it was full, readyz 200, import and key create exit 1; then import 0, verify 0`;
  },
);

fault(
  {
    what: 'the file system becomes read-only while it is served',
    expected: 'every answer is right, ready; writing commands fail with one sentence; verify and backup still work',
    lacks: LACKS_FAILING,
  },
  async () => {
    using directory = temporaryDirectory();
    using disk = failingDisk(directory.path)!;
    await using served = await serveLight({ cwd: directory.path, data: join(disk.path, 'data') });
    disk.becomeReadOnly();
    await expectAllRight(served);
    const create = await runExecutable(['key', 'create', '--tier', 'free', '--data', served.data]);
    expect(create).toMatchObject({ code: 1, stdout: '' });
    expect(create.stderr).toMatch(
      /^bookreel: '.*' cannot be opened \(EROFS\): .* read-only: name a path on another one\n$/,
    );
    const checked = await runExecutable(['verify', '--data', served.data]);
    expect(checked.code).toBe(0);
    const copy = join(directory.path, 'copy.backup');
    expect((await runExecutable(['backup', copy, '--data', served.data])).code).toBe(0);
    await expectAllRight(served);
    await served.stop();
    return '200 answers right, readyz 200, key create exits 1; verify 0, backup 0; stops in order';
  },
);

fault(
  {
    what: 'a server is started on a read-only file system',
    expected:
      'it serves every record and says which files cannot be written; commands that write exit with 1, and verify with 0',
    lacks: LACKS_SMALL,
  },
  async () => {
    using directory = temporaryDirectory();
    using disk = smallDisk(directory.path, DISK)!;
    const data = join(disk.path, 'data');
    await using first = await serveLight({ cwd: directory.path, data });
    await first.stop();
    disk.becomeReadOnly();
    await using served = await serve({ data, key: first.key, snapshots: first.snapshots });
    await expectAllRight(served);
    const create = await runExecutable(['key', 'create', '--tier', 'free', '--data', data]);
    expect(create).toMatchObject({ code: 1, stdout: '' });
    expect(create.stderr).toMatch(/^bookreel: '.*' cannot be .*: check .*\n$/);
    expect((await runExecutable(['verify', '--data', data])).code).toBe(0);
    await served.stop();
    return '100 answered right, key create 1, verify 0, exit code 0';
  },
);

fault(
  {
    what: 'the server writes its log, with a line per request, to a full disk',
    expected: 'requests are answered as usual, including refusals, and SIGTERM ends it with exit code 0',
    lacks: existsSync('/dev/full') ? undefined : '/dev/full',
  },
  async () => {
    using directory = temporaryDirectory();
    const under = ['sh', '-c', 'exec "$0" "$@" 2>/dev/full'];
    await using served = await serveLight({ cwd: directory.path, under, args: ['--access-log', 'on'] });
    for (let index = 0; index < REFUSED_REQUESTS; index += 1) {
      expect((await served.ask('/v1/btc/markets', { authorization: 'Bearer none' })).status).toBe(401);
    }
    await expectAllRight(served);
    await served.stop();
    return `${REFUSED_REQUESTS} refused, 100 answered right, readyz 200, exit code 0`;
  },
);

fault(
  {
    what: 'the server is killed (SIGKILL) while the disk is full, and started again on it',
    expected: 'it serves every stored record, or reports the full disk; with space again it serves every record',
    lacks: LACKS_SMALL,
  },
  async () => {
    using directory = temporaryDirectory();
    using disk = smallDisk(directory.path, DISK)!;
    const served = await serveLight({ cwd: directory.path, data: join(disk.path, 'data') });
    disk.fill(true);
    await served[Symbol.asyncDispose]();
    let seen: string;
    {
      await using attempt = startChild([EXECUTABLE, 'serve', '--port', '0', '--data', served.data]);
      const started = await Promise.race([attempt.said(/ on http/).then(() => true), attempt.exited.then(() => false)]);
      if (!started) expect(attempt.stderr()).toContain('the disk is full');
      seen = started ? 'serves on the full disk' : `exits ${attempt.code} and reports the full disk`;
    }
    disk.fill(false);
    await using again = await serve(served);
    await expectAllRight(again);
    return `${seen}; with space 100 answers right`;
  },
);
