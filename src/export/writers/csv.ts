import { formatInstant } from '../../domain/instant.ts';
import { FLAT_COLUMNS, type FlatRow, type FlatType } from '../../record/flat-columns.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import { DECIMAL_TEXT_MAX, writeDecimal, writeInteger } from '../../segment/decimal-text.ts';
import { type ReadBook, type ReadSide, STEP_BYTES } from './export-writer.ts';
import { FlatWriter } from './flat-writer.ts';

const COMMA = 44;
const POINT = 46;
const ZERO = 48;
/** The letter e, as in 1e-7. */
const EXPONENT = 101;
/** Maximum number of levels per call: about 250 kB. */
const LEVELS_AT_ONCE = 2048;
const NEEDS_QUOTES = /[",\r\n]/;
const INDEX_MAX_CHARS = 10;
const encoder = new TextEncoder();

/** The columns of a level: side, level, price, size. */
const LEVEL_FROM = FLAT_COLUMNS.findIndex(({ name }) => name === 'side');
const LEVEL_TO = FLAT_COLUMNS.findIndex(({ name }) => name === 'size') + 1;

/**
 * Writes CSV (RFC 4180, lines end with a line feed): a header, then the rows of the flat schema. Instants are ISO 8601 UTC, flags
 * are true or false, a null is empty. A decimal always has a point, so that readers that guess column types find a decimal.
 */
export class CsvWriter extends FlatWriter {
  readonly out: ByteBuffer;
  readonly stepBytes = STEP_BYTES;
  #hasHeader = false;

  constructor(out: ByteBuffer, depth: number | undefined) {
    super(depth);
    this.out = out;
  }

  protected row(row: FlatRow): void {
    this.#writeHeader();
    this.out.append(encoder.encode(`${cells(row, 0, FLAT_COLUMNS.length)}\n`));
  }

  protected levels(row: FlatRow, book: ReadBook, from: number): number {
    this.#writeHeader();
    const { bids, asks } = book;
    const to = Math.min(from + LEVELS_AT_ONCE, bids.length + asks.length);
    const opening = cells(row, 0, LEVEL_FROM);
    const ending = encoder.encode(`,${cells(row, LEVEL_TO, FLAT_COLUMNS.length)}\n`);
    this.#side({ opening: encoder.encode(`${opening},bid,`), ending }, book, bids, from, Math.min(to, bids.length));
    const asksFrom = Math.max(0, from - bids.length);
    this.#side({ opening: encoder.encode(`${opening},ask,`), ending }, book, asks, asksFrom, to - bids.length);
    return to;
  }

  /** An empty export still has a header. */
  close(): void {
    this.#writeHeader();
  }

  #writeHeader(): void {
    if (this.#hasHeader) return;
    this.#hasHeader = true;
    this.out.append(encoder.encode(`${FLAT_COLUMNS.map(({ name }) => name).join()}\n`));
  }

  /** Writes the levels `from` to `to` - 1 of a side; none if `to` ≤ `from`. All lines share `opening` and `ending`. */
  #side(
    { opening, ending }: { readonly opening: Uint8Array; readonly ending: Uint8Array },
    { priceScale, sizeScale }: ReadBook,
    side: ReadSide,
    from: number,
    to: number,
  ): void {
    if (to <= from) return;
    const { out } = this;
    out.reserve((to - from) * (opening.length + INDEX_MAX_CHARS + 2 * (DECIMAL_TEXT_MAX + 3) + ending.length));
    const { bytes } = out;
    let at = out.length;
    for (let i = from; i < to; i += 1) {
      bytes.set(opening, at);
      at = writeInteger(bytes, at + opening.length, i + 1);
      bytes[at++] = COMMA;
      at = writePointed(bytes, at, side.values[2 * i]!, priceScale);
      bytes[at++] = COMMA;
      at = writePointed(bytes, at, side.values[2 * i + 1]!, sizeScale);
      bytes.set(ending, at);
      at += ending.length;
    }
    out.length = at;
  }
}

function writePointed(bytes: Uint8Array, position: number, value: number, scale: number): number {
  const end = writeDecimal(bytes, position, value, scale);
  for (let i = position; i < end; i += 1) if (bytes[i] === POINT || bytes[i] === EXPONENT) return end;
  bytes[end] = POINT;
  bytes[end + 1] = ZERO;
  return end + 2;
}

/** The cells of columns `from` to `to` - 1. */
function cells(row: FlatRow, from: number, to: number): string {
  return FLAT_COLUMNS.slice(from, to)
    .map(({ name, type }) => cell(row[name], type))
    .join();
}

function cell(value: string | number | boolean | undefined, type: FlatType): string {
  if (value === undefined) return '';
  if (typeof value === 'number' && type === 'instant') return formatInstant(value);
  const text = String(value);
  if (type === 'decimal') return /[.e]/.test(text) ? text : `${text}.0`;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
