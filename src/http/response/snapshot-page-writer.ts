import { formatInstant, type InstantMs } from '../../domain/instant.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { Order, Position } from '../../domain/page.ts';
import { BookReader } from '../../segment/book-segment.ts';
import { ByteBuffer } from '../../segment/byte-buffer.ts';
import type { SegmentSlice } from '../../segment/segment-header.ts';
import type { LabelBytes, SnapshotWriter } from '../../segment/snapshot-writer.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { OutcomePage } from '../../store/snapshots.ts';
import { type NearestOfOutcome, timestampOf } from '../v1/nearest.ts';
import type { SnapshotEnvelope } from './snapshot-envelope.ts';

/**
 * A page ends early, with a cursor, behind the record that takes it past so many bytes: to write more would hold up everybody
 * else for too long. A thousand books of 180 levels are below it; a grid of whole cents has 99.
 */
export const PAGE_BYTES_MAX = 6 * 1024 * 1024;
/**
 * And behind the record with which so many levels were rendered, those copied from the record before not counted. A thousand
 * real books have 10,000.
 */
const PAGE_LEVELS_MAX = 40_000;
/** So many of one outcome at once where they have to be written ahead. */
const CHUNK_LEVELS_MAX = PAGE_LEVELS_MAX / 2;

/** A level in JSON, about: `{"price":0.51,"size":120.5},`. */
const LEVEL_BYTES = 32;

/** One outcome's records of a page, in the page's order. */
interface Stream {
  readonly outcome: Outcome;
  readonly labels: LabelBytes;
  readonly slices: readonly SegmentSlice[];
  /** The slice that comes next. */
  next: number;
}

interface Ascent extends Stream {
  /** How many records of the present slice are left. */
  left: number;
}

interface Descent extends Stream {
  /** What is left of the present slice: its first records. */
  rest: SegmentSlice | undefined;
  /** Records of it that stand in the scratch buffer, the one to come first last. */
  readonly written: { readonly start: number; readonly end: number; readonly place: Position }[];
}

/** Where the answers of one format are written, one after another. */
export class SnapshotPageWriter {
  readonly #form: SnapshotEnvelope;
  readonly #out = new ByteBuffer();
  readonly #writers: Readonly<Record<Outcome, SnapshotWriter>>;
  /** Deltas lead forwards only: records of descending pages are written here first. */
  readonly #scratch = new ByteBuffer();
  readonly #scratchWriters: Readonly<Record<Outcome, SnapshotWriter>>;
  readonly #counter = new BookReader();
  /** Of the page that is being written. */
  #depth: number | undefined;

  constructor(form: SnapshotEnvelope) {
    this.#form = form;
    this.#writers = form.writersInto(this.#out);
    this.#scratchWriters = form.writersInto(this.#scratch);
  }

  /** A whole answer; valid until the next one begins. */
  writeNearest(
    market: StoredMarket,
    found: readonly NearestOfOutcome[],
    depth: number | undefined,
  ): Uint8Array<ArrayBuffer> {
    const out = this.#out;
    out.clear();
    this.#form.openList(out, found.length);
    this.#writeRecords(market, found, depth);
    this.#form.closeList(out);
    return out.view();
  }

  /**
   * The answers to many instants, each as `writeNearest` would give it; valid until the next one begins. It ends early as a
   * page does; returns how many it has.
   */
  writeNearestOfEach(
    market: StoredMarket,
    instants: readonly InstantMs[],
    find: (instantMs: InstantMs) => readonly NearestOfOutcome[],
    depth: number | undefined,
  ): number {
    const out = this.#out;
    const { up, down } = this.#writers;
    const renderedMax = up.rendered + down.rendered + PAGE_LEVELS_MAX;
    out.clear();
    this.#form.openList(out, instants.length);
    let count = 0;
    for (const instantMs of instants) {
      if (count > 0) this.#form.separate(out);
      const found = find(instantMs);
      const nearest = found[0];
      const distanceMs = nearest === undefined ? null : Math.abs(timestampOf(nearest) - instantMs);
      this.#form.openAnswer(out, formatInstant(instantMs), distanceMs, found.length);
      this.#writeRecords(market, found, depth);
      this.#form.closeList(out);
      count += 1;
      if (out.length > PAGE_BYTES_MAX || up.rendered + down.rendered > renderedMax) break;
    }
    if (count < instants.length) this.#form.recount(out, count);
    return count;
  }

  /** Ends the answers to many instants and returns their bytes; valid until the next answer begins. */
  closeNearestOfEach(next: string | null): Uint8Array<ArrayBuffer> {
    this.#form.closeListWith(this.#out, 'next', next);
    return this.#out.view();
  }

  #writeRecords(market: StoredMarket, found: readonly NearestOfOutcome[], depth: number | undefined): void {
    for (let i = 0; i < found.length; i += 1) {
      const { outcome, record } = found[i]!;
      const { payload, head, index } = record;
      if (i > 0) this.#form.separate(this.#out);
      const writer = this.#writers[outcome];
      writer.open({ payload, head, from: index, to: index + 1 }, this.#form.labelsOf(market, outcome), depth);
      writer.writeNext();
    }
  }

