import type { InstantMs } from './instant.ts';

/** Books further apart than this do not record the time between them: a recorder that ran would have had a book. */
export const SILENCE_MS_MAX = 60_000;

/** From the first instant to the last one. */
export interface RecordedRange {
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
}

/** See RECORDED_SECONDS of market.ts. */
export interface RecordedSeconds {
  readonly recordedSeconds: number;
  readonly windowSeconds: number;
}

export function recordedSeconds(
  { startMs, endMs }: { readonly startMs: InstantMs; readonly endMs: InstantMs },
  recordedMs: number,
) {
  return { recordedSeconds: recordedMs / 1000, windowSeconds: (endMs - startMs) / 1000 };
}

/** `10 s of 300 s`: whole seconds, rounded down, so that only a whole window says so. */
export function recordedText({ recordedSeconds, windowSeconds }: RecordedSeconds): string {
  return `${Math.floor(recordedSeconds).toLocaleString('en-US')} s of ${windowSeconds.toLocaleString('en-US')} s`;
}

/**
 * The milliseconds of a window that are recorded: those between two consecutive books of either outcome that are at most SILENCE_MS_MAX
 * apart, without the gaps. `runs` are ranges within which books follow each other that closely, of any outcome, in any order, from a
 * first book to a last one. Gaps may overlap.
 */
export function recordedMs(
  window: RecordedRange,
  runs: readonly RecordedRange[],
  gaps: readonly RecordedRange[],
): number {
  const recorded = joined(runs, SILENCE_MS_MAX).flatMap((range) => clipped(range, window));
  const missed = joined(gaps, 0);
  let sumMs = 0;
  let next = 0;
  for (const range of recorded) {
    sumMs += range.toMs - range.fromMs;
    while (next < missed.length && missed[next]!.toMs <= range.fromMs) next += 1;
    for (let at = next; at < missed.length && missed[at]!.fromMs < range.toMs; at += 1) {
      for (const { fromMs, toMs } of clipped(missed[at]!, range)) sumMs -= toMs - fromMs;
    }
  }
  return sumMs;
}

/** The ranges in which times follow each other within SILENCE_MS_MAX, ascending. `times` ascend. */
export function runsOf(times: Iterable<InstantMs>): RecordedRange[] {
  return joined(
    Array.from(times, (ms) => ({ fromMs: ms, toMs: ms })),
    SILENCE_MS_MAX,
  );
}

/** The ranges, ascending; those at most `apartMs` apart are one. */
function joined(ranges: readonly RecordedRange[], apartMs: number): RecordedRange[] {
  const found: { fromMs: InstantMs; toMs: InstantMs }[] = [];
  for (const { fromMs, toMs } of ranges.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = found.at(-1);
    if (last !== undefined && fromMs - last.toMs <= apartMs) last.toMs = Math.max(last.toMs, toMs);
    else found.push({ fromMs, toMs });
  }
  return found;
}

/** The part of a range within `bounds`, if there is one. */
function clipped({ fromMs, toMs }: RecordedRange, bounds: RecordedRange): RecordedRange[] {
  const part = { fromMs: Math.max(fromMs, bounds.fromMs), toMs: Math.min(toMs, bounds.toMs) };
  return part.fromMs < part.toMs ? [part] : [];
}
