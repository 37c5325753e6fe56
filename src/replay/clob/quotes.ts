import { decimalText } from '../../domain/decimal.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { marketAsOf } from '../../domain/market-as-of.ts';
import { type Outcome, otherOutcome } from '../../domain/outcome.ts';
import type { TradeSide } from '../../domain/trade.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { type BestPrices, bestPricesOf, midpointOf, spreadText } from '../../venue/best-prices.ts';
import { BookWriter } from '../../venue/book-writer.ts';
import { bookAt, type KnownBook, lastTradeAt } from '../market-state.ts';
import type { Replay } from '../replay.ts';

/** An asset that is traded at an instant: which outcome of which market it is, and its book then. */
interface TradedAsset {
  readonly market: StoredMarket;
  readonly outcome: Outcome;
  readonly known: KnownBook;
}

/** The side of the book whose best price is asked for: the buyers' or the sellers'. */
export type BookSide = 'BUY' | 'SELL';

/** A trade as the venue tells it; what was not recorded of it is undefined. */
export interface SentTrade {
  readonly price: string;
  /** Who took it. */
  readonly side: BookSide | undefined;
  readonly feeRateBps: number | undefined;
}

const SIDES: Readonly<Record<TradeSide, BookSide>> = { buy: 'BUY', sell: 'SELL' };

/**
 * What the venue's REST interface says of assets (docs.polymarket.com, market data of the CLOB), at one instant of a replay and
 * from nothing later. Figures are decimals as text, exact. Undefined: there is no order book, because the asset belongs to
 * no market of the replay that is listed by then, nothing of its book had been recorded by then, or it was resolved. Within
 * Database.readShared.
 */
export class VenueQuotes {
  readonly #replay: Replay;
  readonly #nowMs: InstantMs;
  /** What was asked for: batches name an asset again and again. */
  readonly #traded = new Map<string, TradedAsset | undefined>();

  constructor(replay: Replay, nowMs: InstantMs) {
    this.#replay = replay;
    this.#nowMs = nowMs;
  }

  /** The answer of `/book`, with a hash that is valid over what it says. */
  book(assetId: string): string | undefined {
    const asset = this.#find(assetId);
    if (asset === undefined) return undefined;
    const { market, outcome, known } = asset;
    const book = new BookWriter(market.conditionId, assetId);
    book.reset(known.book);
    return book.summary({
      timestampMs: known.timestampMs + this.#replay.shiftMs,
      tickSize: this.#replay.ticks.at(market, this.#nowMs),
      lastTrade: lastTradeAt(this.#replay.archive, market, outcome, this.#nowMs),
    });
  }

  midpoint(assetId: string): string | undefined {
    const best = this.#best(assetId);
    return best && decimalText(midpointOf(best));
  }

  /** The best bid for BUY, the best ask for SELL: the side of the book, not what somebody who takes it does. */
  price(assetId: string, side: BookSide): string | undefined {
    const best = this.#best(assetId);
    return best && decimalText(side === 'BUY' ? best.bid : best.ask);
  }

  /** Negative where the book is crossed. */
  spread(assetId: string): string | undefined {
    const best = this.#best(assetId);
    return best && spreadText(best);
  }

  /** Also of a resolved market; undefined before the first trade. One told of the other outcome is one against it. */
  lastTrade(assetId: string): SentTrade | undefined {
    const found = this.#replay.findByAsset(assetId, this.#nowMs);
    if (found === undefined) return undefined;
    const { market, outcome } = found;
    const last = lastTradeAt(this.#replay.archive, market, outcome, this.#nowMs);
    if (last === undefined) return undefined;
    const { isOwn, price, timestampMs } = last;
    const toldOf = isOwn ? outcome : otherOutcome(outcome);
    const { side, feeRateBps } = this.#replay.archive.prices.latest(market, toldOf, 'trade', timestampMs)?.trade ?? {};
    return { price: decimalText(price), side: side && SIDES[isOwn ? side : otherSide(side)], feeRateBps };
  }

  /** Also of a resolved market, and before its first book. */
  tickSize(assetId: string): string | undefined {
    const found = this.#replay.findByAsset(assetId, this.#nowMs);
    return found && this.#replay.ticks.at(found.market, this.#nowMs);
  }

  #best(assetId: string): BestPrices | undefined {
    const asset = this.#find(assetId);
    return asset && bestPricesOf(asset.known.book);
  }

  #find(assetId: string): TradedAsset | undefined {
    if (!this.#traded.has(assetId)) this.#traded.set(assetId, this.#look(assetId));
    return this.#traded.get(assetId);
  }

  #look(assetId: string): TradedAsset | undefined {
    const found = this.#replay.findByAsset(assetId, this.#nowMs);
    if (found === undefined || marketAsOf(found.market, this.#nowMs).resolvedMs !== undefined) return undefined;
    const known = bookAt(this.#replay.archive, found.market, found.outcome, this.#nowMs);
    return known && { ...found, known };
  }
}

function otherSide(side: TradeSide): TradeSide {
  return side === 'buy' ? 'sell' : 'buy';
}
