import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { importPaths, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import { countsOf, importFile, marketOf } from '../../support/imported.ts';
import { CONDITION_ID, START_MS, UP_ASSET } from '../../support/sample-records.ts';
import { book } from '../rebuild/venue-messages.ts';

const SLUG = 'btc-updown-5m-1776323400';

/** A market as the CLOB returns it. */
function market(fields: object = {}) {
  return {
    ...{ enable_order_book: true, active: true, closed: false, archived: false, accepting_orders: true },
    ...{ minimum_order_size: 5, minimum_tick_size: 0.01, question_id: '0x1', question: 'Bitcoin Up or Down' },
    ...{ condition_id: CONDITION_ID, market_slug: SLUG, end_date_iso: '2026-04-16T00:00:00Z', game_start_time: null },
    tokens: [
      { token_id: '22', outcome: 'Down', price: 0.5, winner: false },
      { token_id: UP_ASSET, outcome: 'Up', price: 0.5, winner: false },
    ],
    ...fields,
  };
}
const won = [
  { token_id: UP_ASSET, outcome: 'Up', price: 0, winner: false },
  { token_id: '22', outcome: 'Down', price: 1, winner: true },
];
const other = market({ market_slug: 'will-it-rain', condition_id: '0x2' });

describe('markets of the CLOB', () => {
  test.each([
    ['one', market()],
    ['a list', [market()]],
    ['a page', { limit: 500, count: 1, next_cursor: 'LTE=', data: [market()] }],
  ])('are read from %s', async (_, file) => {
    using place = temporaryArchive();
    for (const [name, text] of [
      ['one.json', JSON.stringify(file, null, 2)],
      ['line.jsonl', JSON.stringify(file)],
    ] as const) {
      const report = await importFile(place.archive, name, text);
      expect(report.rejections).toEqual([]);
      expect(report.files[0]!.format).toBe('CLOB markets');
    }
    expect(marketOf(place.archive, SLUG)).toMatchObject({
      ...{ conditionId: CONDITION_ID, clobTokenIds: [UP_ASSET, '22'], symbol: 'btc', timeframe: '5m' },
      ...{ startMs: START_MS, endMs: START_MS + 300_000, winner: undefined },
    });
  });

  test.each([
    ['in one line', (pages: readonly object[]) => pages.map((page) => JSON.stringify(page)).join('\n')],
    ['over many lines', (pages: readonly object[]) => pages.map((page) => JSON.stringify(page, null, 1)).join('\n')],
  ])('are read from pages of more than a megabyte, each %s', async (_, textOf) => {
    using place = temporaryArchive();
    const rest = Array.from({ length: 500 }, () => ({ ...other, description: 'Rain. '.repeat(400) }));
    const pages = [
      { limit: 1000, next_cursor: 'MTAwMA==', data: [...rest, market()] },
      { data: rest, next_cursor: 'LTE=' },
    ];
    const report = await importFile(place.archive, 'pages.json', textOf(pages));
    expect(report.files[0]!.format).toBe('CLOB markets');
    expect(countsOf(report.total)).toMatchObject({ read: 1, stored: 1, rejected: 0, ignored: 1000 });
  });

  test('have the winner of their tokens; if both win it is split', async () => {
    using place = temporaryArchive();
    const both = won.map((token) => ({ ...token, winner: true }));
    const split = market({
      condition_id: '0x3',
      market_slug: 'eth-updown-5m-1776323400',
      tokens: both.map((token, index) => ({ ...token, token_id: `${index + 1}` })),
      closed: true,
    });
    await importFile(place.archive, 'markets.json', JSON.stringify([market({ tokens: won, closed: true }), split]));
    expect(marketOf(place.archive, SLUG)).toMatchObject({ winner: 'down', closed: true, active: false });
    expect(marketOf(place.archive, 'eth-updown-5m-1776323400')).toMatchObject({ winner: undefined, closed: true });
  });

  test('Markets of other kinds are ignored and counted, and a market whose window differs from its slug is rejected.', async () => {
    using place = temporaryArchive();
    const wrong = market({ condition_id: '0x4', market_slug: 'btc-updown-7m-1776323400' });
    const report = await importFile(place.archive, 'markets.json', JSON.stringify([other, market(), other, wrong]));
    expect(countsOf(report.total)).toMatchObject({ read: 2, stored: 1, rejected: 1, ignored: 2 });
    expect(report.rejections[0]!.reason).toContain('btc-updown-7m-1776323400 is not an up-or-down market');
    expect(place.archive.markets.findByConditionId('0x2')).toBeUndefined();
  });

  test('make importable what an import without them listed as missing', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const books = join(directory.path, 'books.jsonl');
    writeFileSync(
      books,
      [book(0, '0.4:1', ''), book(9, '0.4:1', ''), book(9, '', '', { market: '0xff', asset_id: '7' })]
        .map((frame) => `${JSON.stringify(frame)}\n`)
        .join(''),
    );
    const first = await importPaths(place.archive, books);
    expect(first.missingMarkets).toEqual([CONDITION_ID, '0xff']);
    const file = join(directory.path, 'markets.json');
    writeFileSync(file, JSON.stringify(market()));
    const second = await importPaths(place.archive, file, books);
    expect(second.missingMarkets).toEqual(['0xff']);
    expect(second.total).toMatchObject({ stored: 3, rejected: 1 });
  });
});
