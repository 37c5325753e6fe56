import { formatInstant } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Position } from '../domain/page.ts';
import { BookReader } from './book-decoder.ts';
import type { ByteBuffer } from './byte-buffer.ts';
import { writeText, writeThreeDigits, writeTwoDigits } from './decimal-text.ts';
import type { SegmentSlice } from './segment-header.ts';
import type { SideBytes } from './side-bytes.ts';

/** Fields of a snapshot in an answer, besides its id, timestamp and levels. */
export interface SnapshotLabels {
  readonly assetId: string;
  readonly conditionId: string;
  readonly symbol: string;
  readonly outcome: Outcome;
  readonly timeframe: string;
}

/** Labels of a snapshot in a recording, where the market's own record has the other fields. */
export interface RecordingLabels {
  readonly type: 'snapshot';
  readonly conditionId: string;
  readonly outcome: Outcome;
  /** True when the snapshots were made from the other outcome's; otherwise left out. */
  readonly mirrored?: boolean;
}

/** The bytes of every snapshot of an outcome before its id, and between id and timestamp. */
export interface LabelBytes {
  readonly opening: Uint8Array;
  readonly middle: Uint8Array;
}

/** The snapshots with a field for their arrival: none, those whose arrival is stated, or all (null where it is not stated). */
export type ArrivalField = 'never' | 'stated' | 'always';

/** The bytes before the bids, between the sides, and after the asks. */
export interface SnapshotFrame {
  /** The bytes between timestamp and arrival. */
  readonly arrival: Uint8Array;
  /** The bytes between timestamp and bids where the arrival is null. */
  readonly noArrival: Uint8Array;
  readonly bids: Uint8Array;
  readonly asks: Uint8Array;
  readonly end: Uint8Array;
}

const NO_LABELS: LabelBytes = { opening: new Uint8Array(0), middle: new Uint8Array(0) };
const RECORD_BYTES_WITHOUT_LEVELS = 512;
const MINUTE_MS = 60_000;
/** `2026-04-16T07:10:`: an instant up to its seconds. */
const MINUTE_CHARS = 17;
const POINT = 46;
/** A value of `clears` that no buffer has: nothing was written yet. */
const NOT_WRITTEN = -1;

/**
 * Writes the snapshots of one slice after another, straight from a segment's integers. A snapshot copies the bytes of the one
 * before and renders only the changed levels again; it makes no objects per level. One writer can serve any number of markets,
 * and several writers may write to one buffer. After a `clear` of the buffer the next snapshot is rendered in full.
 */
export abstract class SnapshotWriter {
  protected readonly out: ByteBuffer;
  readonly #bids: SideBytes;
  readonly #asks: SideBytes;
  readonly #frame: SnapshotFrame;
  #labels: LabelBytes = NO_LABELS;
  #depth = Infinity;
  readonly #reader = new BookReader();
  /** The buffer's `clears` when the previous snapshot was written in full; if it is unchanged, that snapshot can be copied. */
  #writtenAt = NOT_WRITTEN;
  /** Position and length of the previous snapshot, and the offsets of its id and timestamp. */
  #start = 0;
  #length = 0;
  #idOffset = 0;
  #instantOffset = 0;
  #arrivalField: ArrivalField = 'never';
  /** The offset of the previous snapshot's arrival; undefined without the field, null for the value null. */
  #arrivalOffset: number | null | undefined;
  /** The range of ids that have as many digits as the previous one: from `#idFrom`, inclusive, to `#idEnd`, exclusive. */
  #idFrom = 0;
  #idEnd = 0;
  #rendered = 0;
  readonly #timestamps = new InstantWriter();
  readonly #arrivals = new InstantWriter();

  constructor(out: ByteBuffer, bids: SideBytes, asks: SideBytes, frame: SnapshotFrame) {
    this.out = out;
    this.#bids = bids;
    this.#asks = asks;
    this.#frame = frame;
  }

  /** Writes an id as a string; returns the position after it. */
  protected abstract writeId(bytes: Uint8Array, position: number, id: number): number;

  /** Notes that the record at `position` has one field more than its labels say. */
  protected abstract addField(bytes: Uint8Array, position: number): void;

  /** Starts at the record `segment.from`; each call of `writeNext` writes a record with the best `depth` levels of each side. */
  open(segment: SegmentSlice, labels: LabelBytes, depth = Infinity, arrivalField: ArrivalField = 'never'): void {
    this.#labels = labels;
    this.#depth = depth;
    this.#arrivalField = arrivalField;
    // The books before the first one are decoded, not written.
    this.#reader.moveBefore(segment);
    this.#writtenAt = NOT_WRITTEN;
  }

  /** Number of levels rendered since the writer was made; copied levels do not count. */
  get rendered(): number {
    return this.#rendered;
  }

  /** The position of the last written record. */
  get position(): Position {
    const { head, index } = this.#reader;
    return { timestampMs: head.timestamps[index]!, id: head.ids[index]! };
  }

