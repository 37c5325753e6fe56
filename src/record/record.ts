import type { Gap } from '../domain/gap.ts';
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
  /** Details of a trade, as far as the recording has them. */
  readonly trade?: TradeDetails | undefined;
}

interface CoinPriceRecord {
  readonly type: 'coinPrice';
  readonly symbol: string;
  readonly source: string;
  readonly timestampMs: number;
  readonly id: number | undefined;
  readonly price: number;
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
export type RecordedItem = MarketRecord | SnapshotRecord | QuoteRecord | PriceRecord | CoinPriceRecord | GapRecord;

export type RecordType = RecordedItem['type'];

/** The `type` of records in bookreel's own format. */
export const RECORD_TYPES: readonly RecordType[] = ['market', 'snapshot', 'quote', 'price', 'coinPrice', 'gap'];
