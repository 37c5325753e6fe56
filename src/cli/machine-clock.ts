import { dlopen, ptr } from 'bun:ffi';

/** A constant of Linux: linux/time.h. */
const CLOCK_MONOTONIC = 1;
/** Times that the clock of the machine is read: an interrupted reading is late. */
const READINGS = 20;

/**
 * Milliseconds of one clock that all processes of a machine have; it never decreases, and stands still while the machine is suspended, as that
 * of the runtime does. (The clocks of the runtime, `process.hrtime` too, begin with each process.) Needs Linux with glibc.
 */
export function machineClock(): () => number {
  const libc = dlopen('libc.so.6', { clock_gettime: { args: ['int', 'ptr'], returns: 'int' } });
  // struct timespec { i64 tv_sec; i64 tv_nsec; }
  const time = new BigInt64Array(2);
  let startMs = -Infinity;
  for (let reading = 0; reading < READINGS; reading += 1) {
    libc.symbols.clock_gettime(CLOCK_MONOTONIC, ptr(time));
    const nowMs = Number(time[0]) * 1000 + Number(time[1]) / 1e6;
    startMs = Math.max(startMs, nowMs - performance.now());
  }
  libc.close();
  return () => startMs + performance.now();
}
