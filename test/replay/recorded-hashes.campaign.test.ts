import { expect, test } from 'bun:test';
import { importPaths, temporaryArchive } from '../support/archive.ts';
import { sized } from '../support/campaign-size.ts';
import { REAL_BOOKS } from '../support/real-recordings.ts';
import { booksInParquet, lastOfEachTime, sentAgain, stillReplay } from './recorded-hashes.ts';

const MESSAGES = 61_437;
/** One message was recorded twice. */
const BOOKS = MESSAGES - 1;
/** One in this number is compared. */
const STEP = sized(8, 1);

test.skipIf(REAL_BOOKS === undefined)('recorded books are sent again with the hashes of the venue', async () => {
  using place = temporaryArchive();
  await importPaths(place.archive, REAL_BOOKS!);
  const replay = stillReplay(place.archive);
  const messages = await booksInParquet(REAL_BOOKS!, '');
  const books = lastOfEachTime(messages);
  expect([messages.length, books.length]).toEqual([MESSAGES, BOOKS]);
  const compared = books.filter((_, nth) => nth % STEP === 0);
  const wrong = compared.filter((book) => sentAgain(replay, book).hash !== book.hash);
  expect(wrong).toEqual([]);
});
