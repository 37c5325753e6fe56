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
  readonly isAttacked: boolean;
}

/** Maximum share that the machine's host may take of a minute. Beyond it, its latencies are not used. */
export const STOLEN_MAX = 0.05;
const RSS_GROWTH_MAX = 0.05;
/** Latencies of two thirds of a run count as equal if they differ by less than a quarter or less than a millisecond. */
const P99_RATIO_MAX = 1.25;
const P99_DIFFERENCE_MS = 1;
/** Maximum p99 with an attack, in relation to the p99 without. */
const ATTACKED_P99_RATIO_MAX = 3;

/** Medians of some minutes. */
interface Figures {
  readonly rssBytes: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Minutes of one kind: all of them, and the first and the last third. */
export interface Part {
  readonly all: Figures;
  readonly first: Figures;
  readonly last: Figures;
  /** From the first to the last third, in relation to the first. */
  readonly rssGrowth: number;
}

/** The minutes without an attack, those with one, and both compared. */
export interface Verdict {
  readonly errors: number;
  readonly calm: Part;
  readonly attacked: Part;
  /** The p99 with an attack in relation to that without. */
  readonly p99Ratio: number;
  /** Minutes whose latencies are not used because the host took time. If none would be left, all are used. */
  readonly disturbed: number;
  readonly isClean: boolean;
  readonly isBounded: boolean;
  readonly isFlat: boolean;
  readonly isFair: boolean;
}

export interface Readings {
  readonly seconds: number;
  readonly rssBytes: readonly number[];
  readonly cpuShare: number;
  readonly stolenShare: number;
  readonly otherWork: readonly string[];
  readonly isAttacked: boolean;
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
    isAttacked: readings.isAttacked,
  };
}

/** Throws if there are fewer than three minutes with an attack, or without. */
export function verdictOf(minutes: readonly Minute[]): Verdict {
  const calm = partOf(minutes.filter(({ isAttacked }) => !isAttacked));
  const attacked = partOf(minutes.filter(({ isAttacked }) => isAttacked));
  const errors = minutes.reduce((sum, minute) => sum + minute.errors, 0);
  const p99Ratio = attacked.all.p99Ms / calm.all.p99Ms;
  const [firstMs, lastMs] = [calm.first.p99Ms, calm.last.p99Ms];
  return {
    errors,
    calm,
    attacked,
    p99Ratio,
    disturbed: minutes.filter(isDisturbed).length,
    isClean: errors === 0 && minutes.every(({ answers }) => answers > 0),
    isBounded: calm.rssGrowth < RSS_GROWTH_MAX && attacked.rssGrowth < RSS_GROWTH_MAX,
    isFlat: lastMs <= Math.max(firstMs * P99_RATIO_MAX, firstMs + P99_DIFFERENCE_MS),
    isFair: p99Ratio <= ATTACKED_P99_RATIO_MAX,
  };
}

function partOf(minutes: readonly Minute[]): Part {
  if (minutes.length < 3) throw new Error('fewer than three minutes have no first and last third');
  const third = Math.floor(minutes.length / 3);
  const [first, last] = [figuresOf(minutes.slice(0, third)), figuresOf(minutes.slice(-third))];
  return { all: figuresOf(minutes), first, last, rssGrowth: last.rssBytes / first.rssBytes - 1 };
}

function figuresOf(minutes: readonly Minute[]): Figures {
  const undisturbed = minutes.filter((minute) => !isDisturbed(minute));
  const timed = undisturbed.length > 0 ? undisturbed : minutes;
  return {
    rssBytes: median(minutes.map(({ rssBytes }) => rssBytes)),
    p50Ms: median(timed.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(timed.map(({ p99Ms }) => p99Ms)),
  };
}

function isDisturbed({ stolenShare }: Minute): boolean {
  return stolenShare > STOLEN_MAX;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
