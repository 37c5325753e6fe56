import { formatInstant } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import { BookReader, type EditLog } from './book-segment.ts';
import type { ByteBuffer } from './byte-buffer.ts';
import { DECIMAL_TEXT_MAX, writeDecimal, writeInteger, writeText, writeThreeDigits } from './decimal-text.ts';
import type { Ladder } from './ladder.ts';
import type { RunSlice } from './run.ts';

/** What a snapshot's JSON says beside its own id, time and levels. */
export interface SnapshotLabels {
  readonly assetId: string;
  readonly conditionId: string;
  readonly symbol: string;
  readonly outcome: Outcome;
  readonly timeframe: string;
}

/** What a snapshot's line in a recording says instead: the rest follows from the market's own line. */
export interface RecordingLabels {
  readonly type: 'snapshot';
  readonly conditionId: string;
  readonly outcome: Outcome;
  /** True where the snapshots were made from the other outcome's; else left out. */
  readonly mirrored?: boolean;
}

/** In the order in which they are written. */
const LABELS: readonly string[] = ['assetId', 'conditionId', 'symbol', 'outcome', 'timeframe', 'mirrored'];

const encoder = new TextEncoder();
const RECORD_OPENS = '{"id":"';
const RECORDING_OPENS = '{"type":"snapshot","id":"';
const BIDS_OPEN = encoder.encode('Z","bids":[');
const ASKS_OPEN = encoder.encode(',"asks":[');
const PRICE_OPENS = encoder.encode('{"price":');
const SIZE_OPENS = encoder.encode(',"size":');
const COMMA = 44;
const BRACKET_CLOSES = 93;
const BRACE_CLOSES = 125;
/** Punctuation, price, size. */
const LEVEL_BYTES_MAX = PRICE_OPENS.length + SIZE_OPENS.length + 2 + 2 * DECIMAL_TEXT_MAX;
const RECORD_BYTES_BESIDE_LEVELS = 512;
const INITIAL_LEVELS = 128;
/** Prices on a grid of up to four decimals are worth remembering: there are at most 10,001 of them. */
const REMEMBERED_SCALE_MAX = 4;
/** `2026-04-16T07:10:04.`: all of an instant but its milliseconds. */
const SECOND_CHARS = 20;
/** Beyond these, moving what stands behind a patch would cost more than it saves. */
const PATCHES_MAX = 24;
const PATCHED_BYTES_MAX = 8192;
/** No buffer was cleared so often. */
const NOT_WRITTEN = -1;

/**
 * Writes the snapshots of one outcome as JSON, in order, straight from a segment's integers. A snapshot is the bytes of
 * the one before with only the changed levels rendered again; nothing is made per level. Writers of several outcomes may
 * take turns in one buffer. Behind a `clear` of the buffer the next snapshot is rendered whole.
 */
export class SnapshotJsonWriter {
  readonly #out: ByteBuffer;
  readonly #opening: Uint8Array;
  readonly #labels: Uint8Array;
  readonly #bids: SideJson;
  readonly #asks: SideJson;
  #reader: BookReader | undefined;
  /** The state of the buffer in which the previous snapshot of the reader stands, to be copied from. */
  #writtenAt = NOT_WRITTEN;
  #second = Number.NaN;
  #secondText = '';

  constructor(out: ByteBuffer, labels: SnapshotLabels | RecordingLabels, prices: PriceTexts) {
    this.#out = out;
    this.#opening = encoder.encode('type' in labels ? RECORDING_OPENS : RECORD_OPENS);
    const text = JSON.stringify(labels, [...LABELS]);
    this.#labels = encoder.encode(`",${text.slice(1, -1)},"timestamp":"`);
    this.#bids = new SideJson(out, prices);
    this.#asks = new SideJson(out, prices);
  }

  /** Begins with the record at `run.from`; `writeNext` then writes one record after another. */
  open(run: RunSlice): void {
    this.#reader = new BookReader(run.payload, run.head);
    // The books in front of the first one are read, not written.
    this.#reader.advanceTo(run.from - 1);
    this.#writtenAt = NOT_WRITTEN;
  }

