import type { OrderBook } from '../domain/orderbook.ts';
import { midOf, type Quote, topOfBook } from '../domain/quote.ts';
import type { BookRecord } from './book-format.ts';
import type { PriceRecord } from './price-segment.ts';
import type { QuoteRecord } from './quote-segment.ts';

/**
 * The quotes that consecutive snapshots imply: one for each snapshot whose top of the book differs from that of the one before it.
 * `before` is the quote before the first snapshot. A derived quote has the position and the arrival of the snapshot it
 * was derived from.
 */
export function deriveQuotes(before: Quote | undefined, snapshots: readonly BookRecord[]): QuoteRecord[] {
  const quotes: QuoteRecord[] = [];
  let current = before;
  for (const { timestampMs, id, receivedMs, book } of snapshots) {
    if (current !== undefined && hasTop(book, current)) continue;
    current = topOfBook(book);
    quotes.push({ timestampMs, id, receivedMs, quote: current });
  }
  return quotes;
}

/**
 * The midpoints that consecutive snapshots imply: one wherever a two-sided book's mid differs from the mid of the
 * snapshot before it (so also where a book becomes two-sided again). `before` as in `deriveQuotes`.
 */
export function deriveMids(before: Quote | undefined, snapshots: readonly BookRecord[]): PriceRecord[] {
  const mids: PriceRecord[] = [];
  let bidPrice = before?.bidPrice;
  let askPrice = before?.askPrice;
  let current = before === undefined ? undefined : midOf(before);
  for (const { timestampMs, id, receivedMs, book } of snapshots) {
    // Most snapshots have the best prices, and so the mid, of the snapshot before.
    if (book.bidPrices[0] === bidPrice && book.askPrices[0] === askPrice) continue;
    const quote = topOfBook(book);
    const mid = midOf(quote);
    if (mid !== undefined && mid !== current) mids.push({ timestampMs, id, receivedMs, price: mid });
    current = mid;
    bidPrice = quote.bidPrice;
    askPrice = quote.askPrice;
  }
  return mids;
}

function hasTop({ bidPrices, bidSizes, askPrices, askSizes }: OrderBook, top: Quote): boolean {
  return (
    bidPrices[0] === top.bidPrice &&
    bidSizes[0] === top.bidSize &&
    askPrices[0] === top.askPrice &&
    askSizes[0] === top.askSize
  );
}
