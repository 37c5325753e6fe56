import type { InstantMs } from '../domain/instant.ts';
import type { Market } from '../domain/market.ts';
import { TIMEFRAMES, type Timeframe } from '../domain/timeframe.ts';
import { isWindowStart, WINDOW_MS } from '../venue/slug.ts';
import type { Span } from './replay-clock.ts';

/** The window of a market, and its first record; without records `firstMs` is Infinity. */
export interface RecordedWindow extends Pick<Market, 'timeframe' | 'startMs' | 'endMs'> {
  readonly firstMs: InstantMs;
}

/** The start of a rebased replay: a recorded instant, and the milliseconds that are added to recorded times. */
interface PresentStart {
  readonly instantMs: InstantMs;
  readonly shiftMs: number;
  /** Until the present is at the moved instant; undefined: the clock runs at once. */
  readonly waitMs?: number;
}

/** A rating of a start: lower is better, and each field decides only if those before it are equal. */
interface Rating {
  /** The index of the shortest timeframe of an open market. */
  readonly open: number;
  readonly misplacedOpen: number;
  readonly misplaced: number;
}

const HOUR_MS = WINDOW_MS['1h'];
/** A start waits for a window at most this long, and takes one that has begun if it is late by less than LATE_MS. */
const WAIT_MS_MAX = WINDOW_MS['15m'];
const LATE_MS = 2000;

/**
 * The start of a replay in the present, `wallMs`: an instant of `span` with the present's place in its window, so that moved
 * windows are on the venue's grid. That makes the shift a multiple of all timeframes of the replay; the hours of 4h and 24h
 * count in New York. The search begins where the first market is open, and ends a longest window later. It prefers, in this
 * order:
 *
 *   1. an instant at which a market of a shorter timeframe is open and has a record: most bots look for those;
 *   2. a shift that gives more of the open markets the window of the present, and then puts more of all markets on the grid. All
 *      of them may be impossible if the recording is short, or if clocks change in it or while it is replayed;
 *   3. the earliest instant.
 *
 * With several timeframes, a start that has a market out of place, or leaves less of `span` than its longest window, gives way to the
 * beginning of a window that has fewer, or leaves more: see `windowBeginning`.
 *
 * If no market is open at any of these instants, the start is where the first one is open, and that market has the window of the
 * present: then the replay's clock is up to a window before or after the present.
 */
export function presentStart(windows: readonly RecordedWindow[], span: Span, wallMs: InstantMs): PresentStart {
  const firstMs = firstOpenMs(windows, span);
  const lengths = windows.map(({ timeframe }) => WINDOW_MS[timeframe]);
  const stepMs = lengths.reduce((shortest, length) => Math.min(shortest, length), HOUR_MS);
  // A day may have 25 hours.
  const lastMs = Math.min(
    span.toMs,
    firstMs + lengths.reduce((longest, length) => Math.max(longest, length), 0) + HOUR_MS,
  );
  const anchor = windows.find(({ timeframe }) => Math.min(WINDOW_MS[timeframe], HOUR_MS) === stepMs);
  const untilNextMs = modulo(wallMs + (anchor?.startMs ?? 0) - firstMs, stepMs);
  const near = windows.filter(({ startMs, endMs }) => startMs <= lastMs && endMs > firstMs);
  const currentMs = Object.fromEntries(
    TIMEFRAMES.map((timeframe) => [timeframe, windowStartBefore(timeframe, wallMs)]),
  );
  const distinct = distinctWindows(windows);
  let best: (PresentStart & Rating) | undefined;
  for (let instantMs = firstMs + untilNextMs; instantMs <= lastMs; instantMs += stepMs) {
    const shiftMs = wallMs - instantMs;
    const openNow = near.filter((window) => isOpen(window, instantMs));
    const open = shortestOf(openNow);
    if (best !== undefined && open > best.open) continue;
    const misplacedOpen = openNow.filter(({ timeframe, startMs }) => startMs + shiftMs !== currentMs[timeframe]).length;
    const misplaced = countMisplaced(distinct, shiftMs);
    const rated = { instantMs, shiftMs, open, misplacedOpen, misplaced };
    if (best === undefined || isBetter(rated, best)) best = rated;
  }
  if (best !== undefined && best.open < TIMEFRAMES.length) {
    const longestMs = Math.max(...lengths);
    const next = longestMs > Math.min(...lengths) ? windowBeginning(windows, span, wallMs) : undefined;
    if (next === undefined || next.misplacedOpen > best.misplacedOpen) return best;
    const isLast = span.toMs - best.instantMs < longestMs && next.instantMs < best.instantMs;
    return next.misplacedOpen < best.misplacedOpen || isLast ? next : best;
  }
  const openAtFirst = near.filter((window) => isOpen(window, firstMs));
  const first = openAtFirst.find(({ timeframe }) => timeframe === TIMEFRAMES[shortestOf(openAtFirst)]);
  if (first !== undefined) {
    return { instantMs: firstMs, shiftMs: currentMs[first.timeframe]! - first.startMs };
  }
  return best ?? { instantMs: firstMs, shiftMs: wallMs - firstMs - untilNextMs };
}

/**
 * The start of a replay at the beginning of a window of the shortest timeframe, when the next window of the venue begins: it waits until
 * then. Of the beginnings that give most of their markets the window of the present, the one with the least time of waiting and of the
 * recording that is left out. Undefined if no window with a record begins within `span`.
 */
