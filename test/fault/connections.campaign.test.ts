import { expect } from 'bun:test';
import { readdirSync } from 'node:fs';
import { temporaryDirectory } from '../support/archive.ts';
import { LIGHT_CONDITION_ID, LIGHT_START_MS } from '../support/light-recording.ts';
import { fault } from './fault.ts';
import { openIdle } from './idle-connections.ts';
import { cpuSeconds, filesMax, residentBytes } from './machine.ts';
import { expectRecorded, READY, serveLight, until } from './served.ts';

/** A stream of four seconds: the last 40 snapshots, ten a second. */
const STREAMED = 40;
const streamOf = (snapshots: number) =>
  `/v1/btc/markets/${LIGHT_CONDITION_ID}/stream?speed=0.1&from=${LIGHT_START_MS + (snapshots - STREAMED) * 10}`;

/** More connections than files that the server may open. */
const CLIENTS = 500;
const FILES_MAX = 256;
const REFUSING = 'connections are refused until others are closed';
/** For ten events and four checks for free files. A server that calls accept in a loop would use a whole CPU. */
const IDLE_CPU_SECONDS = 0.1;
const MANY = 10_000;
/** Other open files of the two processes. */
const OTHER_FILES = 500;
const MIB = 1024 * 1024;

fault(
  {
    what: `While the process has reached its limit of open files, new connections are refused. (${CLIENTS}, of ${FILES_MAX} files)`,
    expected:
      'it continues, completes running answers, uses almost no CPU, and accepts connections again after the clients left',
    lacks: Bun.which('prlimit') === null ? 'prlimit' : undefined,
  },
  async () => {
    using directory = temporaryDirectory();
    await using served = await serveLight({
      cwd: directory.path,
      under: ['prlimit', `--nofile=${FILES_MAX}:${FILES_MAX}`],
    });
    const { pid } = served.server;
    const descriptors = () => readdirSync(`/proc/${pid}/fd`).length;
    await served.ready();
    const atRest = descriptors();
    const authorization = `Bearer ${served.key}`;
    const stream = await fetch(`${served.origin}${streamOf(served.snapshots)}`, { headers: { authorization } });
    let seen: string;
    {
      const port = Number(new URL(served.origin).port);
      using idle = await openIdle(port, CLIENTS, { sent: 'GET /readyz HTTP/1.1\r\nHost: localhost\r\n' });
      await until('it reports that it refuses connections', () => served.server.stderr().includes(REFUSING));
      const most = descriptors();
      expect(most).toBeWithin(FILES_MAX / 2, FILES_MAX + 1);
      const before = cpuSeconds(pid);
      await Bun.sleep(1000);
      const busySeconds = cpuSeconds(pid) - before;
      expect(busySeconds).toBeLessThanOrEqual(IDLE_CPU_SECONDS);
      expect(idle.open + idle.lost).toBe(CLIENTS);
      expect(await stream.text()).toEndWith(`event: end\ndata: {"snapshots":${STREAMED},"gaps":0}\n\n`);
      seen = `${atRest} files at rest, ${most} of ${FILES_MAX} under load, CPU ${busySeconds.toFixed(2)} s of 1 s`;
    }
    const leftMs = performance.now();
    await until('it takes new connections', async () => {
      try {
        return (await served.ready())[0] === 200;
      } catch {
        // Refused: not yet.
        return false;
      }
    });
    const seconds = (performance.now() - leftMs) / 1000;
    for (const index of [0, 1, 1999]) expectRecorded(await served.nearest(index), index);
    await until('it has closed the old connections', () => descriptors() <= atRest + 2);
    return `${seen}; ready ${seconds.toFixed(1)} s after they left`;
  },
);

fault(
  {
    what: `${MANY} idle connections from ten addresses`,
    expected: 'other clients are served, the idle connections are closed in time, and their memory is released',
    lacks: filesMax() < MANY + OTHER_FILES ? `ulimit -n ${MANY + OTHER_FILES}` : undefined,
    long: true,
  },
  async () => {
    using directory = temporaryDirectory();
    await using served = await serveLight({ cwd: directory.path });
    expectRecorded(await served.nearest(7), 7);
    const { pid } = served.server;
    const before = residentBytes(pid);
    using idle = await openIdle(Number(new URL(served.origin).port), MANY, { perAddress: 1000 });
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
