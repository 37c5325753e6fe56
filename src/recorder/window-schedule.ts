import type { InstantMs } from '../domain/instant.ts';
import type { Timeframe } from '../domain/timeframe.ts';
import { isWindowStart, type SlugWindow, slugOf, WINDOW_MS } from '../venue/slug.ts';

/** All windows start at a multiple of five minutes; those of an hour and longer at a full hour. */
const STEP_MS = 300_000;
const HOUR_MS = 3_600_000;

/** A window of a coin, and the slug that the venue gives its market. */
export interface ScheduledWindow extends SlugWindow {
  readonly slug: string;
}

/** The windows that end after `nowMs` and start at `untilMs` or before, by their start; of one start in the order of the arguments. */
export function windowsUntil(
  coins: readonly string[],
  timeframes: readonly Timeframe[],
  nowMs: InstantMs,
  untilMs: InstantMs,
): ScheduledWindow[] {
  const windows = timeframes.flatMap((timeframe) =>
    startsOf(timeframe, nowMs, untilMs).flatMap(({ startMs, endMs }) =>
      coins.map((symbol) => {
        const window = { symbol, timeframe, startMs, endMs };
        return { ...window, slug: slugOf(window) };
      }),
    ),
  );
  return windows.sort((a, b) => a.startMs - b.startMs);
}

/** The windows of one timeframe. The clocks of New York make some of 4h and 24h longer or shorter. */
function startsOf(timeframe: Timeframe, nowMs: InstantMs, untilMs: InstantMs) {
  const stepMs = Math.min(WINDOW_MS[timeframe], HOUR_MS);
  const spanMs = WINDOW_MS[timeframe] + HOUR_MS;
  const starts: InstantMs[] = [];
  for (let atMs = Math.ceil((nowMs - spanMs) / STEP_MS) * STEP_MS; atMs <= untilMs + spanMs; atMs += STEP_MS) {
    if (atMs % stepMs === 0 && isWindowStart(timeframe, atMs)) starts.push(atMs);
  }
  return starts
    .map((startMs, index) => ({ startMs, endMs: starts[index + 1] ?? startMs + WINDOW_MS[timeframe] }))
    .filter(({ startMs, endMs }) => endMs > nowMs && startMs <= untilMs);
}
