import { expect } from 'bun:test';
import { readdirSync } from 'node:fs';
import { temporaryDirectory } from '../support/archive.ts';
import { fault } from './fault.ts';
import { openIdle } from './idle-connections.ts';
import { filesMax, residentBytes } from './machine.ts';
import { expectRecorded, READY, serveLight, until } from './served.ts';

const MANY = 10_000;
/** What else the two processes have open. */
const FILES_BESIDE = 500;
const MIB = 1024 * 1024;

fault(
  {
    what: `${MANY} idle connections from ten addresses`,
    expected: 'others are answered meanwhile, the idle ones are closed in time, and the memory they took is not kept',
    lacks: filesMax() < MANY + FILES_BESIDE ? `ulimit -n ${MANY + FILES_BESIDE}` : undefined,
    long: true,
  },
  async () => {
    using directory = temporaryDirectory();
    await using served = await serveLight({ cwd: directory.path });
    expectRecorded(await served.nearest(7), 7);
    const { pid } = served.server;
    const before = residentBytes(pid);
    using idle = await openIdle(Number(new URL(served.origin).port), MANY, true);
    expect(idle.open).toBe(MANY);
    const during = residentBytes(pid);
    for (let index = 0; index < served.snapshots; index += 20) expectRecorded(await served.nearest(index), index);
    expect(await served.ready()).toEqual(READY);
    const stillOpen = idle.open;
    const beganMs = performance.now();
    await until('the idle ones are closed', () => idle.open === 0, 240_000);
    const closedSeconds = (performance.now() - beganMs) / 1000;
    const descriptors = readdirSync(`/proc/${pid}/fd`).length;
    expect(descriptors).toBeLessThan(100);
    expect(await served.ready()).toEqual(READY);
    expectRecorded(await served.nearest(7), 7);
    const after = residentBytes(pid);
    return `${MANY} open at once (${stillOpen} after 100 requests, all 200), ${toMib(during - before)} MiB for them; all closed by the server within ${closedSeconds.toFixed(0)} s, ${descriptors} files open, RSS ${toMib(before)} → ${toMib(after)} MiB`;
  },
);

function toMib(bytes: number): string {
  return (bytes / MIB).toFixed(1);
}
