import { type BookStyle, randomBooks } from './random-books.ts';

const FIRST_MS = Date.UTC(2026, 3, 1);
const MARKET_MS = 300_000;
const STYLE: BookStyle = { priceScale: 2, sizes: 'cents', levelsMax: 20, changesMax: 6 };
/** Ten times the bytes a book. */
export const WIDE: BookStyle = { priceScale: 3, sizes: 'mixed', levelsMax: 80, changesMax: 60 };

/** `count` markets of five minutes that follow one another, each with `books` books of one outcome; `from` is the number of the first. */
export function marketsOfBooks(from: number, count: number, books: number, style = STYLE): object[] {
  return Array.from({ length: count }, (_, index) => from + index).flatMap((number) => {
    const startMs = FIRST_MS + number * MARKET_MS;
    const conditionId = `0x${new Bun.CryptoHasher('sha256').update(`market ${number}`).digest('hex')}`;
    const market = {
      ...{ type: 'market', conditionId, slug: `btc-updown-5m-${startMs / 1000}`, symbol: 'btc', timeframe: '5m' },
      ...{ outcomes: ['up', 'down'], clobTokenIds: [`1${number}1`, `1${number}2`], winner: 'up' },
      startTime: new Date(startMs).toISOString(),
      endTime: new Date(startMs + MARKET_MS).toISOString(),
    };
    const side = (prices: readonly number[], sizes: readonly number[]) =>
      prices.map((price, at) => ({ price, size: sizes[at]! }));
    const snapshots = randomBooks(number, books, style).map((book, at) => ({
      ...{ type: 'snapshot', conditionId, outcome: 'up' },
      timestamp: new Date(startMs + Math.floor((at * MARKET_MS) / books)).toISOString(),
      bids: side(book.bidPrices, book.bidSizes),
      asks: side(book.askPrices, book.askSizes),
    }));
    return [market, ...snapshots];
  });
}