export function windowBeginning(windows: readonly RecordedWindow[], span: Span, wallMs: InstantMs) {
  const recorded = windows.filter(({ startMs, endMs, firstMs }) => {
    return startMs >= span.fromMs && startMs < span.toMs && firstMs < endMs;
  });
  const timeframe = TIMEFRAMES[shortestOf(recorded)];
  if (timeframe === undefined) return undefined;
  const firstStartMs = Math.min(...recorded.map(({ startMs }) => startMs));
  const starts = recorded.filter(
    (window) => window.timeframe === timeframe && window.startMs <= firstStartMs + HOUR_MS,
  );
  let best: (Required<PresentStart> & { misplacedOpen: number; costMs: number }) | undefined;
  const stepMs = Math.min(WINDOW_MS[timeframe], HOUR_MS);
  const earliestMs = windowStartBefore(timeframe, wallMs - LATE_MS) + stepMs;
  for (let beginMs = earliestMs; beginMs <= wallMs + Math.max(WAIT_MS_MAX, stepMs); beginMs += stepMs) {
    if (!isWindowStart(timeframe, beginMs)) continue;
    for (const { startMs, firstMs } of starts) {
      const shiftMs = beginMs - startMs;
      const instantMs = startMs + Math.max(0, wallMs - beginMs);
      if (instantMs > span.toMs) continue;
      const open = windows.filter((window) => window.startMs <= startMs && startMs < window.endMs);
      const misplacedOpen = open.filter((each) => !isWindowStart(each.timeframe, each.startMs + shiftMs)).length;
      const waitMs = Math.max(0, beginMs - wallMs);
      const costMs = waitMs + Math.max(startMs, firstMs) - firstStartMs;
      if (best !== undefined && (misplacedOpen - best.misplacedOpen || costMs - best.costMs) >= 0) continue;
      best = { instantMs, shiftMs, waitMs, misplacedOpen, costMs };
    }
  }
  return best;
}

/** The first instant of a span at which a market is open; its beginning if there is none. */
function firstOpenMs(windows: readonly RecordedWindow[], { fromMs, toMs }: Span): InstantMs {
  let earliestMs = Infinity;
  for (const window of windows) {
    const openedMs = Math.max(fromMs, window.startMs, window.firstMs);
    if (isOpen(window, openedMs)) earliestMs = Math.min(earliestMs, openedMs);
  }
  return earliestMs <= toMs ? earliestMs : fromMs;
}

/** The number of windows of each timeframe that are not on the venue's grid after the move; timeframes without one are left out. */
export function misplacedWindows(windows: readonly RecordedWindow[], shiftMs: number): ReadonlyMap<Timeframe, number> {
  const counts = TIMEFRAMES.map((timeframe) => {
    const own = distinctWindows(windows.filter((window) => window.timeframe === timeframe));
    return [timeframe, countMisplaced(own, shiftMs)] as const;
  });
  return new Map(counts.filter(([, count]) => count > 0));
}

/**
 * Starts with the number of markets that have each: coins share windows, and of those of up to an hour only the place in the
 * hour counts.
 */
function distinctWindows(windows: readonly RecordedWindow[]): Map<Timeframe, Map<InstantMs, number>> {
  const distinct = new Map<Timeframe, Map<InstantMs, number>>();
  for (const window of windows) {
    const { timeframe } = window;
    const startMs = WINDOW_MS[timeframe] > HOUR_MS ? window.startMs : modulo(window.startMs, HOUR_MS);
    const starts = distinct.get(timeframe) ?? new Map<InstantMs, number>();
    starts.set(startMs, (starts.get(startMs) ?? 0) + 1);
    distinct.set(timeframe, starts);
  }
  return distinct;
}

function countMisplaced(windows: ReadonlyMap<Timeframe, ReadonlyMap<InstantMs, number>>, shiftMs: number): number {
  let misplaced = 0;
  for (const [timeframe, starts] of windows) {
    for (const [startMs, count] of starts) {
      if (!isWindowStart(timeframe, startMs + shiftMs)) misplaced += count;
    }
  }
  return misplaced;
}

/** The index of the shortest timeframe; the number of timeframes if there is no window. */
function shortestOf(windows: readonly RecordedWindow[]): number {
  return Math.min(TIMEFRAMES.length, ...windows.map(({ timeframe }) => TIMEFRAMES.indexOf(timeframe)));
}

function isBetter(a: Rating, b: Rating): boolean {
  return (a.open - b.open || a.misplacedOpen - b.misplacedOpen || a.misplaced - b.misplaced) < 0;
}

/** Returns true if at an instant the window has begun, has not ended, and has a record. */
function isOpen({ startMs, endMs, firstMs }: RecordedWindow, instantMs: InstantMs): boolean {
  return Math.max(startMs, firstMs) <= instantMs && instantMs < endMs;
}

/** The latest start of a window of the venue at or before an instant. */
function windowStartBefore(timeframe: Timeframe, instantMs: InstantMs): InstantMs {
  const stepMs = Math.min(WINDOW_MS[timeframe], HOUR_MS);
  let startMs = instantMs - modulo(instantMs, stepMs);
  while (!isWindowStart(timeframe, startMs)) startMs -= stepMs;
  return startMs;
}

function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}
