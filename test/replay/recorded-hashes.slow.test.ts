import { expect, test } from 'bun:test';
import { importPaths, temporaryArchive } from '../support/archive.ts';
import { REAL_BOOKS, realRecording } from '../support/real-recordings.ts';
import { booksInCapture, booksInParquet, lastOfEachTime, sentAgain, stillReplay } from './recorded-hashes.ts';
import { BOOKS_SLUG, VENUE_RECORDINGS } from './venue-recordings.ts';

const CAPTURE = realRecording('ws-capture-5m');
/** Of the books of a market, one in this number is compared. */
const STEP = 20;

test.skipIf(CAPTURE === undefined)('the books of a capture are sent again with the hashes of the venue', async () => {
  using place = temporaryArchive();
  await importPaths(place.archive, CAPTURE!);
  const replay = stillReplay(place.archive);
  const books = lastOfEachTime(booksInCapture(CAPTURE!));
  expect(books.map((book) => sentAgain(replay, book).hash)).toEqual(books.map(({ hash }) => hash));
  expect(books).toHaveLength(144);
  const stated = books.filter(({ last_trade_price }) => last_trade_price !== undefined);
  expect(stated.map((book) => sentAgain(replay, book).last_trade_price)).toEqual(['0.130', '0.490', '0.130', '0.490']);
});

test.skipIf(REAL_BOOKS === undefined)(
  'a market of which only books were recorded has the hashes of the venue',
  async () => {
    using place = temporaryArchive();
    await VENUE_RECORDINGS.find(({ slugs }) => slugs.includes(BOOKS_SLUG))!.load(place.archive);
    const replay = stillReplay(place.archive);
    const books = lastOfEachTime(await booksInParquet(REAL_BOOKS!, BOOKS_SLUG)).filter((_, nth) => nth % STEP === 0);
    expect(books.map((book) => sentAgain(replay, book).hash)).toEqual(books.map(({ hash }) => hash));
    expect(books.length).toBeGreaterThan(100);
  },
);
