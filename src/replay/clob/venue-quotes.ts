import { decimalText } from '../../domain/decimal.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { marketAsOf } from '../../domain/market-as-of.ts';
import { complement } from '../../domain/mirrored-book.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { PriceRecord } from '../../segment/price-segment.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { type BestPrices, bestPricesOf, midpointOf, spreadText } from '../../venue/best-prices.ts';
import { BookWriter } from '../../venue/book-writer.ts';
import { scheduledBaseFee } from '../../venue/fee-schedule.ts';
import { type KnownBook, type LastTrade, lastTradeAt, statedTradeAt, tradeInBook } from '../market-state.ts';
import type { Replay } from '../replay.ts';

/** An asset that is traded at an instant, with its book at that time. */
interface TradedAsset {
  readonly market: StoredMarket;
  readonly outcome: Outcome;
  readonly known: KnownBook;
}

/** A side of the book: the buyers' or the sellers'. */
export type BookSide = 'BUY' | 'SELL';

/** A trade in the venue's format; fields that were not recorded are undefined. */
export interface QuotedTrade {
  readonly price: string;
  /** The side of the taker. */
  readonly side: BookSide | undefined;
  readonly feeRateBps: number | undefined;
}

/**
 * The answers of the venue's REST interface about assets (docs.polymarket.com, market data of the CLOB) at one instant of a
 * replay; later records have no effect. Prices are exact decimals as text. Undefined means that there is no order book: the
 * market is not listed yet or not in the replay, no book was recorded yet, or the market is resolved. Call the methods within
 * Database.readShared.
 */
export class VenueQuotes {
  readonly #replay: Replay;
  readonly #nowMs: InstantMs;
  /** The results of earlier look-ups: batches may name an asset many times. */
  readonly #traded = new Map<string, TradedAsset | undefined>();

  constructor(replay: Replay, nowMs: InstantMs) {
    this.#replay = replay;
    this.#nowMs = nowMs;
  }

  /** The answer of `/book`, with a valid hash of its content. */
  book(assetId: string): string | undefined {
    const asset = this.#find(assetId);
    if (asset === undefined) return undefined;
    const { market, outcome, known } = asset;
    const book = new BookWriter(market.conditionId, assetId);
    book.reset(known.book);
    return book.summary({
      timestampMs: known.timestampMs + this.#replay.shiftMs,
      tickSize: this.#replay.ticks.at(market, this.#nowMs),
      lastTrade: tradeInBook(...this.#tradesOf(market, outcome)),
    });
  }

  midpoint(assetId: string): string | undefined {
    const best = this.#best(assetId);
    return best && decimalText(midpointOf(best));
  }

  /** The best bid for BUY, the best ask for SELL: the side of the book, not of the taker. */
  price(assetId: string, side: BookSide): string | undefined {
    const best = this.#best(assetId);
    return best && decimalText(side === 'BUY' ? best.bid : best.ask);
  }

  /** The ask less the bid; negative if the book is crossed. */
  spread(assetId: string): string | undefined {
    const best = this.#best(assetId);
    return best && spreadText(best);
  }

  /**
   * The last trade, also of a resolved market; undefined before the first trade. A trade of the other outcome has the opposite side. If
   * a book states a newer trade, the result has the price in the book, and no side.
   */
  lastTrade(assetId: string): QuotedTrade | undefined {
    const found = this.#replay.findByAsset(assetId, this.#nowMs);
    if (found === undefined) return undefined;
    const { market, outcome } = found;
    const [last, stated] = this.#tradesOf(market, outcome);
    const { side, feeRateBps } = last?.trade ?? {};
    if (stated !== undefined && (last === undefined || isNewer(stated, last))) {
      return { price: decimalText(stated.price), side: undefined, feeRateBps };
    }
    if (last === undefined) return undefined;
    return {
      price: decimalText(last.price),
      side: side && ((side === 'buy') === last.isOwn ? 'BUY' : 'SELL'),
      feeRateBps,
    };
  }

  /**
   * The taker's fee in hundredths of a percent: that of the last trade, before the first one with a recorded fee the market's
   * `takerBaseFee`, and without that the venue's at the listing of the market. Undefined if the market is not listed.
   */
  feeRate(assetId: string): number | undefined {
    const found = this.#replay.findByAsset(assetId, this.#nowMs);
    if (found === undefined) return undefined;
    const { key, timeframe } = found.market;
    const { takerBaseFee } = this.#replay.archive.markets.details.of(key);
    const recorded = this.lastTrade(assetId)?.feeRateBps ?? takerBaseFee;
    return recorded ?? scheduledBaseFee(timeframe, this.#replay.listedMsOf(found.market));
  }

  /** The tick size, also of a resolved market, and before its first book. */
  tickSize(assetId: string): string | undefined {
    const found = this.#replay.findByAsset(assetId, this.#nowMs);
    return found && this.#replay.ticks.at(found.market, this.#nowMs);
  }

  /** The last trade, and the one that a book states. */
  #tradesOf(market: StoredMarket, outcome: Outcome) {
    const { archive, options } = this.#replay;
    const of = [archive, market, outcome, this.#nowMs, options.arrival] as const;
    return [lastTradeAt(...of), statedTradeAt(...of)] as const;
  }

  #best(assetId: string): BestPrices | undefined {
    const asset = this.#find(assetId);
    return asset && bestPricesOf(asset.known.book);
  }

  #find(assetId: string): TradedAsset | undefined {
    if (this.#traded.has(assetId)) return this.#traded.get(assetId);
    const found = this.#replay.findByAsset(assetId, this.#nowMs);
    const isTraded = found !== undefined && marketAsOf(found.market, this.#nowMs).resolvedMs === undefined;
    const known = isTraded ? this.#replay.bookAt(found.market, found.outcome, this.#nowMs) : undefined;
    const asset = found && known && { ...found, known };
    this.#traded.set(assetId, asset);
    return asset;
  }
}

/** Returns true if a book states a newer trade than `last`: it is not older, and its price, which may be of either outcome, differs. */
function isNewer(stated: PriceRecord, last: LastTrade): boolean {
  return (
    stated.timestampMs >= last.timestampMs && stated.price !== last.price && stated.price !== complement(last.price)
  );
}
