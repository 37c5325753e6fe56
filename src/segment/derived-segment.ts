import { type Quote, topOfBook } from '../domain/quote.ts';
import { BookReader, bookOf } from './book-decoder.ts';
import type { BookRecord } from './book-format.ts';
import { deriveMids, deriveQuotes } from './derive.ts';
import { priceCodec } from './price-segment.ts';
import { quoteCodec } from './quote-segment.ts';
import { type Received, readSegmentHeader, SEGMENT_RECORDS_MAX, type SegmentCodec } from './segment-header.ts';
import { damaged, VarintReader, VarintWriter } from './varint.ts';

/**
 * A shorter payload for a segment of quotes or midpoints that were derived from books (derive.ts): it says from which, in a file that has
 * them and is never changed. Readers get the payload that it was made from, byte by byte, see `expandDerived`.
 *
 *   version     unsigned, 5: quotes; 6: midpoints
 *   count       unsigned, 1 … SEGMENT_RECORDS_MAX
 *   row         unsigned: the row of the segment with the book of the first record; the rows after it have the books after it
 *   index       unsigned: the index of that book in its segment
 */
const QUOTES = 5;
const MIDS = 6;
/** A look-up reads at most this many segments of books. */
const SEGMENTS_MAX = 12;

export type DerivedKind = 'derived-quote' | 'derived-mid';

/** The books of the segment in a row; their best levels are enough. Throws DomainError 'unavailable' if there are none. */
type BooksIn = (row: number) => readonly BookRecord[];

export function isDerived(payload: Uint8Array): boolean {
  return payload[0] === QUOTES || payload[0] === MIDS;
}

/**
 * Returns the payload that a derived one was made from. Throws DomainError 'unavailable' for a damaged one; if it does not, the payload must
 * still be compared with its digest.
 */
export function expandDerived(derived: Uint8Array, booksIn: BooksIn): Uint8Array {
  const reader = new VarintReader(derived);
  const isOfQuotes = reader.unsigned() === QUOTES;
  const [count, row, index] = [reader.unsigned(), reader.unsigned(), reader.unsigned()];
  reader.mustBeAtEnd();
  if (count < 1 || count > SEGMENT_RECORDS_MAX) throw damaged();
  const booksFrom = (nth: number) => (nth === 0 ? booksIn(row).slice(index) : booksIn(row + nth));
  return isOfQuotes
    ? encoded(quoteCodec, deriveQuotes, count, booksFrom)
    : encoded(priceCodec, deriveMids, count, booksFrom);
}

/** Returns a shorter payload of a segment whose first record has the book at `index` in `row`. It may come back as another one. */
export function derivedPayload(kind: DerivedKind, payload: Uint8Array, row: number, index: number): Uint8Array {
  const writer = new VarintWriter();
  const { count } = readSegmentHeader(payload);
  for (const value of [kind === 'derived-quote' ? QUOTES : MIDS, count, row, index]) writer.unsigned(value);
  return writer.view().slice();
}

/** The books of a segment, with the best level of each side alone. */
export function topsIn(payload: Uint8Array): BookRecord[] {
  const reader = new BookReader(payload);
  const { timestamps, ids } = reader.head;
  const records: BookRecord[] = [];
  while (reader.advance()) {
    const { index, receivedMs } = reader;
    records.push({ timestampMs: timestamps[index]!, id: ids[index]!, receivedMs, book: bookOf(reader, 1) });
  }
  return records;
}

function encoded<R extends Received>(
  codec: SegmentCodec<R>,
  derive: (before: Quote | undefined, books: readonly BookRecord[]) => R[],
  count: number,
  booksFrom: (nth: number) => readonly BookRecord[],
): Uint8Array {
  const records: R[] = [];
  let before: Quote | undefined;
  for (let nth = 0; records.length < count; nth += 1) {
    const books = nth < SEGMENTS_MAX ? booksFrom(nth) : [];
    if (books.length === 0) throw damaged();
    // The first book has a record, whatever the one before it was.
    records.push(...derive(before, books));
    before = topOfBook(books.at(-1)!.book);
  }
  const segment = codec.encode(records, 0, count);
  if (segment.count !== count) throw damaged();
  return segment.payload;
}
