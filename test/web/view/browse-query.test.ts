import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { MARKET_SORTS } from '../../../src/domain/market-sort.ts';
import { type BrowseQuery, readBrowseQuery, writeBrowseQuery } from '../../../src/web/browser/view/browse-query.ts';

const NOTHING: BrowseQuery = {
  ...{ coin: undefined, timeframe: undefined, date: '', search: '', recorded: undefined, winner: undefined },
  ...{ gaps: undefined, volumeMin: undefined, sort: 'books', replay: undefined },
};

test.each<[string, BrowseQuery]>([
  ['', NOTHING],
  ['?coin=BTC&tf=5m', { ...NOTHING, coin: 'btc', timeframe: '5m' }],
  ['?date=2026-01-08', { ...NOTHING, date: '2026-01-08' }],
  ['?date=2026-02', { ...NOTHING, date: '2026-02' }],
  ['?date=2024-02-29', { ...NOTHING, date: '2024-02-29' }],
  ['?date=2026-02-30', NOTHING],
  ['?date=2026-13', NOTHING],
  ['?date=yesterday', NOTHING],
  ['?search=%20updown%20', { ...NOTHING, search: 'updown' }],
  [`?search=${'x'.repeat(300)}`, { ...NOTHING, search: 'x'.repeat(200) }],
  ['?coin=&tf=&date=&search=', NOTHING],
  ['?key=br_live_1', NOTHING],
  [
    '?recorded=no&winner=up&gaps=false&volume=1000&sort=-volume',
    { ...NOTHING, recorded: 'no', winner: 'up', gaps: false, volumeMin: 1000, sort: '-volume' },
  ],
  ['?recorded=maybe&winner=both&gaps=1&volume=-5&sort=price', NOTHING],
])('the query %s', (query, expected) => {
  expect(readBrowseQuery(query)).toEqual(expected);
});

test('a query that is written is read again', () => {
  const text = fc.string({ minLength: 1, maxLength: 20 }).filter((written) => written.trim() === written);
  const query = fc.record({
    coin: fc.constantFrom(undefined, 'btc', 'eth'),
    timeframe: fc.constantFrom(undefined, '5m', '24h'),
    date: fc.constantFrom('', '2026-01', '2026-12-31'),
    search: fc.oneof(fc.constant(''), text),
    recorded: fc.constantFrom(undefined, 'yes' as const, 'no' as const, 'all' as const),
    winner: fc.constantFrom(undefined, 'up' as const, 'down' as const),
    gaps: fc.constantFrom(undefined, true, false),
    volumeMin: fc.constantFrom(undefined, 1, 1_000_000),
    sort: fc.constantFrom(...MARKET_SORTS),
    replay: fc.constantFrom(undefined, 'r1'),
  });
  fc.assert(fc.property(query, (value) => expect(readBrowseQuery(writeBrowseQuery(value))).toEqual(value)));
  expect(writeBrowseQuery(NOTHING)).toBe('');
});
