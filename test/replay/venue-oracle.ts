import type { OrderBook } from '../../src/domain/orderbook.ts';
import { OUTCOMES, type Outcome } from '../../src/domain/outcome.ts';
import type { MirrorMode } from '../../src/replay/market-state.ts';
import { priceCodec } from '../../src/segment/price-segment.ts';
import type { Archive } from '../../src/store/archive.ts';
import { booksOf, marketOf } from '../support/imported.ts';

const EVER = [0, Number.MAX_SAFE_INTEGER] as const;
/** The venue's prices are multiples of 0.0001, so their midpoints are multiples of 0.00005. */
const SCALE = 100_000;

interface Timed {
  readonly timestampMs: number;
  readonly id: number;
}

interface OracleTrade {
  readonly price: number;
  readonly timestampMs: number;
  readonly side: string;
  readonly feeRateBps: number | undefined;
}

interface Trade extends Timed {
  readonly price: number;
  readonly trade?: { readonly side: 'buy' | 'sell' | undefined; readonly feeRateBps: number | undefined } | undefined;
}

/** Levels as the venue writes them: the best one last. */
export interface OracleBook {
  readonly timestampMs: number;
  readonly bids: readonly { readonly price: string; readonly size: string }[];
  readonly asks: readonly { readonly price: string; readonly size: string }[];
}

const exactly = (price: number) => Math.round(price * SCALE);
const mirrored = (price: number) => (SCALE - exactly(price)) / SCALE;
const textOf = (scaled: number) => String(scaled / SCALE);

/**
 * The state of a market at an instant, found by a scan of all its records. It shares only the reading of segments with the
 * tested code.
 */
export class VenueOracle {
  readonly #books: Record<Outcome, readonly (Timed & { readonly book: OrderBook })[]>;
  readonly #trades: Record<Outcome, readonly Trade[]>;
  /** The prices of the last trade that books state. */
  readonly #stated: Record<Outcome, readonly Trade[]>;
  /** By every book of either outcome. */
  readonly #decimals: readonly (readonly [timestampMs: number, decimals: number])[];

  readonly #mode: MirrorMode;

