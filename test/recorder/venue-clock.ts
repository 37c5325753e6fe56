/** The clock of a venue, and of the recorder that records from it. */
export interface VenueClock {
  /** Microseconds since 1970. */
  nowUs(): number;
  /** Calls `work` once, `ms` later; not any more when it was disposed. */
  after(ms: number, work: () => void): Disposable;
}

export function nowMsOf(clock: Pick<VenueClock, 'nowUs'>): number {
  return Math.floor(clock.nowUs() / 1000);
}

/** The clock of this machine. */
export function realClock(): VenueClock {
  return {
    nowUs: () => Math.round((performance.timeOrigin + performance.now()) * 1000),
    after: (ms, work) => {
      const timer = setTimeout(work, Math.max(0, ms));
      return { [Symbol.dispose]: () => clearTimeout(timer) };
    },
  };
}
