import { expect } from 'bun:test';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { EXECUTABLE, runExecutable } from '../support/executable.ts';
import { writeLightRecording } from '../support/light-recording.ts';
import { fault } from './fault.ts';
import { expectRecorded, READY, serveLight, until } from './served.ts';

const SNAPSHOTS = 140_000;
const ASKED_MEANWHILE = 50;
const PAUSE_MS = 1500;
const RPM = 5;
const TIERS = '/v1/billing/tiers';
const BEYOND_A_WINDOW_MS = 62_000;

fault(
  {
    what: 'the server is paused during requests (SIGSTOP, then SIGCONT)',
    expected: 'every waiting request is answered, and the limit counts each once',
  },
  async () => {
    using directory = temporaryDirectory();
    await using served = await serveLight({ cwd: directory.path, rpm: ASKED_MEANWHILE + 1 });
    expectRecorded(await served.nearest(0), 0);
    served.server.kill('SIGSTOP');
    const waiting = Array.from({ length: ASKED_MEANWHILE }, (_, index) => served.nearest(index));
    await Bun.sleep(PAUSE_MS);
    served.server.kill('SIGCONT');
    for (const [index, answer] of (await Promise.all(waiting)).entries()) expectRecorded(answer, index);
    expect((await served.nearest(0)).status).toBe(429);
    expect(await served.ready()).toEqual(READY);
    return `${ASKED_MEANWHILE} of ${ASKED_MEANWHILE} waiting requests were answered right, the next one got 429, readyz 200`;
  },
);

fault(
  {
    what: 'the server is paused for longer than a window (SIGSTOP, 62 s, SIGCONT)',
    expected: 'the window has ended, exactly one new limit applies, and connections work',
    long: true,
  },
  async () => {
    using directory = temporaryDirectory();
    await using served = await serveLight({ cwd: directory.path, rpm: RPM });
    for (let i = 0; i < RPM; i += 1) expect((await served.ask(TIERS)).status).toBe(200);
    expect((await served.ask(TIERS)).status).toBe(429);
    served.server.kill('SIGSTOP');
    await Bun.sleep(BEYOND_A_WINDOW_MS);
    served.server.kill('SIGCONT');
    const statuses: number[] = [];
    for (let i = 0; i < RPM + 1; i += 1) statuses.push((await served.ask(TIERS)).status);
    expect(statuses).toEqual([...Array.from({ length: RPM }, () => 200), 429]);
    expect(await served.ready()).toEqual(READY);
    return `${statuses.join(' ')}, readyz 200`;
  },
);

fault(
  {
    what: 'an import is paused (SIGSTOP, then SIGCONT) while it has the write lock and a server runs',
    expected:
      'the server answers as usual; a command that writes waits, or reports that another one has the lock; the import completes',
  },
  async () => {
    using directory = temporaryDirectory();
    const recording = join(directory.path, 'more.ndjson');
    writeLightRecording(recording, SNAPSHOTS);
    await using served = await serveLight({ cwd: directory.path });
    await using importer = startChild([EXECUTABLE, 'import', recording, '--data', served.data]);
    await until('the import writes', () => statSync(join(served.data, 'bookreel.db-wal')).size > 1_000_000);
    importer.kill('SIGSTOP');
    for (let index = 0; index < served.snapshots; index += 20) expectRecorded(await served.nearest(index), index);
    expect(await served.ready()).toEqual(READY);
    const create = await runExecutable(['key', 'create', '--tier', 'free', '--data', served.data]);
    if (create.code !== 0) expect(create.stderr).toContain('another command is writing to');
    importer.kill('SIGCONT');
    expect(await importer.exited).toBe(0);
    expectRecorded(await served.nearest(SNAPSHOTS - 1), SNAPSHOTS - 1);
    expect((await runExecutable(['verify', '--data', served.data])).code).toBe(0);
    return `100 of 100 answers right during the pause, readyz 200; 'key create' exits ${create.code}; import 0, verify 0`;
  },
);