  constructor(archive: Archive, slug: string, mode: MirrorMode = 'fresh') {
    this.#mode = mode;
    const market = marketOf(archive, slug);
    const pricesOf = (outcome: Outcome, kind: 'trade' | 'last-trade') =>
      [...archive.prices.slices(market, outcome, kind, ...EVER)].flatMap(({ payload, from, to }) =>
        priceCodec.decode(payload).slice(from, to),
      );
    this.#books = { up: booksOf(archive, slug, 'up'), down: booksOf(archive, slug, 'down') };
    this.#trades = { up: pricesOf('up', 'trade'), down: pricesOf('down', 'trade') };
    this.#stated = { up: pricesOf('up', 'last-trade'), down: pricesOf('down', 'last-trade') };
    this.#decimals = OUTCOMES.flatMap((outcome) =>
      this.#books[outcome].map(({ timestampMs, book }) => {
        const decimals = [...book.bidPrices, ...book.askPrices].map(
          (price) => String(price).split('.')[1]?.length ?? 0,
        );
        return [timestampMs, Math.max(2, ...decimals)] as const;
      }),
    );
  }

  /** Every instant at which the market has a record. */
  get instants(): number[] {
    const all = OUTCOMES.flatMap((outcome) => [...this.#books[outcome], ...this.#trades[outcome]]);
    return [...new Set(all.map(({ timestampMs }) => timestampMs))].sort((a, b) => a - b);
  }

  bookAt(outcome: Outcome, nowMs: number): OracleBook | undefined {
    const own = lastOf(this.#books[outcome], nowMs);
    const other = lastOf(this.#books[outcome === 'up' ? 'down' : 'up'], nowMs);
    const isFresh = this.#mode === 'recorded' || (own?.timestampMs ?? 0) >= (other?.timestampMs ?? 0);
    if (own !== undefined && isFresh) {
      const { bidPrices, bidSizes, askPrices, askSizes } = own.book;
      return {
        timestampMs: own.timestampMs,
        bids: levels(bidPrices.map(exactly), bidSizes),
        asks: levels(askPrices.map(exactly), askSizes),
      };
    }
    if (other === undefined) return undefined;
    const { bidPrices, bidSizes, askPrices, askSizes } = other.book;
    return {
      timestampMs: other.timestampMs,
      bids: levels(
        askPrices.map((price) => SCALE - exactly(price)),
        askSizes,
      ),
      asks: levels(
        bidPrices.map((price) => SCALE - exactly(price)),
        bidSizes,
      ),
    };
  }

  /** The best prices in units of 0.00001; 0 and 1 for sides without levels. */
  bestAt(outcome: Outcome, nowMs: number): { bid: string; ask: string; mid: string; spread: string } | undefined {
    const book = this.bookAt(outcome, nowMs);
    if (book === undefined) return undefined;
    const bid = exactly(Number(book.bids.at(-1)?.price ?? 0));
    const ask = exactly(Number(book.asks.at(-1)?.price ?? 1));
    return { bid: textOf(bid), ask: textOf(ask), mid: textOf((bid + ask) / 2), spread: textOf(ask - bid) };
  }

  /** The last trade that was recorded. */
  recordedTradeAt(outcome: Outcome, nowMs: number): OracleTrade | undefined {
    const own = lastOf(this.#trades[outcome], nowMs);
    const other = lastOf(this.#trades[outcome === 'up' ? 'down' : 'up'], nowMs);
    const isOwn = own !== undefined && (other?.timestampMs ?? 0) <= own.timestampMs;
    const last = isOwn ? own : other;
    if (last === undefined) return undefined;
    const { timestampMs, price, trade: { side = '', feeRateBps } = {} } = last;
    if (isOwn) return { price, timestampMs, side: side.toUpperCase(), feeRateBps };
    return { price: mirrored(price), timestampMs, side: side && (side === 'buy' ? 'SELL' : 'BUY'), feeRateBps };
  }

  /** The same; or the price that a book states since, if it belongs to no outcome of that trade. */
  lastTradeAt(outcome: Outcome, nowMs: number): Omit<OracleTrade, 'timestampMs'> | undefined {
    const trade = this.recordedTradeAt(outcome, nowMs);
    const stated = this.#statedAt(outcome, nowMs);
    const isKnown = trade !== undefined && [trade.price, mirrored(trade.price)].includes(stated?.price ?? Number.NaN);
    if (stated === undefined || isKnown || stated.timestampMs < (trade?.timestampMs ?? 0)) return trade;
    return { price: stated.price, side: '', feeRateBps: trade?.feeRateBps };
  }

  /** The price of the last trade in the outcome's book: stated, unless a trade is more than 250 ms later. */
  priceInBookAt(outcome: Outcome, nowMs: number): number | undefined {
    const trade = this.recordedTradeAt(outcome, nowMs);
    const stated = this.#statedAt(outcome, nowMs);
    return (trade?.timestampMs ?? 0) > (stated?.timestampMs ?? 0) + 250 ? trade?.price : (stated ?? trade)?.price;
  }

  #statedAt(outcome: Outcome, nowMs: number): Trade | undefined {
    const own = lastOf(this.#stated[outcome], nowMs);
    const other = lastOf(this.#stated[outcome === 'up' ? 'down' : 'up'], nowMs);
    return (other?.timestampMs ?? 0) > (own?.timestampMs ?? 0) ? other : own;
  }

  tickAt(nowMs: number): string {
    let decimals = 2;
    for (const [timestampMs, needed] of this.#decimals) if (timestampMs <= nowMs) decimals = Math.max(decimals, needed);
    return `0.${'0'.repeat(decimals - 1)}1`;
  }
}

function lastOf<T extends Timed>(records: readonly T[], nowMs: number): T | undefined {
  let last: T | undefined;
  for (const record of records) {
    if (record.timestampMs > nowMs) continue;
    if (last === undefined || record.timestampMs > last.timestampMs) last = record;
    else if (record.timestampMs === last.timestampMs && record.id > last.id) last = record;
  }
  return last;
}

function levels(prices: readonly number[], sizes: readonly number[]) {
  return prices.map((price, index) => ({ price: textOf(price), size: String(sizes[index]) })).reverse();
}
