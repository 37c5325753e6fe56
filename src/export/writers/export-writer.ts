import type { Gap } from '../../domain/gap.ts';
import type { MarketAsOf } from '../../domain/market-as-of.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { Position } from '../../domain/page.ts';
import type { PriceKind } from '../../domain/price.ts';
import { BookReader } from '../../segment/book-segment.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import type { SegmentCodec, SegmentSlice } from '../../segment/segment-header.ts';
import type { StoredMarket } from '../../store/markets.ts';

/**
 * What a format that is written record by record holds before it is emptied: enough that what a step costs beside its
 * records does not count, little for a slow reader to hold on to.
 */
export const STEP_BYTES = 1024 * 1024;

/** Writes the records of one series: `open` begins a slice, each `writeNext` writes the next record of it. */
export interface SeriesWriter {
  open(slice: SegmentSlice): void;
  writeNext(): void;
}

/**
 * How one format writes an export. It is told everything in the export's order, by `export.ts`. What it has written stands
 * in `out`, which may be emptied between any two calls, and which is touched by these calls only: before the first one it may
 * hold what others write. `close` writes what has to stand at the end.
 *
 * A call does no more than takes a few milliseconds. Where it begins more than that (a huge book, a group of rows, an ending),
 * `goOn` does the rest, a part with every call: behind every other call it is called until nothing is left.
 */
export interface ExportWriter {
  readonly out: ByteBuffer;
  /** How much `out` holds when it is time to empty it. */
  readonly stepBytes: number;
  market(market: MarketAsOf): void;
  gap(market: StoredMarket, gap: Gap): void;
  /** The series that follow belong to the market that was written last. */
  snapshots(market: StoredMarket, outcome: Outcome, mirrored: boolean): SeriesWriter;
  quotes(market: StoredMarket, outcome: Outcome): SeriesWriter;
  prices(market: StoredMarket, outcome: Outcome, kind: PriceKind): SeriesWriter;
  coinPrices(symbol: string, source: string): SeriesWriter;
  close(): void;
  /** False when nothing was left to be done. */
  goOn(): boolean;
}

/** For snapshots, from a segment's integers: no object is made per level. `write` finds the reader at the book to write. */
export class BookSeries implements SeriesWriter {
  readonly #write: (reader: BookReader) => void;
  readonly #reader = new BookReader();

  constructor(write: (reader: BookReader) => void) {
    this.#write = write;
  }

  open(slice: SegmentSlice): void {
    this.#reader.open(slice.payload, slice.head);
    this.#reader.advanceTo(slice.from - 1);
  }

  writeNext(): void {
    const reader = this.#reader;
    reader.advance();
    this.#write(reader);
  }
}

/** For records that are small enough to be decoded a segment at a time. */
export class DecodedSeries<R extends Position> implements SeriesWriter {
  readonly #codec: SegmentCodec<R>;
  readonly #write: (record: R) => void;
  #records: readonly R[] = [];
  #next = 0;

  constructor(codec: SegmentCodec<R>, write: (record: R) => void) {
    this.#codec = codec;
    this.#write = write;
  }

  open(slice: SegmentSlice): void {
    this.#records = this.#codec.decode(slice.payload);
    this.#next = slice.from;
  }

  writeNext(): void {
    this.#write(this.#records[this.#next]!);
    this.#next += 1;
  }
}