  writeNext(): void {
    const reader = this.#reader;
    reader.advance();
    const id = reader.head.ids[reader.index]!;
    const bids = Math.min(reader.bids.length, this.#depth);
    const asks = Math.min(reader.asks.length, this.#depth);
    // A side limited by `depth` is rendered each time: the edits are those of the whole side.
    const isWhole = bids === reader.bids.length && asks === reader.asks.length;
    const copies = isWhole && this.#writtenAt === this.out.clears;
    const receivedMs = this.#arrivalField === 'never' ? undefined : reader.receivedMs;
    const patches =
      copies &&
      (receivedMs === undefined) === (typeof this.#arrivalOffset !== 'number') &&
      id >= this.#idFrom &&
      id < this.#idEnd &&
      this.#bids.canPatch(reader.bidEdits) &&
      this.#asks.canPatch(reader.askEdits);
    this.#rendered += copies ? reader.bidEdits.length + reader.askEdits.length : bids + asks;
    if (patches) this.#patch(id, receivedMs);
    else this.#write(id, receivedMs, { bids, asks }, copies);
    this.#writtenAt = isWhole ? this.out.clears : NOT_WRITTEN;
  }

  /** Copies the previous snapshot and writes the differences into the copy. */
  #patch(id: number, receivedMs: number | undefined): void {
    const { out } = this;
    const reader = this.#reader;
    const start = out.length;
    out.reserve(this.#length + this.#bids.patchBytes(reader.bidEdits) + this.#asks.patchBytes(reader.askEdits));
    const { bytes } = out;
    const by = start - this.#start;
    bytes.copyWithin(start, this.#start, this.#start + this.#length);
    const end = start + this.#length;
    this.writeId(bytes, start + this.#idOffset, id);
    this.#timestamps.write(bytes, start + this.#instantOffset, reader.head.timestamps[reader.index]!, true);
    if (receivedMs !== undefined) this.#arrivals.write(bytes, start + this.#arrivalOffset!, receivedMs, true);
    const bidsEnd = this.#bids.patch(reader, reader.bids, reader.bidEdits, by, end);
    out.length = this.#asks.patch(reader, reader.asks, reader.askEdits, by + bidsEnd - end, bidsEnd);
    this.#start = start;
    this.#length = out.length - start;
  }

  #write(
    id: number,
    receivedMs: number | undefined,
    { bids, asks }: { readonly bids: number; readonly asks: number },
    copies: boolean,
  ): void {
    const { out } = this;
    const reader = this.#reader;
    const { opening, middle } = this.#labels;
    const start = out.length;
    out.reserve(RECORD_BYTES_WITHOUT_LEVELS + opening.length + middle.length);
    out.append(opening);
    this.#idOffset = out.length - start;
    out.length = this.writeId(out.bytes, out.length, id);
    out.append(middle);
    this.#instantOffset = out.length - start;
    out.length = this.#timestamps.write(out.bytes, out.length, reader.head.timestamps[reader.index]!, false);
    this.#writeArrival(start, receivedMs);
    this.#bids.write(reader, reader.bids, bids, reader.bidEdits, copies);
    out.append(this.#frame.asks);
    this.#asks.write(reader, reader.asks, asks, reader.askEdits, copies);
    out.append(this.#frame.end);
    this.#start = start;
    this.#length = out.length - start;
    this.#idEnd = 10;
    while (this.#idEnd <= id) this.#idEnd *= 10;
    this.#idFrom = this.#idEnd === 10 ? 0 : this.#idEnd / 10;
  }

  /** Writes the arrival of the record that begins at `start`, if it has the field, and the bytes before its bids. */
  #writeArrival(start: number, receivedMs: number | undefined): void {
    const { out } = this;
    const isNull = receivedMs === undefined && this.#arrivalField === 'always';
    this.#arrivalOffset = isNull ? null : undefined;
    if (receivedMs !== undefined) {
      out.append(this.#frame.arrival);
      this.#arrivalOffset = out.length - start;
      out.length = this.#arrivals.write(out.bytes, out.length, receivedMs, false);
    }
    if (receivedMs !== undefined || isNull) this.addField(out.bytes, start);
    out.append(isNull ? this.#frame.noArrival : this.#frame.bids);
  }
}

/** Writes instants without their zone: most are of the same minute as the one before. */
class InstantWriter {
  #minute = Number.NaN;
  #minuteText = '';

  /** Returns the position after the instant. `isCopied`: `position` has the previous one. */
  write(bytes: Uint8Array, position: number, instantMs: number, isCopied: boolean): number {
    const minute = Math.floor(instantMs / MINUTE_MS);
    const isSame = minute === this.#minute;
    if (!isSame) {
      this.#minuteText = formatInstant(instantMs).slice(0, MINUTE_CHARS);
      this.#minute = minute;
    }
    if (!(isSame && isCopied)) writeText(bytes, position, this.#minuteText);
    const milliseconds = instantMs - minute * MINUTE_MS;
    const seconds = (milliseconds * 0.001) | 0;
    const at = writeTwoDigits(bytes, position + MINUTE_CHARS, seconds);
    bytes[at] = POINT;
    return writeThreeDigits(bytes, at + 1, milliseconds - seconds * 1000);
  }
}
