import { DomainError } from '../../domain/errors.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../../domain/instant.ts';
import type { Outcome } from '../../domain/outcome.ts';
import { ReplayClock, type Speed } from '../../replay/replay-clock.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { ShownSnapshot } from '../response/snapshot-page-writer.ts';
import type { EventWriter } from './event-writer.ts';
import { GapsByEnd, type StreamPosition } from './stream-events.ts';

/** Maximum number of snapshots in a slice: about a segment of each outcome. */
const SLICE_RECORDS_MAX = 128;

export interface StreamQuery {
  /** Both inclusive. `toMs` is not later than the latest instant that the answer may show. */
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  readonly outcomes: readonly Outcome[];
  readonly shown: ShownSnapshot;
  readonly speed: Speed;
  /** The last event that the client has. */
  readonly after: StreamPosition | undefined;
  /** Ids of events are valid within this scope only. */
  readonly scope: string;
}

/**
 * One market's events in order and at their recorded pace, in slices. Between slices it keeps the position of the last event and
 * the gaps that have begun. The first event is due immediately; the delay of all others is the recorded one, divided by the
 * speed. A slow reader gets all events that are due. Records that are imported later are sent if they come after the position.
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
   * Writes events that are due, all or the first of them, and the end event after the last one. Writes nothing later than
   * `latestMs`, and no event after the first `eventsMax` of the stream, except the end event. Returns the real milliseconds until
   * the next event is due; 'limit' if it is due and `eventsMax` is reached; undefined if no event may follow.
   * Throws 'not-found' if the market was deleted.
   */
  writeSlice(writer: EventWriter, latestMs: InstantMs | undefined, eventsMax: number): number | 'limit' | undefined {
    this.#refresh();
    const { snapshots } = this.#archive;
    const { fromMs, toMs, outcomes, shown } = this.#query;
    const after = this.#after;
    const page = snapshots.page(this.#market, outcomes, {
      fromMs,
      toMs,
      order: 'asc',
      // After a gap: before all snapshots of its end, whose ids start with 1.
      after: after?.kind === 'gap' ? { timestampMs: after.timestampMs, id: 0 } : after,
      limit: SLICE_RECORDS_MAX,
    });
    writer.open(this.#market, page, shown);
    const dueMs = this.#clock?.dueMs;
    // The clock of the replay jumped back.
    const isHeldBack = latestMs !== undefined && latestMs < toMs;
    for (;;) {
      const snapshot = writer.nextPosition;
      const gap = this.#gaps.first;
      // The next page may have a snapshot before the next gap.
      if (snapshot === undefined && page.plan.next !== undefined) return 0;
      const isGap = gap !== undefined && (snapshot === undefined || gap.position.timestampMs <= snapshot.timestampMs);
      const next = isGap ? gap.position : snapshot;
      if (next === undefined) {
        if (!isHeldBack) writer.writeEnd(this.#snapshots, this.#gapCount);
        return undefined;
      }
      if (isHeldBack && next.timestampMs > latestMs) return undefined;
      const waitMs = this.#waitMs(next.timestampMs, dueMs);
      if (waitMs !== undefined) return waitMs;
      if (this.#snapshots + this.#gapCount >= eventsMax) return 'limit';
      if (writer.isFull) return 0;
      if (isGap) this.#writeGap(writer, gap);
      else this.#writeSnapshot(writer, next);
    }
  }

  /** Real milliseconds until an event is due; undefined if it is. `dueMs`: what was due when the slice began. */
  #waitMs(timestampMs: InstantMs, dueMs: InstantMs | undefined): number | undefined {
    this.#clock ??= this.#startClock(timestampMs);
    return timestampMs > (dueMs ?? this.#clock.dueMs) ? (this.#clock.realMsUntil(timestampMs) ?? 0) : undefined;
  }

  #writeGap(writer: EventWriter, gap: NonNullable<GapsByEnd['first']>): void {
    writer.writeGap(gap, this.#query.scope);
    this.#gaps.pass();
    this.#gapCount += 1;
    this.#after = gap.position;
  }

  #writeSnapshot(writer: EventWriter, { timestampMs, id }: Parameters<EventWriter['writeSnapshot']>[0]): void {
    writer.writeSnapshot({ timestampMs, id }, this.#query.scope);
    this.#snapshots += 1;
    this.#after = { kind: 'snapshot', timestampMs, id };
  }

  /** Reads the market again if it changed: it may have other labels and new gaps. */
  #refresh(): void {
    const market = this.#archive.markets.byKey(this.#market.key);
    if (market === undefined) throw new DomainError('not-found', 'the market was deleted during the stream');
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
