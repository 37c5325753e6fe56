import type { Gap } from '../../domain/gap.ts';
import type { MarketAsOf } from '../../domain/market-as-of.ts';
import { MARKET_FIELDS, statedOf } from '../../domain/market-fields.ts';
import type { FlatRow } from '../../record/flat-columns.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import type { Received } from '../../segment/segment-header.ts';
import type { StoredMarket } from '../../store/markets.ts';
import {
  bookSeries,
  type ExportWriter,
  type ReadBook,
  type SeriesLabels,
  type SeriesWriter,
  valueSeries,
} from './export-writer.ts';

/** A book with levels that are not written yet. */
interface OpenBook {
  readonly row: FlatRow;
  readonly book: ReadBook;
  written: number;
}

/** Turns records into rows of the flat schema (flat-columns.ts). Its subclasses write the rows. */
export abstract class FlatWriter implements ExportWriter {
  abstract readonly out: ByteBuffer;
  abstract readonly stepBytes: number;
  /** The coin of the market that was written last. */
  #symbol: string | undefined;
  /** Rows that the last call left for `continueWriting`. */
  #row: FlatRow | undefined;
  #book: OpenBook | undefined;
  readonly #depth: number | undefined;

  /** For `depth` see Sampling. */
  constructor(depth: number | undefined) {
    this.#depth = depth;
  }

  protected abstract row(row: FlatRow): void;

  /**
   * Writes a row per level of a book, bids first, starting at level `from`. `row` has the other columns. May stop
   * before the last level. Returns the number of levels written so far.
   */
  protected abstract levels(row: FlatRow, book: ReadBook, from: number): number;

  abstract close(): void;

  /** Writes the fields that a recording stated. The row's timestamp is the start of the window. */
  market(market: MarketAsOf): void {
    this.#symbol = market.symbol;
    const cells = MARKET_FIELDS.filter(({ property }) => property !== 'startMs').map(({ name, property }) => {
      const value = statedOf(market, property);
      return [name, typeof value === 'object' ? value.join(';') : value] as const;
    });
    this.row({ type: 'market', timestamp: market.startMs, ...Object.fromEntries(cells) });
  }

  gap({ symbol, conditionId }: StoredMarket, { fromMs, toMs, reason }: Gap): void {
    this.row({ type: 'gap', symbol, conditionId, timestamp: fromMs, endTime: toMs, reason });
  }

  series(labels: SeriesLabels): SeriesWriter {
    const rowOf = ({ timestampMs: timestamp, id, receivedMs: receivedAt }: Received) => ({
      ...{ symbol: this.#symbol, ...labels, timestamp, id, receivedAt },
    });
    if (labels.type !== 'snapshot') {
      return valueSeries(labels.type, (record) => {
        const row = rowOf(record);
        if (!('quote' in record)) return this.row({ ...row, price: record.price, ...record.trade });
        const { bidPrice, bidSize, askPrice, askSize } = record.quote;
        const bid = bidPrice === undefined ? [] : [{ ...row, side: 'bid', level: 1, price: bidPrice, size: bidSize }];
        const ask = askPrice === undefined ? [] : [{ ...row, side: 'ask', level: 1, price: askPrice, size: askSize }];
        const [first = row, second] = [...bid, ...ask];
        this.row(first);
        this.#row = second;
      });
    }
    return bookSeries(this.#depth, (book) => {
      const { head, index, receivedMs, bids, asks } = book;
      const row = rowOf({ timestampMs: head.timestamps[index]!, id: head.ids[index]!, receivedMs });
      if (bids.length === 0 && asks.length === 0) this.row(row);
      else this.#levels({ row, book, written: 0 });
    });
  }

  continueWriting(): boolean {
    const row = this.#row;
    const book = this.#book;
    this.#row = undefined;
    if (row !== undefined) this.row(row);
    else if (book !== undefined) this.#levels(book);
    return row !== undefined || book !== undefined;
  }

  #levels(open: OpenBook): void {
    const { row, book } = open;
    open.written = this.levels(row, book, open.written);
    this.#book = open.written < book.bids.length + book.asks.length ? open : undefined;
  }
}
