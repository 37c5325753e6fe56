import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { booksOf, marketOf } from '../support/imported.ts';
import { CONDITION_ID, START_MS, sampleMarket } from '../support/sample-records.ts';
import { book, buy, change, type Frame, MARKET, sell, venueHash } from './rebuild/venue-messages.ts';

const SLUG = MARKET.statement.slug;

/** A snapshot record of the up outcome with one level a side. */
function snapshot(offsetMs: number, bid: string, ask: string): Frame {
  const level = (text: string) => {
    const [price, size] = text.split(':').map(Number);
    return { price, size };
  };
  const timestamp = START_MS + offsetMs;
  return {
    type: 'snapshot',
    conditionId: CONDITION_ID,
    outcome: 'up',
    timestamp,
    bids: [level(bid)],
    asks: [level(ask)],
  };
}

/** Imports the files with a command each. */
async function imported(...files: readonly (readonly unknown[])[]) {
  using place = temporaryArchive();
  using directory = temporaryDirectory();
  const reports = [];
  for (const [index, records] of [[sampleMarket()], ...files].entries()) {
    const path = join(directory.path, `${index}.ndjson`);
    writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    reports.push(await importPaths(place.archive, path));
  }
  const books = booksOf(place.archive, SLUG, 'up').map(({ timestampMs, book: { bidPrices, bidSizes } }) => {
    const bids = bidPrices.map((price, index) => `${price}:${bidSizes[index]}`).join(' ');
    return `${timestampMs - START_MS} ${bids}`;
  });
  return { books, gaps: place.archive.gaps.list(marketOf(place.archive, SLUG).key), reports };
}

describe('snapshots of a recording without changes, and changes of another one', () => {
  test('snapshots may lack levels: changes are not applied to them', async () => {
    const snapshots = [snapshot(0, '0.4:10', '0.6:5'), snapshot(1000, '0.4:11', '0.6:5')];
    const changes = [change(1500, buy('0.39', '7')), change(1600, buy('0.38', '7'))];
    for (const files of [
      [snapshots, changes],
      [changes, snapshots],
    ]) {
      const { books, gaps } = await imported(...files);
      expect({ books, gaps }).toEqual({ books: ['0 0.4:10', '1000 0.4:11'], gaps: [] });
    }
  });

  test('a snapshot that a hash proves is a book to which changes are applied', async () => {
    const hash = venueHash(book(1500, '0.39:7 0.4:11', '0.6:5'), { lastTrade: '0.400' });
    const changes = [change(1500, { ...buy('0.39', '7'), hash }), change(1600, buy('0.38', '7'))];
    const { books, gaps } = await imported([snapshot(1000, '0.4:11', '0.6:5')], changes);
    expect(books).toEqual(['1000 0.4:11', '1500 0.4:11 0.39:7', '1600 0.4:11 0.39:7 0.38:7']);
    expect(gaps).toEqual([]);
  });

  test('a book that a hash proves replaces a snapshot of its time that differs, whichever comes first', async () => {
    const right = book(500, '0.4:10', '0.7:1 0.6:5');
    const hash = venueHash(right, { lastTrade: '0.400' });
    const frames = [book(0, '0.4:10', '0.6:5'), change(500, { ...sell('0.7', '1'), hash })];
    const wrong = [snapshot(500, '0.3:1', '0.8:1')];
    for (const files of [
      [frames, wrong],
      [wrong, frames],
    ]) {
      expect((await imported(...files)).books).toEqual(['0 0.4:10', '500 0.4:10']);
    }
  });

  test('changes before the first book of their asset are kept until a recording has it', async () => {
    const changes = [change(3000, buy('0.39', '7')), change(4000, buy('0.38', '7'))];
    const first = await imported(changes);
    expect(first.books).toEqual([]);
    expect(first.reports.at(-1)?.total.rejected).toBe(2);
    const { books, gaps } = await imported(changes, [book(0, '0.4:10', '0.6:5')]);
    expect({ books, gaps }).toEqual({
      books: ['0 0.4:10', '3000 0.4:10 0.39:7', '4000 0.4:10 0.39:7 0.38:7'],
      gaps: [],
    });
  });
});
