import { powerOfTen } from '../domain/decimal.ts';
import { formatInstant } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import { BookReader, type EditLog } from './book-segment.ts';
import type { ByteBuffer } from './byte-buffer.ts';
import type { Ladder } from './ladder.ts';
import type { RunHead } from './run.ts';
import { DOUBLES } from './scale.ts';

/** What a snapshot's JSON says beside its own id, time and levels. */
export interface SnapshotLabels {
  readonly assetId: string;
  readonly conditionId: string;
  readonly symbol: string;
  readonly outcome: Outcome;
  readonly timeframe: string;
}

/** Records of one segment to be written: `from` … `to` - 1. */
export interface SnapshotRun {
  readonly payload: Uint8Array;
  readonly head: RunHead;
  readonly from: number;
  readonly to: number;
}

const encoder = new TextEncoder();
const ID_OPENS = encoder.encode('{"id":"');
const BIDS_OPEN = encoder.encode('","bids":[');
const ASKS_OPEN = encoder.encode(',"asks":[');
const PRICE_OPENS = encoder.encode('{"price":');
const SIZE_OPENS = encoder.encode(',"size":');
const ZERO = 48;
const POINT = 46;
const COMMA = 44;
const BRACKET_CLOSES = 93;
const BRACE_CLOSES = 125;
/** Longest level: punctuation, a price of 14 characters, a size of 22, a comma. */
const LEVEL_BYTES_MAX = 64;
const RECORD_BYTES_BESIDE_LEVELS = 512;
const INITIAL_LEVELS = 128;

/**
 * Writes the snapshots of one outcome as JSON, in order, straight from a segment's integers. A snapshot is the bytes of
 * the one before with only the changed levels rendered again; nothing is made per level. Writers of several outcomes may
 * take turns in one buffer, which must not be cleared in between.
 */
export class SnapshotJsonWriter {
  readonly #out: ByteBuffer;
  readonly #labels: Uint8Array;
  readonly #bids: SideJson;
  readonly #asks: SideJson;
  #reader: BookReader | undefined;
  /** Whether the previous snapshot of the reader is in the buffer, to be copied from. */
  #copies = false;

  constructor(out: ByteBuffer, labels: SnapshotLabels) {
    this.#out = out;
    const { assetId, conditionId, symbol, outcome, timeframe } = labels;
    const text = JSON.stringify({ assetId, conditionId, symbol, outcome, timeframe });
    this.#labels = encoder.encode(`",${text.slice(1, -1)},"timestamp":"`);
    this.#bids = new SideJson(out);
    this.#asks = new SideJson(out);
  }

  /** Begins with the record at `run.from`; `writeNext` then writes one record after another. */
  open(run: SnapshotRun): void {
    this.#reader = new BookReader(run.payload, run.head);
    // The books in front of the first one are read, not written.
    this.#reader.advanceTo(run.from - 1);
    this.#copies = false;
  }

