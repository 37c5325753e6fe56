import { formatInstant, type InstantMs } from '../../domain/instant.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { Order, Position } from '../../domain/page.ts';
import { BookReader } from '../../segment/book-decoder.ts';
import { ByteBuffer } from '../../segment/byte-buffer.ts';
import type { SegmentSlice } from '../../segment/segment-header.ts';
import type { ArrivalField, LabelBytes, SnapshotWriter } from '../../segment/snapshot-writer.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { type NearestOfOutcome, timestampOf } from '../../store/nearest.ts';
import type { OutcomePage } from '../../store/snapshots.ts';
import { marketLabels, type NextField, type SnapshotEnvelope, writersInto } from './snapshot-envelope.ts';

/**
 * A page ends early, with a cursor, after the record with which it exceeds this size: a longer page would delay all other requests
 * too much. A thousand books of 180 levels are smaller; a grid of whole cents has 99 levels.
 */
export const PAGE_BYTES_MAX = 6 * 1024 * 1024;
/** The same for rendered levels. Levels copied from the previous record do not count. A thousand real books have 10,000. */
const PAGE_LEVELS_MAX = 40_000;
/** Maximum number of levels of one outcome that are written ahead. */
const CHUNK_LEVELS_MAX = PAGE_LEVELS_MAX / 2;
/** Approximate size of a level in JSON: `{"price":0.51,"size":120.5},`. */
const LEVEL_BYTES = 32;
/** Space for the start of a document, which has the number of records and is written last. */
const HEADER_BYTES_MAX = 9;

/** The levels and fields of each snapshot of an answer. */
export interface ShownSnapshot {
  /** The maximum number of levels of each side; undefined: all. */
  readonly depth: number | undefined;
  readonly arrival: ArrivalField;
}

/** As a request asks for it. */
export function shownSnapshot({ depth, include }: { depth?: number; include?: 'receivedAt' }): ShownSnapshot {
  return { depth, arrival: include === 'receivedAt' ? 'always' : 'never' };
}

/** One outcome's records of a page, in the page's order. */
interface Series {
  readonly outcome: Outcome;
  readonly labels: LabelBytes;
  /** Slices that are not written yet. */
  readonly slices: SegmentSlice[];
  /** For descending pages: records in the scratch buffer; the last one is the next to send. */
  readonly written: { readonly start: number; readonly end: number; readonly position: Position }[];
}

/** The end of a page: its number of records, and the position of the last one if more follow. */
interface PageEnd {
  readonly count: number;
  readonly next: Position | undefined;
}

/** Writes answers in one format. Returned bytes are valid until the next call. */
export class SnapshotPageWriter {
  readonly #envelope: SnapshotEnvelope;
  readonly #labelsOf: ReturnType<typeof marketLabels>;
  readonly #out = new ByteBuffer();
  readonly #writers: Readonly<Record<Outcome, SnapshotWriter>>;
  /** Deltas can only be read forwards: records of descending pages are written here first. */
  readonly #scratch = new ByteBuffer();
  readonly #scratchWriters: Readonly<Record<Outcome, SnapshotWriter>>;

  constructor(envelope: SnapshotEnvelope) {
    this.#envelope = envelope;
    this.#labelsOf = marketLabels(envelope);
    this.#writers = writersInto(this.#out, envelope);
    this.#scratchWriters = writersInto(this.#scratch, envelope);
  }

  nearest(market: StoredMarket, found: readonly NearestOfOutcome[], shown: ShownSnapshot): Uint8Array<ArrayBuffer> {
    this.#begin();
    this.#writeRecords(market, found, shown);
    return this.#end(found.length);
  }

  /** The answers about many instants, each as in `nearest`. Ends early like a page, and names the next instant. */
  nearestOfEach(
    market: StoredMarket,
    instants: readonly InstantMs[],
    find: (instantMs: InstantMs) => readonly NearestOfOutcome[],
    shown: ShownSnapshot,
  ): Uint8Array<ArrayBuffer> {
    const out = this.#out;
    const isFull = levelsLimit(this.#writers);
    this.#begin();
    let count = 0;
    for (const instantMs of instants) {
      if (count > 0) this.#envelope.separate(out);
      const found = find(instantMs);
      const nearest = found[0];
      const distanceMs = nearest === undefined ? null : Math.abs(timestampOf(nearest) - instantMs);
      this.#envelope.beginAnswer(out, formatInstant(instantMs), distanceMs, found.length);
      this.#writeRecords(market, found, shown);
      this.#envelope.end(out);
      count += 1;
      if (out.length > PAGE_BYTES_MAX || isFull()) break;
    }
    const next = instants[count];
    return this.#end(count, ['next', next === undefined ? null : formatInstant(next)]);
  }

  /** `cursorOf` gets the position of the last record if more follow, else undefined. */
  page(
    market: StoredMarket,
    { outcomes, plan }: OutcomePage,
    order: Order,
    shown: ShownSnapshot,
    cursorOf: (next: Position | undefined) => string | null,
  ): Uint8Array<ArrayBuffer> {
    const series = outcomes.map(
      (outcome, i): Series => ({
        outcome,
        labels: this.#labelsOf(market)[outcome],
        slices: [...plan.slices[i]!],
        written: [],
      }),
    );
    this.#begin();
    const cut =
      order === 'asc'
        ? this.#writeAscending(series, plan.sequence, shown)
        : this.#writeDescending(series, plan.sequence, shown);
    // Frees the memory of a large page.
    this.#scratch.clear();
    const { count, next } = cut ?? { count: plan.sequence.length, next: plan.next };
    return this.#end(count, ['nextCursor', cursorOf(next)]);
  }

  #begin(): void {
    this.#out.clear();
    this.#out.length = HEADER_BYTES_MAX;
  }

