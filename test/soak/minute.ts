import { percentile } from '../bench/rounds.ts';
import type { Tally } from './load.ts';

/** A period of the run, a minute in a long run, with its counts. */
export interface Minute {
  readonly seconds: number;
  readonly answers: number;
  readonly errors: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Median of one reading per second. */
  readonly rssBytes: number;
  /** Share of one processor that the server used. */
  readonly cpuShare: number;
  /** Share of the machine's time that its host took. */
  readonly stolenShare: number;
  /** Work during the period: imports, rotations. */
  readonly otherWork: string;
}

/** Maximum share that the machine's host may take of a minute. Beyond it, its latencies are not used. */
export const STOLEN_MAX = 0.05;
const RSS_GROWTH_MAX = 0.05;
/** Latencies of two thirds of a run count as equal if they differ by less than a quarter or less than a millisecond. */
const P99_RATIO_MAX = 1.25;
const P99_DIFFERENCE_MS = 1;

/** The last third of a run compared with the first, by the medians of their minutes. */
export interface Verdict {
  readonly errors: number;
  readonly rssFirstBytes: number;
  readonly rssLastBytes: number;
  readonly rssGrowth: number;
  readonly p50FirstMs: number;
  readonly p50LastMs: number;
  readonly p99FirstMs: number;
  readonly p99LastMs: number;
  /** Minutes whose latencies are not used because the host took time. If none would be left, all are used. */
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
  readonly otherWork: readonly string[];
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
    otherWork: readings.otherWork.join(', '),
  };
}

/** Throws if there are fewer than three minutes. */
export function verdictOf(minutes: readonly Minute[]): Verdict {
  if (minutes.length < 3) throw new Error('fewer than three minutes have no first and last third');
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