  /** Writes a page but for its end, and returns its last record's place where more follow. */
  writePage(
    market: StoredMarket,
    { outcomes, plan }: OutcomePage,
    order: Order,
    depth: number | undefined,
  ): Position | undefined {
    const { sequence, next } = plan;
    this.#depth = depth;
    this.#out.clear();
    this.#form.openList(this.#out, sequence.length);
    const streams = outcomes.map((outcome, series) => ({
      outcome,
      labels: this.#form.labelsOf(market, outcome),
      slices: plan.slices[series]!,
      next: 0,
    }));
    const cut = order === 'asc' ? this.#writeAscending(streams, sequence) : this.#writeDescending(streams, sequence);
    // What a large page made it grow to is not kept.
    this.#scratch.clear();
    if (cut === undefined) return next;
    this.#form.recount(this.#out, cut.count);
    return cut.last;
  }

  /** Ends a page and returns its bytes; valid until the next answer begins. */
  closePage(cursor: string | null): Uint8Array<ArrayBuffer> {
    this.#form.closeListWith(this.#out, 'nextCursor', cursor);
    return this.#out.view();
  }

  #writeAscending(streams: readonly Stream[], sequence: readonly number[]): Cut | undefined {
    const out = this.#out;
    const { up, down } = this.#writers;
    const renderedMax = up.rendered + down.rendered + PAGE_LEVELS_MAX;
    const ascents = streams.map((stream): Ascent => ({ ...stream, left: 0 }));
    for (let i = 0; i < sequence.length; i += 1) {
      if (i > 0) this.#form.separate(out);
      const ascent = ascents[sequence[i]!]!;
      const writer = this.#writers[ascent.outcome];
      if (ascent.left === 0) {
        const slice = ascent.slices[ascent.next]!;
        ascent.next += 1;
        ascent.left = slice.to - slice.from;
        writer.open(slice, ascent.labels, this.#depth);
      }
      writer.writeNext();
      ascent.left -= 1;
      const isFull = out.length > PAGE_BYTES_MAX || up.rendered + down.rendered > renderedMax;
      if (isFull && i + 1 < sequence.length) return { count: i + 1, last: writer.position };
    }
    return undefined;
  }

  #writeDescending(streams: readonly Stream[], sequence: readonly number[]): Cut | undefined {
    const out = this.#out;
    const scratch = this.#scratch;
    scratch.clear();
    const { up, down } = this.#scratchWriters;
    const renderedMax = up.rendered + down.rendered + PAGE_LEVELS_MAX;
    const descents = streams.map((stream): Descent => ({ ...stream, rest: undefined, written: [] }));
    for (let i = 0; i < sequence.length; i += 1) {
      if (i > 0) this.#form.separate(out);
      const descent = descents[sequence[i]!]!;
      if (descent.written.length === 0) this.#writeScratch(descent);
      const { start, end, place } = descent.written.pop()!;
      out.append(scratch.bytes.subarray(start, end));
      if (i + 1 === sequence.length) break;
      const following = descents[sequence[i + 1]!]!;
      const isFull = following.written.length === 0 && up.rendered + down.rendered > renderedMax;
      if (isFull || out.length > PAGE_BYTES_MAX) return { count: i + 1, last: place };
    }
    return undefined;
  }

  /** Writes the next records of a descent: those of one slice, or fewer where they are large. */
  #writeScratch(descent: Descent): void {
    const scratch = this.#scratch;
    const slice = descent.rest ?? descent.slices[descent.next++]!;
    const from = this.#firstThatFits(slice);
    const writer = this.#scratchWriters[descent.outcome];
    writer.open({ ...slice, from }, descent.labels, this.#depth);
    for (let left = slice.to - from; left > 0; left -= 1) {
      const start = scratch.length;
      writer.writeNext();
      descent.written.push({ start, end: scratch.length, place: writer.position });
    }
    descent.rest = from > slice.from ? { ...slice, to: from } : undefined;
  }

  /** From which record on those of a slice are no more than a page, about; the last one always is. */
  #firstThatFits({ payload, head, from, to }: SegmentSlice): number {
    // A level takes a byte of the payload at least: most slices are not large, whatever they hold.
    if ((to - from) * payload.length * LEVEL_BYTES <= PAGE_BYTES_MAX && payload.length <= CHUNK_LEVELS_MAX) return from;
    const reader = this.#counter;
    reader.open(payload, head);
    reader.advanceTo(from - 1);
    const levels: number[] = [];
    const edits: number[] = [];
    while (reader.index + 1 < to) {
      reader.advance();
      levels.push(reader.bids.length + reader.asks.length);
      edits.push(reader.bidEdits.length + reader.askEdits.length);
    }
    let first = levels.length - 1;
    let bytes = levels[first]! * LEVEL_BYTES;
    let edited = edits[first]!;
    while (first > 0) {
      bytes += levels[first - 1]! * LEVEL_BYTES;
      // The first of those that are written is rendered whole.
      if (bytes > PAGE_BYTES_MAX || levels[first - 1]! + edited > CHUNK_LEVELS_MAX) break;
      first -= 1;
      edited += edits[first]!;
    }
    return from + first;
  }
}

/** Where a page ended early: how many records it has, and the last one's place. */
interface Cut {
  readonly count: number;
  readonly last: Position;
}
