import type { InstantMs } from '../../domain/instant.ts';
import type { RecordedRange } from '../../domain/recorded-time.ts';
import type { Replay } from '../../replay/replay.ts';

/** Markets whose records are at most so far apart are one recording; it has such a time before it and after it, too. */
const APART_MS_MAX = 3_600_000;
/** The shortest recording: a single book has no length. */
const PART_MS_MIN = 60_000;

/** The part of a replay's time that its clock is in: a recording, or the time between two. Both ends are inclusive. */
export function recordedPart({ clock, recordedSpans }: Pick<Replay, 'clock' | 'recordedSpans'>): RecordedRange {
  const { nowMs, span } = clock;
  const recordings: { fromMs: InstantMs; toMs: InstantMs }[] = [];
  for (const { fromMs, toMs } of recordedSpans.toSorted((a, b) => a.fromMs - b.fromMs)) {
    if (toMs < span.fromMs || fromMs > span.toMs) continue;
    const last = recordings.at(-1);
    if (last !== undefined && fromMs - last.toMs <= APART_MS_MAX) last.toMs = Math.max(last.toMs, toMs);
    else {
      const isFirst = fromMs - span.fromMs <= APART_MS_MAX;
      recordings.push({ fromMs: isFirst ? span.fromMs : fromMs, toMs: Math.max(toMs, fromMs + PART_MS_MIN) });
    }
  }
  const last = recordings.at(-1);
  if (last !== undefined && span.toMs - last.toMs <= APART_MS_MAX) last.toMs = span.toMs;
  const before = recordings.findLast(({ toMs }) => toMs < nowMs);
  const after = recordings.find(({ fromMs }) => fromMs > nowMs);
  const between = { fromMs: before?.toMs ?? span.fromMs, toMs: after?.fromMs ?? span.toMs };
  return recordings.find(({ fromMs, toMs }) => fromMs <= nowMs && nowMs <= toMs) ?? between;
}
