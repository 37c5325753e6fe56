import { expect } from 'bun:test';
import { readdirSync } from 'node:fs';
import { temporaryDirectory } from '../support/archive.ts';
import { fault } from './fault.ts';
import { openIdle } from './idle-connections.ts';
import { cpuSeconds, filesMax, residentBytes } from './machine.ts';
import { expectRecorded, READY, serveLight, until } from './served.ts';

/** Enough to start with, and not for the connections that come. */
const CLIENTS = 200;
const MANY = 10_000;
/** The default of --max-connections-per-address. */
const PER_ADDRESS = 128;
/** What else the two processes have open. */
const FILES_BESIDE = 500;
const MIB = 1024 * 1024;

/** How connections reach the server, how many files it may open for few, and how many idle ones of ten addresses it holds. */
const WAYS = [
  ['without a doorkeeper', ['--doorkeeper', 'off'], 64, MANY],
  // The doorkeeper keeps 64 files for what is behind it.
  ['behind a doorkeeper', ['--doorkeeper', 'on'], 160, 10 * PER_ADDRESS],
  [
    'behind a doorkeeper that lets all of them in',
    ['--doorkeeper', 'on', '--max-connections', '20000', '--max-connections-per-address', '2000'],
    160,
    MANY,
  ],
] as const;

for (const [how, args, filesMost, heldMax] of WAYS) {
  fault(
    {
      what: `${CLIENTS} connections to a server that may have ${filesMost} files open, ${how}`,
      expected: 'it lives, answers whoever gets in, and everybody once the others have left',
      lacks: Bun.which('prlimit') === null ? 'prlimit' : undefined,
    },
    async () => {
      using directory = temporaryDirectory();
      const under = ['prlimit', `--nofile=${filesMost}:${filesMost}`];
      await using served = await serveLight({ cwd: directory.path, under, args });
      expectRecorded(await served.nearest(7), 7);
      // No connection is kept: whoever asks afterwards needs a new one.
      await served.ask('/readyz', { connection: 'close' });
      const descriptors = () => readdirSync(`/proc/${served.server.pid}/fd`).length;
      const atRest = descriptors();
      let busySeconds: number;
      let most: number;
      {
        using idle = await openIdle(Number(new URL(served.origin).port), CLIENTS, false);
        // Of connections that say nothing the kernel tells Bun's HTTP server a second later only (TCP_DEFER_ACCEPT).
        await until('the server has seen them', () => descriptors() > atRest);
        const before = cpuSeconds(served.server.pid);
        await Bun.sleep(1000);
        busySeconds = cpuSeconds(served.server.pid) - before;
        most = descriptors();
        expect(most).toBeGreaterThan(atRest);
        expect(most).toBeLessThanOrEqual(filesMost);
        expect(served.server.code).toBeUndefined();
        expect(idle.open + idle.lost).toBe(CLIENTS);
      }
      await until('it takes new connections', async () => {
        try {
          return (await served.ready())[0] === 200;
        } catch {
          // Refused or cut: not yet.
          return false;
        }
      });
      for (const index of [0, 1, 1999]) expectRecorded(await served.nearest(index), index);
      await until('it has closed those that left', () => descriptors() <= atRest + 2);
      return `${atRest} files at rest, ${most} of ${filesMost} meanwhile, busy ${busySeconds.toFixed(2)} s of 1 s; afterwards 200 and ready`;
    },
  );

  fault(
    {
      what: `${MANY} idle connections from ten addresses, ${how}`,
      expected: 'others are answered meanwhile, the idle ones are closed in time, and the memory they took is not kept',
      lacks: filesMax() < MANY + FILES_BESIDE ? `ulimit -n ${MANY + FILES_BESIDE}` : undefined,
      long: true,
    },
    async () => {
      using directory = temporaryDirectory();
      await using served = await serveLight({ cwd: directory.path, args });
      expectRecorded(await served.nearest(7), 7);
      const { pid } = served.server;
      const before = residentBytes(pid);
      using idle = await openIdle(Number(new URL(served.origin).port), MANY, true);
      // Those that are turned away hear of it one after the other.
      await until('only those are left that may be', () => idle.open <= heldMax);
      const held = idle.open;
      expect(held).toBe(heldMax);
      const during = residentBytes(pid);
      for (let index = 0; index < served.snapshots; index += 20) expectRecorded(await served.nearest(index), index);
      expect(await served.ready()).toEqual(READY);
      const stillHeld = idle.open;
      const beganMs = performance.now();
      await until('the idle ones are closed', () => idle.open === 0, 240_000);
      const closedSeconds = (performance.now() - beganMs) / 1000;
      const descriptors = readdirSync(`/proc/${pid}/fd`).length;
      expect(descriptors).toBeLessThan(100);
      expect(await served.ready()).toEqual(READY);
      expectRecorded(await served.nearest(7), 7);
      const after = residentBytes(pid);
      return `${held} open at once (${stillHeld} after 100 requests, all 200), ${toMib(during - before)} MiB for them; all closed by the server within ${closedSeconds.toFixed(0)} s, ${descriptors} files open, RSS ${toMib(before)} → ${toMib(after)} MiB`;
    },
  );
}

function toMib(bytes: number): string {
  return (bytes / MIB).toFixed(1);
}
