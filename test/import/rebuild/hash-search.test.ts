import { expect, test } from 'bun:test';
import { HashSearch } from '../../../src/import/rebuild/hash-search.ts';
import { MarketTrades } from '../../../src/import/rebuild/market-trades.ts';
import { bookMessage } from '../../../src/venue/book-message-parser.ts';
import { book, type Frame, venueHash } from './venue-messages.ts';

const BOOK = book(0, '0.1:1.5', '0.9:20');

function claimOf(frame: Frame) {
  return bookMessage(frame).claim!;
}

test('a hash is found with every tick and every price of the last trade, whatever matched before', () => {
  const search = new HashSearch(new MarketTrades());
  for (let thousandths = 1; thousandths < 1000; thousandths += 37) {
    for (const tick of ['0.01', '0.001']) {
      const hash = venueHash(BOOK, { tick, lastTrade: (thousandths / 1000).toFixed(3) });
      expect(search.lastTradePriceOf(claimOf({ ...BOOK, hash }))).toBeDefined();
    }
  }
  expect(search.lastTradePriceOf(claimOf({ ...BOOK, hash: venueHash(BOOK) }))).toBeDefined();
});

test('no other hash is found, and a book in the buffer before it changes nothing', () => {
  const search = new HashSearch(new MarketTrades());
  const long = book(
    0,
    Array.from({ length: 500 }, (_, index) => [`0.${1000 + index}`, '1'] as const),
    '',
  );
  expect(search.lastTradePriceOf(claimOf({ ...long, hash: venueHash(long) }))).toBeDefined();
  expect(search.lastTradePriceOf(claimOf({ ...BOOK, hash: venueHash(long) }))).toBeUndefined();
  expect(search.lastTradePriceOf(claimOf({ ...BOOK, hash: venueHash(BOOK, { lastTrade: '0.500' }) }))).toBeDefined();
});

test('levels that are not plain digits are hashed as JSON writes them', () => {
  const odd = { ...BOOK, bids: [{ price: '1e-1', size: '1' }] };
  const search = new HashSearch(new MarketTrades());
  expect(search.lastTradePriceOf(claimOf({ ...odd, hash: venueHash(odd) }))).toBeDefined();
});
