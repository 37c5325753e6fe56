import type { Gap } from '../domain/gap.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { MarketStatement } from '../domain/market-statement.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { PriceKind } from '../domain/price.ts';
import type { Quote } from '../domain/quote.ts';
import type { TradeDetails } from '../domain/trade.ts';

/** Fields of a record about one outcome of a market. */
interface OutcomeRecord {
  readonly conditionId: string;
  readonly outcome: Outcome;
  readonly timestampMs: number;
  /** The arrival by the recorder's clock; undefined if the recording does not state it. */
  readonly receivedMs?: InstantMs | undefined;
  /** The record's id in the archive that exported it; undefined: the import gives it a new one. */
  readonly id: number | undefined;
  /** Undefined when the recording has none; must be the market's. */
  readonly assetId: string | undefined;
}

interface SnapshotRecord extends OutcomeRecord {
  readonly type: 'snapshot';
  readonly book: OrderBook;
  /** Levels of size 0 that were left out. */
  readonly droppedLevels: number;
  /** Made from the other outcome's book, not recorded. */
  readonly mirrored?: boolean;
}

interface QuoteRecord extends OutcomeRecord {
  readonly type: 'quote';
  readonly quote: Quote;
}

interface PriceRecord extends OutcomeRecord {
  readonly type: 'price';
  readonly kind: PriceKind;
  readonly price: number;
  /** The number of the trade among equal trades of the same time, from 1; set if equal rows are different trades. */
  readonly occurrence?: number;
  /** Details of a trade, as far as the recording has them. */
  readonly trade?: TradeDetails | undefined;
}

/**
 * The price of the market's last trade, as a book of one outcome states it at its time. Which outcome was traded, and when, is not
 * stated: the venue's books of both outcomes have the same price.
 */
interface LastTradePriceRecord extends OutcomeRecord {
  readonly type: 'lastTradePrice';
  readonly price: number;
}

export interface CoinPriceRecord {
  readonly type: 'coinPrice';
  readonly symbol: string;
  readonly source: string;
  readonly timestampMs: number;
  readonly receivedMs?: InstantMs | undefined;
  readonly id: number | undefined;
  readonly price: number;
  /** Details of a trade of the coin, as far as the recording has them. The size is a number of coins. */
  readonly trade?: TradeDetails | undefined;
}

interface GapRecord {
  readonly type: 'gap';
  readonly conditionId: string;
  readonly gap: Gap;
}

interface MarketRecord {
  readonly type: 'market';
  readonly statement: MarketStatement;
}

/** Every codec turns a recording into these. */
export type RecordedItem =
  | MarketRecord
  | SnapshotRecord
  | QuoteRecord
  | PriceRecord
  | LastTradePriceRecord
  | CoinPriceRecord
  | GapRecord;

export type RecordType = RecordedItem['type'];

/** The `type` of records in bookreel's own format. */
export const RECORD_TYPES: readonly RecordType[] = [
  'market',
  'snapshot',
  'quote',
  'price',
  'lastTradePrice',
  'coinPrice',
  'gap',
];

/** A count of 0 for each type of record, in the order in which exports state them. */
export const NO_RECORDS: Readonly<Record<RecordType, number>> = {
  market: 0,
  gap: 0,
  snapshot: 0,
  quote: 0,
  price: 0,
  lastTradePrice: 0,
  coinPrice: 0,
};
