import type { InstantMs } from '../domain/instant.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import type { RecordedWindow, RecorderStatus } from '../domain/recorder-status.ts';
import { type EarlierRecording, NOT_RUNNING } from './recorded-window.ts';
import { REORDERED_MS } from './watched-asset.ts';
import type { WrittenGaps } from './written-gaps.ts';

/** The work that the recorder before this one has left, by the state that it wrote last. */
export class EarlierRecorder {
  readonly #before: RecorderStatus | undefined;

  constructor(before: RecorderStatus | undefined) {
    this.#before = before;
  }

  /** The rest of the recording of a slug's window; undefined if the earlier recorder did not know it. */
  recordingOf(slug: string): EarlierRecording | undefined {
    const before = this.#before;
    const window = before?.windows.find((one) => one.slug === slug);
    if (before === undefined || window === undefined) return undefined;
    const openGaps = before.gaps.filter((gap) => gap.slug === slug && gap.toMs === null);
    // A gap stays open until a minute after its window, for a book that ends it.
    const isOver = window.endMs <= before.writtenMs;
    // Arrivals are by the clock of the machine; hashes show which of the time before is not missing.
    const aheadMs = Math.max(0, before.clock.offsetMs ?? 0);
    // The process may have ended before its last frames were written.
    const onDiskMs = (before.journal.writtenUntilMs ?? before.writtenMs) - REORDERED_MS - aheadMs;
    const fromMs = OUTCOMES.map((outcome, index) => {
      const open = openGaps.find((gap) => gap.outcome === outcome);
      const lastMs = isOver ? null : (window.lastEventMs[index] ?? null);
      const fromMs = open?.fromMs ?? (lastMs === null ? null : lastMs - aheadMs);
      return fromMs === null ? null : Math.min(fromMs, onDiskMs);
    });
    return {
      conditionId: window.conditionId,
      fromMs,
      isMissed: !isOver && window.state === 'missed',
      reason: (isOver ? openGaps[0]?.reason : undefined) ?? NOT_RUNNING,
    };
  }

  /** The windows of which it knew the market, and that ended without a winner. */
  unresolved(nowMs: InstantMs): readonly RecordedWindow[] {
    const isOpen = ({ endMs, conditionId, state }: RecordedWindow) =>
      endMs <= nowMs && conditionId !== null && state !== 'resolved' && state !== 'unresolved';
    return this.#before?.windows.filter(isOpen) ?? [];
  }

  /** Writes the gaps of windows that ended while no recorder was running or shortly before. Those that still run get theirs with their next book. */
  writeEnded(gaps: WrittenGaps, nowMs: InstantMs): void {
    for (const window of this.#before?.windows ?? []) {
      const earlier = window.endMs > nowMs ? undefined : this.recordingOf(window.slug);
      if (earlier?.isMissed === true) gaps.writeMissed(window);
      else gaps.writeEarlier(earlier, window);
    }
  }
}
