import type { Gap } from '../../domain/gap.ts';
import type { MarketAsOf } from '../../domain/market-as-of.ts';
import type { MarketDetails } from '../../domain/market-details.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { PriceKind } from '../../domain/price.ts';
import type { RecordType } from '../../record/record.ts';
import { BookReader } from '../../segment/book-decoder.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import type { Ladder } from '../../segment/ladder.ts';
import { type PriceRecord, priceCodec } from '../../segment/price-segment.ts';
import { type QuoteRecord, quoteCodec } from '../../segment/quote-segment.ts';
import type { SegmentHeader, SegmentSlice } from '../../segment/segment-header.ts';
import type { RecordingLabels } from '../../segment/snapshot-writer.ts';
import type { StoredMarket } from '../../store/markets.ts';

/** Number of bytes in a step, after which they are sent: large enough that steps cost little, small enough for memory. */
export const STEP_BYTES = 1024 * 1024;

/** The fields that all records of a series share, in the names and order of bookreel's own format. */
export type SeriesLabels = RecordingLabels | ValueLabels;

/** The labels of quotes and prices. */
export type ValueLabels =
  | { readonly type: 'quote' | 'lastTradePrice'; readonly conditionId: string; readonly outcome: Outcome }
  | { readonly type: 'price'; readonly conditionId: string; readonly outcome: Outcome; readonly kind: PriceKind }
  | { readonly type: 'coinPrice'; readonly symbol: string; readonly source: string };

/** Writes the records of one series: `open` starts a slice, each `writeNext` writes its next record. */
export interface SeriesWriter {
  open(slice: SegmentSlice): void;
  writeNext(): void;
}

/**
 * Writes an export in one format. `export.ts` calls it in the export's order. It appends to `out`, which the caller may clear
 * between any two calls, and which may have other writers' bytes before the first call. `close` writes the end.
 *
 * A call takes a few milliseconds at most. If it has more to write (a huge book, a group of rows, a footer), `continueWriting`
 * writes the next part. It is called after every other call until it returns false.
 */
export interface ExportWriter {
  readonly out: ByteBuffer;
  /** A step ends when `out` has this number of bytes. */
  readonly stepBytes: number;
  /** Returns true for the records that this writes; all, if it is not there. Derived quotes and midpoints are written only with it. */
  takes?(labels: { readonly type: RecordType; readonly kind?: PriceKind }): boolean;
  /** Writes a market record; formats of tables leave out its details. */
  market(market: MarketAsOf, details: MarketDetails): void;
  gap(market: StoredMarket, gap: Gap): void;
  /** A writer for a series of a coin, or of the market that was written last. */
  series(labels: SeriesLabels): SeriesWriter;
  close?(): void;
  /** Writes the next part; false if nothing was left to write. */
  continueWriting?(): boolean;
}

/** The book at which a reader is. Its ladders are valid until the reader moves. The edits are those of the whole sides. */
export type ReadBook = Pick<
  BookReader,
  'head' | 'index' | 'receivedMs' | 'priceScale' | 'sizeScale' | 'bidEdits' | 'askEdits'
> &
  Readonly<Record<'bids' | 'asks', ReadSide>>;
/** The levels of a side, the best first, see Ladder. */
export type ReadSide = Pick<Ladder, 'values' | 'length'>;

/**
 * A writer of snapshots with at most `depth` levels per side. `write` gets the book to write; no object is created per level. `follows`:
 * the edits lead to it from the book that was written before, in the same scales.
 */
export function bookSeries(depth: number | undefined, write: (book: ReadBook, follows: boolean) => void): SeriesWriter {
  const reader = new BookReader();
  let follows = false;
  return {
    open: (slice) => {
      reader.moveBefore(slice);
      follows = false;
    },
    writeNext: () => {
      reader.advance();
      write(depth === undefined ? reader : withDepth(reader, depth), follows);
      follows = depth === undefined;
    },
  };
}

function withDepth(book: ReadBook, depth: number): ReadBook {
  const { head, index, receivedMs, priceScale, sizeScale, bids, asks, bidEdits, askEdits } = book;
  const best = ({ values, length }: ReadSide) => ({ values, length: Math.min(length, depth) });
  return { head, index, receivedMs, priceScale, sizeScale, bidEdits, askEdits, bids: best(bids), asks: best(asks) };
}

/** A writer of quotes or prices. They are small: a segment is decoded at once. */
export function valueSeries(
  type: ValueLabels['type'],
  write: (record: QuoteRecord | PriceRecord) => void,
): SeriesWriter {
  let records: readonly (QuoteRecord | PriceRecord)[] = [];
  let opened: SegmentHeader | undefined;
  let next = 0;
  return {
    open: (slice) => {
      if (slice.head !== opened) records = (type === 'quote' ? quoteCodec : priceCodec).decode(slice.payload);
      opened = slice.head;
      next = slice.from;
    },
    writeNext: () => {
      write(records[next]!);
      next += 1;
    },
  };
}
