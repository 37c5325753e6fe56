import { INSTANT_MAX_MS, type InstantMs } from '../../domain/instant.ts';
import type { Outcome } from '../../domain/outcome.ts';
import { ReplayClock, type Speed } from '../../replay/replay-clock.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { EventWriter } from './event-writer.ts';
import { GapsByEnd, type StreamPosition } from './stream-events.ts';

/** Snapshots that one slice may have: a segment of each outcome, about. */
const SLICE_RECORDS_MAX = 128;

export interface StreamQuery {
  /** Both inclusive. `toMs` is not later than what may be known. */
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  readonly outcomes: readonly Outcome[];
  /** How many levels of each side; undefined: all. */
  readonly depth: number | undefined;
  readonly speed: Speed;
  /** The last event that the client has. */
  readonly after: StreamPosition | undefined;
  /** The ids of the events are bound to it. */
  readonly scope: string;
}

/**
 * One market's events in their order and at their pace, a slice at a time; between slices it keeps the position of the last
 * event and the gaps that have begun. The first event is due at once, every other one as long after it as it was recorded, at
 * the speed asked for; a slower reader gets all that is due. What is imported later is sent if it comes after that position.
 */
export class SnapshotStream {
  readonly #archive: Archive;
  readonly #query: StreamQuery;
  readonly #monotonicMs: () => number;
  #market: StoredMarket;
  #gaps: GapsByEnd;
  #after: StreamPosition | undefined;
  /** Starts with the first event. */
  #clock: ReplayClock | undefined;
  #snapshots = 0;
  #gapCount = 0;

  /** Reads, as `writeSlice` does. */
  constructor(archive: Archive, market: StoredMarket, query: StreamQuery, monotonicMs: () => number) {
    this.#archive = archive;
    this.#market = market;
    this.#query = query;
    this.#monotonicMs = monotonicMs;
    this.#after = query.after;
    this.#gaps = this.#gapsToCome();
  }

  /**
   * Writes what is due, or a part of it, and at the end an end event. Writes nothing later than `knownUntilMs`. Returns for how
   * many real milliseconds nothing more is due; undefined: nothing more comes, or only what may no longer be known.
   */
  writeSlice(writer: EventWriter, knownUntilMs: InstantMs | undefined): number | undefined {
    this.#refresh();
    const { snapshots } = this.#archive;
    const { fromMs, toMs, outcomes, depth, scope } = this.#query;
    const after = this.#after;
    const page = snapshots.page(this.#market, outcomes, {
      fromMs,
      toMs,
      order: 'asc',
      // Before the snapshots of a gap's end, whose ids begin with 1.
      after: after?.kind === 'gap' ? { timestampMs: after.timestampMs, id: 0 } : after,
      limit: SLICE_RECORDS_MAX,
    });
    writer.open(this.#market, page, depth);
    const dueMs = this.#clock?.dueMs;
    // A replay went back meanwhile.
    const isHeldBack = knownUntilMs !== undefined && knownUntilMs < toMs;
    for (;;) {
      const snapshot = writer.nextPosition;
      const gap = this.#gaps.first;
      // After a page that is not the last one there is a snapshot, which may come first.
      if (snapshot === undefined && page.plan.next !== undefined) return 0;
      const isGap = gap !== undefined && (snapshot === undefined || gap.position.timestampMs <= snapshot.timestampMs);
      const next = isGap ? gap.position : snapshot;
      if (next === undefined) {
        if (!isHeldBack) writer.writeEnd(this.#snapshots, this.#gapCount);
        return undefined;
      }
      if (isHeldBack && next.timestampMs > knownUntilMs) return undefined;
      this.#clock ??= this.#startClock(next.timestampMs);
      if (next.timestampMs > (dueMs ?? this.#clock.dueMs)) {
        return this.#clock.realMsUntil(next.timestampMs) ?? 0;
      }
      if (writer.isFull) return 0;
      if (isGap) {
        writer.writeGap(gap, scope);
        this.#gaps.pass();
        this.#gapCount += 1;
        this.#after = gap.position;
      } else {
        writer.writeSnapshot(next, scope);
        this.#snapshots += 1;
        this.#after = { kind: 'snapshot', timestampMs: next.timestampMs, id: next.id };
      }
    }
  }

  /** A market that changed may have other labels and new gaps. */
  #refresh(): void {
    const market = this.#archive.markets.byKey(this.#market.key);
    if (market.revision === this.#market.revision) return;
    this.#market = market;
    this.#gaps = this.#gapsToCome();
  }

  #gapsToCome(): GapsByEnd {
    const { fromMs, toMs } = this.#query;
    const beginMs = Math.max(fromMs, this.#after?.timestampMs ?? 0);
    return new GapsByEnd(this.#archive.gaps.within(this.#market.key, beginMs, toMs, toMs), this.#after);
  }

  #startClock(instantMs: InstantMs): ReplayClock {
    const clock = new ReplayClock({ fromMs: instantMs, toMs: INSTANT_MAX_MS }, this.#query.speed, this.#monotonicMs);
    clock.resume();
    return clock;
  }
}
