import type { Gap } from '../../domain/gap.ts';
import type { MarketAsOf } from '../../domain/market-as-of.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { PriceKind } from '../../domain/price.ts';
import { BookReader } from '../../segment/book-decoder.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import { type PriceRecord, priceCodec } from '../../segment/price-segment.ts';
import { type QuoteRecord, quoteCodec } from '../../segment/quote-segment.ts';
import type { SegmentSlice } from '../../segment/segment-header.ts';
import type { RecordingLabels } from '../../segment/snapshot-writer.ts';
import type { StoredMarket } from '../../store/markets.ts';

/**
 * What a format that is written record by record holds before it is emptied: enough that the cost of a step itself does
 * not count, little for a slow reader to hold on to.
 */
export const STEP_BYTES = 1024 * 1024;

/** What all records of a series have in common, in the own format's words and order. */
export type SeriesLabels = RecordingLabels | ValueLabels;

/** Those of quotes and prices. */
export type ValueLabels =
  | { readonly type: 'quote'; readonly conditionId: string; readonly outcome: Outcome }
  | { readonly type: 'price'; readonly conditionId: string; readonly outcome: Outcome; readonly kind: PriceKind }
  | { readonly type: 'coinPrice'; readonly symbol: string; readonly source: string };

/** Writes the records of one series: `open` begins a slice, each `writeNext` writes the next record of it. */
export interface SeriesWriter {
  open(slice: SegmentSlice): void;
  writeNext(): void;
}

/**
 * How one format writes an export. `export.ts` calls it in the export's order. What it has written lies in `out`, which may
 * be emptied between any two calls, and which is touched by these calls only: before the first one it may hold what
 * others write. `close` writes the end.
 *
 * A call takes a few milliseconds at most. Where it begins more than that (a huge book, a group of rows, an ending), `goOn`
 * does the rest, a part with every call: after every other call it is called until nothing is left.
 */
export interface ExportWriter {
  readonly out: ByteBuffer;
  /** How much `out` holds when it is time to empty it. */
  readonly stepBytes: number;
  market(market: MarketAsOf): void;
  gap(market: StoredMarket, gap: Gap): void;
  /** Of a coin, or of a market. The records of a market's series are written after the market, before the next one. */
  series(labels: SeriesLabels): SeriesWriter;
  close?(): void;
  /** False when nothing was left to be done. */
  goOn?(): boolean;
}

/** For snapshots, from a segment's integers: no object is made per level. `write` finds the reader at the book to write. */
export function bookSeries(write: (reader: BookReader) => void): SeriesWriter {
  const reader = new BookReader();
  return {
    open: (slice) => {
      reader.open(slice.payload, slice.head);
      reader.advanceTo(slice.from - 1);
    },
    writeNext: () => {
      reader.advance();
      write(reader);
    },
  };
}

/** For quotes and prices, which are small enough to be decoded a segment at a time. */
export function valueSeries(
  type: ValueLabels['type'],
  write: (record: QuoteRecord | PriceRecord) => void,
): SeriesWriter {
  let records: readonly (QuoteRecord | PriceRecord)[] = [];
  let next = 0;
  return {
    open: (slice) => {
      records = (type === 'quote' ? quoteCodec : priceCodec).decode(slice.payload);
      next = slice.from;
    },
    writeNext: () => {
      write(records[next]!);
      next += 1;
    },
  };
}
