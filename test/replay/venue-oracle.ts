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
const textOf = (scaled: number) => String(scaled / SCALE);

/**
 * The state of a market at an instant, found by a scan of all its records. It shares only the reading of segments with the
 * tested code.
 */
export class VenueOracle {
  readonly #books: Record<Outcome, readonly (Timed & { readonly book: OrderBook })[]>;
  readonly #trades: Record<Outcome, readonly Trade[]>;
  /** By every book of either outcome. */
  readonly #decimals: readonly (readonly [timestampMs: number, decimals: number])[];

  readonly #mode: MirrorMode;

  constructor(archive: Archive, slug: string, mode: MirrorMode = 'fresh') {
    this.#mode = mode;
    const market = marketOf(archive, slug);
    const tradesOf = (outcome: Outcome) =>
      [...archive.prices.slices(market, outcome, 'trade', ...EVER)].flatMap(({ payload, from, to }) =>
        priceCodec.decode(payload).slice(from, to),
      );
    this.#books = { up: booksOf(archive, slug, 'up'), down: booksOf(archive, slug, 'down') };
    this.#trades = { up: tradesOf('up'), down: tradesOf('down') };
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

  lastTradeAt(
    outcome: Outcome,
    nowMs: number,
  ): { price: number; side: string; feeRateBps: number | undefined } | undefined {
    const own = lastOf(this.#trades[outcome], nowMs);
    const other = lastOf(this.#trades[outcome === 'up' ? 'down' : 'up'], nowMs);
    if (own !== undefined && (other?.timestampMs ?? 0) <= own.timestampMs) {
      return { price: own.price, side: own.trade?.side?.toUpperCase() ?? '', feeRateBps: own.trade?.feeRateBps };
    }
    if (other === undefined) return undefined;
    const side = other.trade?.side && (other.trade.side === 'buy' ? 'SELL' : 'BUY');
    return { price: (SCALE - exactly(other.price)) / SCALE, side: side ?? '', feeRateBps: other.trade?.feeRateBps };
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
