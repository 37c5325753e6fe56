import { describe, expect, test } from 'bun:test';
import { importRecords, temporaryArchive } from '../../support/archive.ts';
import { booksOf } from '../../support/imported.ts';
import { CONDITION_ID, sampleMarket, UP_ASSET } from '../../support/sample-records.ts';
import { importMapped, refusalOfMapping } from './mapped-import.ts';

const SLUG = 'btc-updown-5m-1776323400';
const AT_MS = 1776323405_123;
const BIDS = [{ price: '0.51', size: '120.5' }];
const ASKS = [{ price: '0.52', size: '7' }];
const BOOK = { bidPrices: [0.51], bidSizes: [120.5], askPrices: [0.52], askSizes: [7] };
const TOML = `format = "csv"

[frames]
field = "raw"
asset_id = "token"
market = "condition"
timestamp = "ts"
`;

const quoted = (value: unknown) => `"${JSON.stringify(value).replaceAll('"', '""')}"`;

/** The books and the rejections of rows with a message each. */
async function read(...rows: string[]) {
  using place = temporaryArchive();
  await importRecords(place.archive, [sampleMarket()]);
  const report = await importMapped(place.archive, TOML, `token,condition,ts,raw\n${rows.join('\n')}\n`);
  const books = booksOf(place.archive, SLUG, 'up').map(({ timestampMs, book }) => ({ timestampMs, book }));
  return { books, total: report.total, reasons: report.rejections.map(({ reason }) => reason) };
}

describe('Messages in a column get the asset, market and time that they lack from the columns that the mapping names.', () => {
  const labels = `${UP_ASSET},${CONDITION_ID},${AT_MS}`;
  test.each([
    ['a book without any of them', `${labels},${quoted({ bids: BIDS, asks: ASKS })}`],
    ['a book of the channel', `${labels},${quoted({ event_type: 'book', bids: BIDS, asks: ASKS })}`],
    [
      'a message that states them itself counts, whatever the columns say',
      `1,0x1,1,${quoted({ event_type: 'book', asset_id: UP_ASSET, market: CONDITION_ID, timestamp: String(AT_MS), bids: BIDS, asks: ASKS })}`,
    ],
  ])('%s', async (_, row) => {
    const { books, reasons } = await read(row);
    expect({ books, reasons }).toMatchObject({ books: [{ timestampMs: AT_MS, book: BOOK }], reasons: [] });
  });

  test('what is no message is rejected or ignored, row by row', async () => {
    const { books, total, reasons } = await read(
      `${labels},PONG`,
      `,,,${quoted({ bids: BIDS, asks: ASKS })}`,
      `${labels},{"bids":`.replace('"', '""').replace('{', '"{').concat('"'),
      `${labels},`,
      `${labels},${quoted({ bids: BIDS, asks: ASKS })}`,
    );
    expect(books).toMatchObject([{ timestampMs: AT_MS, book: BOOK }]);
    expect(total).toMatchObject({ read: 3, stored: 1, rejected: 2, ignored: 2 });
    expect(reasons[0]).toBe('the object is neither a message of the venue nor of a known price feed');
  });

  test.each([
    ['asset_id = 3', 'frames.asset_id must be a text in quotes that is not empty'],
    ['market = ""', 'frames.market must be a text in quotes that is not empty'],
    ['time = "ts"', 'frames.time is not a key'],
  ])('%s is refused', (key, problem) => {
    expect(refusalOfMapping(`format = "csv"\n[frames]\nfield = "raw"\n${key}`)).toContain(problem);
  });
});
