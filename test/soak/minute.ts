import { percentile } from '../bench/rounds.ts';
import type { Tally } from './load.ts';

/** A stretch of the run, a minute of a long one, and what was counted in it. */
export interface Minute {
  readonly seconds: number;
  readonly answers: number;
  readonly errors: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The median of a reading every second. */
  readonly rssBytes: number;
  /** Of one processor, by the server. */
  readonly cpuShare: number;
  /** Of the machine's time, by its host. */
  readonly stolenShare: number;
  /** What went on beside: imports, rotations. */
  readonly beside: string;
}

/** What the machine's host may take of a minute before its latencies say nothing about the server. */
export const STOLEN_MAX = 0.05;
const RSS_GROWTH_MAX = 0.05;
/** Latencies of two thirds of a run that differ by less are taken for the same: by a quarter, or by a millisecond. */
const P99_RATIO_MAX = 1.25;
const P99_DIFFERENCE_MS = 1;

/** The last third of a run held against the first, by the medians of their minutes. */
export interface Verdict {
  readonly errors: number;
  readonly rssFirstBytes: number;
  readonly rssLastBytes: number;
  readonly rssGrowth: number;
  readonly p50FirstMs: number;
  readonly p50LastMs: number;
  readonly p99FirstMs: number;
  readonly p99LastMs: number;
  /** Minutes left out of the latencies because the host took time away; all count when there would be none left. */
  readonly disturbed: number;
  readonly isClean: boolean;
  readonly isBounded: boolean;
  readonly isFlat: boolean;
}

export interface Readings {
  readonly seconds: number;
  readonly rssBytes: readonly number[];
  readonly cpuShare: number;
  readonly stolenShare: number;
  readonly beside: readonly string[];
}

export function minuteOf(tally: Tally, readings: Readings): Minute {
  const sorted = tally.latenciesMs.toSorted((one, other) => one - other);
  const at = (p: number) => (sorted.length === 0 ? 0 : percentile(sorted, p));
  return {
    seconds: readings.seconds,
    answers: sorted.length,
    errors: tally.faults.length,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: sorted.at(-1) ?? 0,
    rssBytes: median(readings.rssBytes),
    cpuShare: readings.cpuShare,
    stolenShare: readings.stolenShare,
    beside: readings.beside.join(', '),
  };
}

/** Throws when there are fewer than three minutes. */
export function verdictOf(minutes: readonly Minute[]): Verdict {
  if (minutes.length < 3) throw new Error('there is no first and last third of so few minutes');
  const third = Math.floor(minutes.length / 3);
  const thirds = [minutes.slice(0, third), minutes.slice(-third)] as const;
  const [rssFirstBytes, rssLastBytes] = thirds.map((part) => median(part.map(({ rssBytes }) => rssBytes))) as [
    number,
    number,
  ];
  const calm = thirds.map((part) => {
    const undisturbed = part.filter(({ stolenShare }) => stolenShare <= STOLEN_MAX);
    return undisturbed.length > 0 ? undisturbed : part;
  });
  const latency = (of: (minute: Minute) => number) => calm.map((part) => median(part.map(of))) as [number, number];
  const [p50FirstMs, p50LastMs] = latency(({ p50Ms }) => p50Ms);
  const [p99FirstMs, p99LastMs] = latency(({ p99Ms }) => p99Ms);
  const errors = minutes.reduce((sum, minute) => sum + minute.errors, 0);
  const rssGrowth = rssLastBytes / rssFirstBytes - 1;
  return {
    errors,
    rssFirstBytes,
    rssLastBytes,
    rssGrowth,
    p50FirstMs,
    p50LastMs,
    p99FirstMs,
    p99LastMs,
    disturbed: minutes.filter(({ stolenShare }) => stolenShare > STOLEN_MAX).length,
    isClean: errors === 0 && minutes.every(({ answers }) => answers > 0),
    isBounded: rssGrowth < RSS_GROWTH_MAX,
    isFlat: p99LastMs <= Math.max(p99FirstMs * P99_RATIO_MAX, p99FirstMs + P99_DIFFERENCE_MS),
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