  writeNext(): void {
    const reader = this.#reader!;
    reader.advance();
    const { head, index } = reader;
    const out = this.#out;
    out.reserve(RECORD_BYTES_BESIDE_LEVELS + this.#bids.bytes + this.#asks.bytes);
    out.append(ID_OPENS);
    writeAscii(out, String(head.ids[index]!));
    out.append(this.#labels);
    writeAscii(out, formatInstant(head.timestamps[index]!));
    out.append(BIDS_OPEN);
    this.#bids.write(reader, reader.bids, reader.bidEdits, this.#copies);
    out.append(ASKS_OPEN);
    this.#asks.write(reader, reader.asks, reader.askEdits, this.#copies);
    out.byte(BRACE_CLOSES);
    this.#copies = true;
  }
}

/** One side of the snapshot written last: where each of its levels stands in the buffer, comma included. */
class SideJson {
  readonly #out: ByteBuffer;
  /** Where the side's first level stands. */
  #start = 0;
  /** Offsets of the levels from there; one more than levels: the last is the side's length. */
  #offsets = new Int32Array(INITIAL_LEVELS);
  #next = new Int32Array(INITIAL_LEVELS);
  #levels = 0;

  constructor(out: ByteBuffer) {
    this.#out = out;
  }

  get bytes(): number {
    return this.#levels === 0 ? 0 : this.#offsets[this.#levels]!;
  }

  /** Writes the levels and the bracket that closes them. */
  write(reader: BookReader, side: Ladder, edits: EditLog, copies: boolean): void {
    const out = this.#out;
    this.#makeRoom(side.length + 1);
    out.reserve(this.bytes + (copies ? edits.length : side.length) * LEVEL_BYTES_MAX + 2);
    const start = out.length;
    if (copies) this.#splice(reader, side, edits);
    else for (let i = 0; i < side.length; i += 1) this.#render(reader, side, i, start);
    this.#next[side.length] = out.length - start;
    this.#start = start;
    this.#levels = side.length;
    [this.#offsets, this.#next] = [this.#next, this.#offsets];
    // Every level brought a comma; the last one's gives way to the bracket.
    if (side.length > 0) out.bytes[out.length - 1] = BRACKET_CLOSES;
    else out.byte(BRACKET_CLOSES);
  }

  #splice(reader: BookReader, side: Ladder, edits: EditLog): void {
    const start = this.#out.length;
    let old = 0;
    let position = 0;
    for (let i = 0; i < edits.length; i += 1) {
      const skip = edits.skips[i]!;
      this.#copy(old, skip, position, start);
      old += skip + edits.consumes[i]!;
      position += skip;
      if (edits.produces[i] === 1) {
        this.#render(reader, side, position, start);
        position += 1;
      }
    }
    this.#copy(old, this.#levels - old, position, start);
  }

  /** Copies `count` levels of the previous snapshot, from its level `old` on, to `position` of this one. */
  #copy(old: number, count: number, position: number, start: number): void {
    if (count === 0) return;
    const { bytes } = this.#out;
    const from = this.#offsets[old]!;
    const to = this.#offsets[old + count]!;
    const shift = this.#out.length - start - from;
    for (let i = 0; i < count; i += 1) this.#next[position + i] = this.#offsets[old + i]! + shift;
    bytes.copyWithin(this.#out.length, this.#start + from, this.#start + to);
    this.#out.length += to - from;
    // The previous snapshot's last level ends in its bracket.
    bytes[this.#out.length - 1] = COMMA;
  }

  #render(reader: BookReader, side: Ladder, position: number, start: number): void {
    const out = this.#out;
    this.#next[position] = out.length - start;
    const { bytes } = out;
    let at = out.length;
    bytes.set(PRICE_OPENS, at);
    at = writeDecimal(bytes, at + PRICE_OPENS.length, side.prices[position]!, reader.priceScale);
    bytes.set(SIZE_OPENS, at);
    at = writeDecimal(bytes, at + SIZE_OPENS.length, side.sizes[position]!, reader.sizeScale);
    bytes[at] = BRACE_CLOSES;
    bytes[at + 1] = COMMA;
    out.length = at + 2;
  }

  #makeRoom(offsets: number): void {
    if (offsets <= this.#next.length) return;
    const size = Math.max(offsets, this.#next.length * 2);
    const grown = new Int32Array(size);
    grown.set(this.#offsets);
    this.#offsets = grown;
    this.#next = new Int32Array(size);
  }
}

/** Writes value / 10^scale without trailing zeros and returns the position behind it. */
function writeDecimal(bytes: Uint8Array, position: number, value: number, scale: number): number {
  if (scale === DOUBLES) {
    const text = String(value);
    for (let i = 0; i < text.length; i += 1) bytes[position + i] = text.charCodeAt(i);
    return position + text.length;
  }
  const unit = powerOfTen(scale);
  const whole = Math.floor(value / unit);
  let at = writeInteger(bytes, position, whole);
  let fraction = value - whole * unit;
  if (fraction === 0) return at;
  let digits = scale;
  while (fraction % 10 === 0) {
    fraction /= 10;
    digits -= 1;
  }
  bytes[at] = POINT;
  at += digits;
  for (let i = at; i > at - digits; i -= 1) {
    const rest = Math.floor(fraction / 10);
    bytes[i] = ZERO + (fraction - rest * 10);
    fraction = rest;
  }
  return at + 1;
}

function writeInteger(bytes: Uint8Array, position: number, value: number): number {
  if (value < 10) {
    bytes[position] = ZERO + value;
    return position + 1;
  }
  let digits = 2;
  for (let bound = 100; value >= bound; bound *= 10) digits += 1;
  let rest = value;
  for (let i = position + digits - 1; i >= position; i -= 1) {
    const next = Math.floor(rest / 10);
    bytes[i] = ZERO + (rest - next * 10);
    rest = next;
  }
  return position + digits;
}

function writeAscii(out: ByteBuffer, text: string): void {
  const { bytes, length } = out;
  for (let i = 0; i < text.length; i += 1) bytes[length + i] = text.charCodeAt(i);
  out.length += text.length;
}