  /** Writes the start of the document directly before its values. */
  #end(count: number, next?: NextField): Uint8Array<ArrayBuffer> {
    const out = this.#out;
    this.#envelope.end(out, next);
    const { length } = out;
    out.length = 0;
    this.#envelope.begin(out, count, next !== undefined);
    const start = HEADER_BYTES_MAX - out.length;
    out.bytes.copyWithin(start, 0, out.length);
    out.length = length;
    return out.bytes.subarray(start, length);
  }

  #writeRecords(market: StoredMarket, found: readonly NearestOfOutcome[], { depth, arrival }: ShownSnapshot): void {
    for (let i = 0; i < found.length; i += 1) {
      const { outcome, record } = found[i]!;
      const { payload, head, index } = record;
      if (i > 0) this.#envelope.separate(this.#out);
      const writer = this.#writers[outcome];
      writer.open({ payload, head, from: index, to: index + 1 }, this.#labelsOf(market)[outcome], depth, arrival);
      writer.writeNext();
    }
  }

  /** Writes a page. Undefined: it has all records of `sequence`; else it ended early. */
  #writeAscending(all: readonly Series[], sequence: readonly number[], shown: ShownSnapshot): PageEnd | undefined {
    const out = this.#out;
    const isFull = levelsLimit(this.#writers);
    const left = all.map(() => 0);
    for (let i = 0; i < sequence.length; i += 1) {
      if (i > 0) this.#envelope.separate(out);
      const number = sequence[i]!;
      const series = all[number]!;
      const writer = this.#writers[series.outcome];
      if (left[number] === 0) {
        const slice = series.slices.shift()!;
        left[number] = slice.to - slice.from;
        writer.open(slice, series.labels, shown.depth, shown.arrival);
      }
      writer.writeNext();
      left[number]! -= 1;
      if (i + 1 < sequence.length && (out.length > PAGE_BYTES_MAX || isFull()))
        return { count: i + 1, next: writer.position };
    }
    return undefined;
  }

  #writeDescending(all: readonly Series[], sequence: readonly number[], shown: ShownSnapshot): PageEnd | undefined {
    const out = this.#out;
    const scratch = this.#scratch;
    const isFull = levelsLimit(this.#scratchWriters);
    scratch.clear();
    for (let i = 0; i < sequence.length; i += 1) {
      if (i > 0) this.#envelope.separate(out);
      const series = all[sequence[i]!]!;
      if (series.written.length === 0) this.#writeScratch(series, shown);
      const { start, end, position } = series.written.pop()!;
      out.append(scratch.bytes.subarray(start, end));
      if (i + 1 === sequence.length) break;
      const mustWrite = all[sequence[i + 1]!]!.written.length === 0;
      if (out.length > PAGE_BYTES_MAX || (mustWrite && isFull())) return { count: i + 1, next: position };
    }
    return undefined;
  }

  /** Writes the next records of a series: all of one slice, or the last ones of a large slice. */
  #writeScratch(series: Series, shown: ShownSnapshot): void {
    const scratch = this.#scratch;
    const slice = series.slices.shift()!;
    const from = firstThatFits(slice);
    const writer = this.#scratchWriters[series.outcome];
    writer.open({ ...slice, from }, series.labels, shown.depth, shown.arrival);
    for (let left = slice.to - from; left > 0; left -= 1) {
      const start = scratch.length;
      writer.writeNext();
      series.written.push({ start, end: scratch.length, position: writer.position });
    }
    if (from > slice.from) series.slices.unshift({ ...slice, to: from });
  }
}

/** The index from which the records of a slice fit in a page, approximately; at least the last record. */
function firstThatFits({ payload, head, from, to }: SegmentSlice): number {
  // A level takes at least one byte of the payload: most slices fit without a closer look.
  if ((to - from) * payload.length * LEVEL_BYTES <= PAGE_BYTES_MAX && payload.length <= CHUNK_LEVELS_MAX) return from;
  const reader = new BookReader(payload, head);
  reader.advanceTo(from - 1);
  const records: { readonly levels: number; readonly edits: number }[] = [];
  while (reader.index + 1 < to) {
    reader.advance();
    const { bids, asks, bidEdits, askEdits } = reader;
    records.push({ levels: bids.length + asks.length, edits: bidEdits.length + askEdits.length });
  }
  let first = records.length - 1;
  let bytes = records[first]!.levels * LEVEL_BYTES;
  let { edits } = records[first]!;
  while (first > 0) {
    const before = records[first - 1]!;
    bytes += before.levels * LEVEL_BYTES;
    // The first record is rendered completely.
    if (bytes > PAGE_BYTES_MAX || before.levels + edits > CHUNK_LEVELS_MAX) break;
    first -= 1;
    edits += before.edits;
  }
  return from + first;
}

/** Returns true if PAGE_LEVELS_MAX levels were rendered since this call. */
function levelsLimit({ up, down }: Readonly<Record<Outcome, SnapshotWriter>>): () => boolean {
  const max = up.rendered + down.rendered + PAGE_LEVELS_MAX;
  return () => up.rendered + down.rendered > max;
}
