import type { Gap } from '../../domain/gap.ts';
import type { MarketAsOf } from '../../domain/market-as-of.ts';
import { MARKET_FIELDS, statedOf } from '../../domain/market-fields.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { Position } from '../../domain/page.ts';
import type { PriceKind } from '../../domain/price.ts';
import type { BookReader } from '../../segment/book-segment.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import { type PriceRecord, priceCodec } from '../../segment/price-segment.ts';
import { type QuoteRecord, quoteCodec } from '../../segment/quote-segment.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { BookSeries, DecodedSeries, type ExportWriter, type SeriesWriter } from './export-writer.ts';
import type { FlatRow } from './flat-columns.ts';

/** A file of rows of the flat schema. */
export interface FlatTable {
  readonly out: ByteBuffer;
  readonly stepBytes: number;
  row(row: FlatRow): void;
  /**
   * A row per level of the book that `reader` stands at, bids first; `row` says the rest of each. Begins behind the first `from`
   * levels, may stop before the last one, and answers how many are written then.
   */
  levels(row: FlatRow, reader: BookReader, from: number): number;
  close(): void;
  /** Does a part of what has to be done before the next call of the others; false when nothing was left. */
  goOn(): boolean;
}

/** A book of which not all levels are written yet. */
interface OpenBook {
  readonly row: FlatRow;
  readonly reader: BookReader;
  written: number;
}

/** Exports as rows of the flat schema (flat.ts), whatever file they stand in. */
export class FlatWriter implements ExportWriter {
  readonly #table: FlatTable;
  /** What the last call left to `goOn`. */
  #row: FlatRow | undefined;
  #book: OpenBook | undefined;

  constructor(table: FlatTable) {
    this.#table = table;
  }

  get out(): ByteBuffer {
    return this.#table.out;
  }

  get stepBytes(): number {
    return this.#table.stepBytes;
  }

  /** What was stated, as in the own format; the window begins at the row's own time. */
  market(market: MarketAsOf): void {
    const cells = MARKET_FIELDS.filter(({ held }) => held !== 'startMs').map(({ name, held }) => {
      const value = statedOf(market, held);
      return [name, typeof value === 'object' ? value.join(';') : value] as const;
    });
    this.#table.row({ type: 'market', timestamp: market.startMs, ...Object.fromEntries(cells) });
  }

  gap({ symbol, conditionId }: StoredMarket, { fromMs, toMs, reason }: Gap): void {
    this.#table.row({ type: 'gap', symbol, conditionId, timestamp: fromMs, endTime: toMs, reason });
  }

  snapshots(market: StoredMarket, outcome: Outcome, mirrored: boolean): SeriesWriter {
    return new BookSeries((reader) => {
      const { head, index, bids, asks } = reader;
      const place = { timestampMs: head.timestamps[index]!, id: head.ids[index]! };
      const labels = { type: 'snapshot', ...outcomeColumns(market, outcome, place) };
      const row = { ...labels, mirrored: mirrored ? true : undefined };
      if (bids.length === 0 && asks.length === 0) this.#table.row(row);
      else this.#levels({ row, reader, written: 0 });
    });
  }

  quotes(market: StoredMarket, outcome: Outcome): SeriesWriter {
    return new DecodedSeries(quoteCodec, (record) => this.#quote(market, outcome, record));
  }

  prices(market: StoredMarket, outcome: Outcome, kind: PriceKind): SeriesWriter {
    return new DecodedSeries(priceCodec, (record) =>
      this.#table.row({
        type: 'price',
        ...outcomeColumns(market, outcome, record),
        price: record.price,
        kind,
        ...record.trade,
      }),
    );
  }

  coinPrices(symbol: string, source: string): SeriesWriter {
    return new DecodedSeries(priceCodec, ({ timestampMs: timestamp, id, price }: PriceRecord) =>
      this.#table.row({ type: 'coinPrice', symbol, timestamp, id, price, source }),
    );
  }

  close(): void {
    this.#table.close();
  }

  goOn(): boolean {
    if (this.#table.goOn()) return true;
    const row = this.#row;
    const book = this.#book;
    this.#row = undefined;
    if (row !== undefined) this.#table.row(row);
    else if (book !== undefined) this.#levels(book);
    return row !== undefined || book !== undefined;
  }

  #levels(book: OpenBook): void {
    const { row, reader } = book;
    book.written = this.#table.levels(row, reader, book.written);
    this.#book = book.written < reader.bids.length + reader.asks.length ? book : undefined;
  }

  #quote(market: StoredMarket, outcome: Outcome, record: QuoteRecord): void {
    const { bidPrice, bidSize, askPrice, askSize } = record.quote;
    const row = { type: 'quote', ...outcomeColumns(market, outcome, record) };
    const bid = bidPrice === undefined ? [] : [{ ...row, side: 'bid', level: 1, price: bidPrice, size: bidSize }];
    const ask = askPrice === undefined ? [] : [{ ...row, side: 'ask', level: 1, price: askPrice, size: askSize }];
    const [first = row, second] = [...bid, ...ask];
    this.#table.row(first);
    this.#row = second;
  }
}

function outcomeColumns({ symbol, conditionId }: StoredMarket, outcome: Outcome, { timestampMs, id }: Position) {
  return { symbol, conditionId, outcome, timestamp: timestampMs, id };
}