  writeNext(): void {
    const reader = this.#reader!;
    reader.advance();
    const { head, index } = reader;
    const out = this.#out;
    const copies = this.#writtenAt === out.clears;
    out.reserve(RECORD_BYTES_BESIDE_LEVELS + this.#labels.length);
    out.append(this.#opening);
    out.length = writeInteger(out.bytes, out.length, head.ids[index]!);
    out.append(this.#labels);
    this.#writeInstant(head.timestamps[index]!);
    out.append(BIDS_OPEN);
    this.#bids.write(reader, reader.bids, reader.bidEdits, copies);
    out.append(ASKS_OPEN);
    this.#asks.write(reader, reader.asks, reader.askEdits, copies);
    out.byte(BRACE_CLOSES);
    this.#writtenAt = out.clears;
  }

  /** Up to the milliseconds; neighbours mostly share their second. */
  #writeInstant(instantMs: number): void {
    const second = Math.floor(instantMs / 1000);
    if (second !== this.#second) {
      this.#secondText = formatInstant(instantMs).slice(0, SECOND_CHARS);
      this.#second = second;
    }
    const { bytes, length } = this.#out;
    const at = writeText(bytes, length, this.#secondText);
    this.#out.length = writeThreeDigits(bytes, at, instantMs - second * 1000);
  }
}

/** The bytes that a level begins with, `{"price":0.51,"size":`, remembered per price. */
export class PriceTexts {
  readonly #byScale: (Uint8Array | undefined)[][] = Array.from({ length: REMEMBERED_SCALE_MAX + 1 }, () => []);

  /** The openings known so far, by price in units of 10^-scale; to be completed by `opening`. */
  ofScale(scale: number): readonly (Uint8Array | undefined)[] {
    return this.#byScale[scale] ?? NONE;
  }

  opening(price: number, scale: number): Uint8Array {
    const text = render(price, scale);
    const known = this.#byScale[scale];
    if (known !== undefined) known[price] = text;
    return text;
  }
}

const NONE: readonly undefined[] = [];

function render(price: number, scale: number): Uint8Array {
  const bytes = new Uint8Array(LEVEL_BYTES_MAX);
  bytes.set(PRICE_OPENS);
  const end = writeDecimal(bytes, PRICE_OPENS.length, price, scale);
  bytes.set(SIZE_OPENS, end);
  return bytes.slice(0, end + SIZE_OPENS.length);
}

/** One side of the snapshot written last: where each of its levels stands in the buffer, comma included. */
class SideJson {
  readonly #out: ByteBuffer;
  readonly #prices: PriceTexts;
  /** Where the side's first level stands. */
  #start = 0;
  /** Offsets of the levels from there; one more than levels: the last is the side's length. */
  #offsets = new Int32Array(INITIAL_LEVELS);
  #next = new Int32Array(INITIAL_LEVELS);
  #levels = 0;

  constructor(out: ByteBuffer, prices: PriceTexts) {
    this.#out = out;
    this.#prices = prices;
  }

  /** Writes the levels and the bracket that closes them. */
  write(reader: BookReader, side: Ladder, edits: EditLog, copies: boolean): void {
    const out = this.#out;
    const rendered = copies ? edits.length : side.length;
    this.#makeRoom(side.length + 1);
    out.reserve((this.#levels === 0 ? 0 : this.#offsets[this.#levels]!) + rendered * LEVEL_BYTES_MAX + 2);
    const start = out.length;
    let end: number;
    if (copies && this.#canPatch(edits)) {
      end = this.#patch(reader, side, edits);
    } else {
      end = copies ? this.#splice(reader, side, edits) : this.#renderAll(reader, side);
      this.#next[side.length] = end - start;
      [this.#offsets, this.#next] = [this.#next, this.#offsets];
    }
    this.#start = start;
    this.#levels = side.length;
    // Every level brought a comma; the last one's gives way to the bracket.
    out.bytes[side.length > 0 ? end - 1 : end] = BRACKET_CLOSES;
    out.length = side.length > 0 ? end : end + 1;
  }

  #renderAll({ priceScale, sizeScale }: BookReader, side: Ladder): number {
    const { bytes, length: start } = this.#out;
    const openings = this.#prices.ofScale(priceScale);
    const { values } = side;
    let at = start;
    for (let i = 0; i < side.length; i += 1) {
      const price = values[2 * i]!;
      const opening = openings[price] ?? this.#prices.opening(price, priceScale);
      this.#next[i] = at - start;
      bytes.set(opening, at);
      at = closeLevel(bytes, at + opening.length, values[2 * i + 1]!, sizeScale);
    }
    return at;
  }

  /** Whether few levels of a side that is not large got a new size, and nothing else happened to it. */
  #canPatch({ length, consumes, produces }: EditLog): boolean {
    if (length > PATCHES_MAX || this.#offsets[this.#levels]! > PATCHED_BYTES_MAX) return false;
    for (let i = 0; i < length; i += 1) if (consumes[i] === 0 || produces[i] === 0) return false;
    return true;
  }

  /**
   * The previous side copied as a whole, and the new sizes written into it: most are as long as those they replace. Returns
   * the position behind the side's last level.
   */
  #patch({ priceScale, sizeScale }: BookReader, side: Ladder, edits: EditLog): number {
    const { bytes, length: start } = this.#out;
    const { values } = side;
    const { skips } = edits;
    const offsets = this.#offsets;
    const levels = this.#levels;
    const openings = this.#prices.ofScale(priceScale);
    let end = this.#copy(0, levels === 0 ? 0 : offsets[levels]!, start);
    if (edits.length === 0) return end;
    // The previous side's last level ends in its bracket.
    bytes[end - 1] = COMMA;
    let position = 0;
    for (let i = 0; i < edits.length; i += 1) {
      position += skips[i]!;
      const price = values[2 * position]!;
      const opening = openings[price] ?? this.#prices.opening(price, priceScale);
      const at = start + offsets[position]! + opening.length;
      const behind = start + offsets[position + 1]!;
      // Written behind everything first: only then it is known how long it is.
      const length = closeLevel(bytes, end, values[2 * position + 1]!, sizeScale) - end;
      const by = length - (behind - at);
      if (by !== 0) {
        // Along with what is moved goes the new size behind it.
        bytes.copyWithin(behind + by, behind, end + length);
        end += by;
        for (let level = position + 1; level <= levels; level += 1) offsets[level] = offsets[level]! + by;
      }
      for (let k = 0; k < length; k += 1) bytes[at + k] = bytes[end + k]!;
      position += 1;
    }
    return end;
  }

  /** Returns the position behind the side's last level. */
  #splice({ priceScale, sizeScale }: BookReader, side: Ladder, edits: EditLog): number {
    const { bytes, length: start } = this.#out;
    const { values } = side;
    const { skips, consumes, produces } = edits;
    const openings = this.#prices.ofScale(priceScale);
    const offsets = this.#offsets;
    const next = this.#next;
    let at = start;
    let old = 0;
    let position = 0;
    for (let i = 0; i < edits.length; i += 1) {
      const skip = skips[i]!;
      const from = offsets[old]!;
      this.#shift(old, skip, position, at - start);
      old += skip;
      position += skip;
      if (produces[i] === 0) {
        if (skip > 0) at = this.#copyLevels(from, old, at);
        old += 1;
        continue;
      }
      const price = values[2 * position]!;
      const opening = openings[price] ?? this.#prices.opening(price, priceScale);
      if (consumes[i] === 1) {
        // Same price, new size: the level's opening comes along with the levels in front of it.
        const to = offsets[old]!;
        next[position] = at - start + to - from;
        at = this.#copy(from, to + opening.length, at);
        old += 1;
      } else {
        if (skip > 0) at = this.#copyLevels(from, old, at);
        next[position] = at - start;
        bytes.set(opening, at);
        at += opening.length;
      }
      at = closeLevel(bytes, at, values[2 * position + 1]!, sizeScale);
      position += 1;
    }
    if (old === this.#levels) return at;
    const from = offsets[old]!;
    this.#shift(old, this.#levels - old, position, at - start);
    return this.#copyLevels(from, this.#levels, at);
  }

  /** Notes where `count` levels, from the previous snapshot's level `old` on, stand once they begin at `offset`. */
  #shift(old: number, count: number, position: number, offset: number): void {
    const offsets = this.#offsets;
    const next = this.#next;
    const by = offset - offsets[old]!;
    for (let i = 0; i < count; i += 1) next[position + i] = offsets[old + i]! + by;
  }

  /** Copies whole levels of the previous snapshot: from the offset `from` to the end of its level `end` - 1. */
  #copyLevels(from: number, end: number, at: number): number {
    const behind = this.#copy(from, this.#offsets[end]!, at);
    // The previous snapshot's last level ends in its bracket.
    this.#out.bytes[behind - 1] = COMMA;
    return behind;
  }

  #copy(from: number, to: number, at: number): number {
    this.#out.bytes.copyWithin(at, this.#start + from, this.#start + to);
    return at + to - from;
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

function closeLevel(bytes: Uint8Array, position: number, size: number, scale: number): number {
  const at = writeDecimal(bytes, position, size, scale);
  bytes[at] = BRACE_CLOSES;
  bytes[at + 1] = COMMA;
  return at + 2;
}
