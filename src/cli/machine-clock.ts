import { readFileSync } from 'node:fs';

/** Times that the clock of the machine is read: an interrupted reading is late. */
const TICKS = 3;

/**
 * Milliseconds of one clock that all processes of a machine have; it never decreases. (The clocks of the runtime, `process.hrtime` too, begin
 * with each process.) The kernel states it in steps of 10 ms, so this waits for a few of them.
 */
export function machineClock(): () => number {
  let startMs = -Infinity;
  for (let tick = 0; tick < TICKS; tick += 1) {
    const before = uptimeMs();
    let now = before;
    while (now === before) now = uptimeMs();
    startMs = Math.max(startMs, now - performance.now());
  }
  return () => startMs + performance.now();
}

function uptimeMs(): number {
  return Number(readFileSync('/proc/uptime', 'utf8').split(' ', 1)[0]) * 1000;
}
