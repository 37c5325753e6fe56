import type { BookReader } from './book-decoder.ts';
import type { EditLog } from './book-format.ts';
import type { ByteBuffer } from './byte-buffer.ts';
import type { Ladder } from './ladder.ts';
import type { LevelOpenings } from './level-openings.ts';

const INITIAL_LEVELS = 128;
/** With more patches or a larger side, moving the bytes after each patch costs more than it saves. */
const PATCHES_MAX = 24;
const PATCHED_BYTES_MAX = 8192;
/** Maximum number of bytes before the levels of a side, and after them. */
const FRAME_BYTES_MAX = 8;

/**
 * One side of the last written snapshot, with the offset of each level in the buffer: the next snapshot copies its bytes and
 * renders only the changed levels again. The subclasses for JSON and msgpack render a level.
 */
export abstract class SideBytes {
  readonly #out: ByteBuffer;
  readonly #openings: LevelOpenings;
  readonly #levelBytesMax: number;
  /** Position of the side's first level in the buffer. */
  #start = 0;
  /** Offsets of the levels from `#start`, then the end of the last level. */
  #offsets = new Int32Array(INITIAL_LEVELS);
  #next = new Int32Array(INITIAL_LEVELS);
  #levels = 0;

  constructor(out: ByteBuffer, openings: LevelOpenings, levelBytesMax: number) {
    this.#out = out;
    this.#openings = openings;
    this.#levelBytesMax = levelBytesMax;
  }

  /** Writes the bytes before `count` levels, at most FRAME_BYTES_MAX; returns the position after them. */
  protected abstract open(bytes: Uint8Array, position: number, count: number): number;

  /** Writes a level's size and end; returns the position after it. */
  protected abstract closeLevel(bytes: Uint8Array, position: number, size: number, scale: number): number;

  /** Called when levels now follow at `position`, the end of a level that was the last of its side. */
  protected abstract join(bytes: Uint8Array, position: number): void;

  /** Ends a side of `count` levels whose last one ends at `position`; returns the position after the side. */
  protected abstract close(bytes: Uint8Array, position: number, count: number): number;

  /**
   * Writes the best `count` levels of the side. `copies`: the buffer still has the whole side as it was before `edits`, and
   * `count` is the whole side again.
   */
  write(reader: BookReader, side: Ladder, count: number, edits: EditLog, copies: boolean): void {
    const out = this.#out;
    const rendered = copies ? edits.length : count;
    this.#makeRoom(count + 1);
    const copied = this.#levels === 0 ? 0 : this.#offsets[this.#levels]!;
    out.reserve(copied + rendered * this.#levelBytesMax + 2 * FRAME_BYTES_MAX);
    const start = this.open(out.bytes, out.length, count);
    out.length = start;
    const end = copies ? this.#splice(reader, side, edits) : this.#render(reader, side, count);
    this.#next[count] = end - start;
    [this.#offsets, this.#next] = [this.#next, this.#offsets];
    this.#start = start;
    this.#levels = count;
    out.length = this.close(out.bytes, end, count);
  }

  #render({ priceScale, sizeScale }: BookReader, side: Ladder, count: number): number {
    const { bytes, length: start } = this.#out;
    const { values } = side;
    const caches = this.#openings.caches(priceScale);
    const openings = this.#openings.ofScale(priceScale);
    let at = start;
    for (let i = 0; i < count; i += 1) {
      const price = values[2 * i]!;
      this.#next[i] = at - start;
      if (caches) {
        const opening = openings[price] ?? this.#openings.of(price, priceScale);
        bytes.set(opening, at);
        at += opening.length;
      } else {
        at = this.#openings.write(bytes, at, price, priceScale);
      }
      at = this.closeLevel(bytes, at, values[2 * i + 1]!, sizeScale);
    }
    return at;
  }

  /** Returns true if the side is small and its edits are a few new sizes. */
  canPatch({ length, restructures }: EditLog): boolean {
    return !restructures && length <= PATCHES_MAX && this.#offsets[this.#levels]! <= PATCHED_BYTES_MAX;
  }

  /** The room that `patch` needs after `end`. */
  patchBytes({ length }: EditLog): number {
    return (length + 1) * this.#levelBytesMax;
  }

  /**
   * Writes new sizes into a copy of the side, `by` bytes after the original. The bytes after a size, up to `end`, move when its
   * length changes, which is rare; returns their new end. Needs `patchBytes` of room after `end`.
   */
  patch({ priceScale, sizeScale }: BookReader, side: Ladder, edits: EditLog, by: number, end: number): number {
    this.#start += by;
    if (edits.length === 0) return end;
    const { bytes } = this.#out;
    const start = this.#start;
    const { values } = side;
    const { skips } = edits;
    const offsets = this.#offsets;
    const openings = this.#openings.ofScale(priceScale);
    let newEnd = end;
    // Offsets before `level` are up to date, the others lag by `shift`.
    let level = 0;
    let shift = 0;
    let position = 0;
    for (let i = 0; i < edits.length; i += 1) {
      position += skips[i]!;
      if (shift === 0) level = position + 1;
      else for (; level <= position; level += 1) offsets[level] = offsets[level]! + shift;
      const price = values[2 * position]!;
      const opening = openings[price] ?? this.#openings.of(price, priceScale);
      const at = start + offsets[position]! + opening.length;
      const after = start + offsets[position + 1]! + shift;
      // Written after `newEnd` first: its length is not known yet.
      const length = this.closeLevel(bytes, newEnd, values[2 * position + 1]!, sizeScale) - newEnd;
      const grown = length - (after - at);
      if (grown !== 0) {
        // This also moves the new size after `newEnd`.
        bytes.copyWithin(after + grown, after, newEnd + length);
        newEnd += grown;
        shift += grown;
      }
      for (let k = 0; k < length; k += 1) bytes[at + k] = bytes[newEnd + k]!;
      position += 1;
    }
    if (shift !== 0) for (; level <= this.#levels; level += 1) offsets[level] = offsets[level]! + shift;
    this.close(bytes, start + offsets[this.#levels]!, this.#levels);
    return newEnd;
  }

  /** Copies unchanged levels and renders the others; returns the position after the last one. */
  #splice({ priceScale, sizeScale }: BookReader, side: Ladder, edits: EditLog): number {
    const { bytes, length: start } = this.#out;
    const { values } = side;
    const { skips, consumes, produces } = edits;
    const openings = this.#openings.ofScale(priceScale);
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
      const opening = openings[price] ?? this.#openings.of(price, priceScale);
      if (consumes[i] === 1) {
        // Same price, new size: the level's opening is copied with the levels before it.
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
      at = this.closeLevel(bytes, at, values[2 * position + 1]!, sizeScale);
      position += 1;
    }
    if (old === this.#levels) return at;
    const from = offsets[old]!;
    this.#shift(old, this.#levels - old, position, at - start);
    return this.#copyLevels(from, this.#levels, at);
  }

  /** Sets the offsets of `count` levels, copied to `offset` from the previous snapshot's level `old` on. */
  #shift(old: number, count: number, position: number, offset: number): void {
    const offsets = this.#offsets;
    const next = this.#next;
    const by = offset - offsets[old]!;
    for (let i = 0; i < count; i += 1) next[position + i] = offsets[old + i]! + by;
  }

  /** Copies whole levels of the previous snapshot: from the offset `from` to the end of its level `end` - 1. */
  #copyLevels(from: number, end: number, at: number): number {
    const copied = this.#copy(from, this.#offsets[end]!, at);
    this.join(this.#out.bytes, copied);
    return copied;
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
