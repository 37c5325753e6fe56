import { midOf, type Quote, sameQuote, topOfBook } from '../domain/quote.ts';
import type { BookRecord } from './book-segment.ts';
import type { PriceRecord } from './price-segment.ts';
import type { QuoteRecord } from './quote-segment.ts';

/**
 * The quotes that consecutive snapshots imply: one wherever the top of the book differs from `before` (the quote in
 * force in front of the first snapshot). A derived quote has the place of the snapshot it was derived from.
 */
export function deriveQuotes(before: Quote | undefined, snapshots: readonly BookRecord[]): QuoteRecord[] {
  const quotes: QuoteRecord[] = [];
  let current = before;
  for (const { timestampMs, id, book } of snapshots) {
    const quote = topOfBook(book);
    if (current !== undefined && sameQuote(current, quote)) continue;
    quotes.push({ timestampMs, id, quote });
    current = quote;
  }
  return quotes;
}

/**
 * The midpoints that consecutive snapshots imply: one wherever a two-sided book's mid differs from the mid of the
 * snapshot in front of it (so also where a book becomes two-sided again). `before` as in `deriveQuotes`.
 */
export function deriveMids(before: Quote | undefined, snapshots: readonly BookRecord[]): PriceRecord[] {
  const mids: PriceRecord[] = [];
  let current = before === undefined ? undefined : midOf(before);
  for (const { timestampMs, id, book } of snapshots) {
    const mid = midOf(topOfBook(book));
    if (mid !== undefined && mid !== current) mids.push({ timestampMs, id, price: mid });
    current = mid;
  }
  return mids;
}
