import { describe, expect, test } from 'bun:test';
import { TIMEFRAMES, type Timeframe } from '../../src/domain/timeframe.ts';
import { isWindowStart, slugOf, windowOfSlug } from '../../src/venue/slug.ts';
import { gammaMarkets, realRecording } from '../support/real-recordings.ts';
import { botSlug } from './bot-slug.ts';

const GAMMA = realRecording('gamma');

/** Coin, timeframe, start and end, as in the tables. */
function shown(slug: string, nearMs?: number) {
  const window = windowOfSlug(slug, nearMs);
  if (window === undefined) return undefined;
  const iso = (ms: number) => new Date(ms).toISOString().replace(':00.000Z', 'Z');
  return [window.symbol, window.timeframe, iso(window.startMs), iso(window.endMs)].join(' ');
}

describe('a slug has coin and window', () => {
  const table: [slug: string, window: string][] = [
    ['btc-updown-5m-1776323400', 'btc 5m 2026-04-16T07:10Z 2026-04-16T07:15Z'],
    ['BTC-UpDown-5m-1776323400', 'btc 5m 2026-04-16T07:10Z 2026-04-16T07:15Z'],
    ['sol-updown-15m-1777452300', 'sol 15m 2026-04-29T08:45Z 2026-04-29T09:00Z'],
    ['xrp-updown-4h-1773345600', 'xrp 4h 2026-03-12T20:00Z 2026-03-13T00:00Z'],
    ['hype-updown-5m-1782287400', 'hype 5m 2026-06-24T07:50Z 2026-06-24T07:55Z'],
    // An unknown coin.
    ['pepe2-updown-5m-1782287400', 'pepe2 5m 2026-06-24T07:50Z 2026-06-24T07:55Z'],
    ['bitcoin-updown-5m-1782287400', 'btc 5m 2026-06-24T07:50Z 2026-06-24T07:55Z'],
    ['bitcoin-up-or-down-march-12-2026-8am-et', 'btc 1h 2026-03-12T12:00Z 2026-03-12T13:00Z'],
    ['ethereum-up-or-down-january-5-2026-11pm-et', 'eth 1h 2026-01-06T04:00Z 2026-01-06T05:00Z'],
    ['solana-up-or-down-july-4-2026-12am-et', 'sol 1h 2026-07-04T04:00Z 2026-07-04T05:00Z'],
    ['dogecoin-up-or-down-july-4-2026-12pm-et', 'doge 1h 2026-07-04T16:00Z 2026-07-04T17:00Z'],
    ['xrp-up-or-down-february-29-2028-1am-et', 'xrp 1h 2028-02-29T06:00Z 2028-02-29T07:00Z'],
    ['bnb-up-or-down-on-march-13-2026', 'bnb 24h 2026-03-12T16:00Z 2026-03-13T16:00Z'],
    ['hyperliquid-up-or-down-on-january-1-2027', 'hype 24h 2026-12-31T17:00Z 2027-01-01T17:00Z'],
    // On 8 March 2026 clocks go forward at two: the day has 23 hours, and 3 a.m. follows 1 a.m.
    ['bitcoin-up-or-down-march-8-2026-1am-et', 'btc 1h 2026-03-08T06:00Z 2026-03-08T07:00Z'],
    ['bitcoin-up-or-down-march-8-2026-3am-et', 'btc 1h 2026-03-08T07:00Z 2026-03-08T08:00Z'],
    ['bitcoin-up-or-down-on-march-8-2026', 'btc 24h 2026-03-07T17:00Z 2026-03-08T16:00Z'],
    // On 1 November 2026 clocks go back at two: the day has 25 hours, and 1 a.m. twice.
    ['bitcoin-up-or-down-november-1-2026-12am-et', 'btc 1h 2026-11-01T04:00Z 2026-11-01T05:00Z'],
    ['bitcoin-up-or-down-november-1-2026-1am-et', 'btc 1h 2026-11-01T05:00Z 2026-11-01T06:00Z'],
    ['bitcoin-up-or-down-november-1-2026-2am-et', 'btc 1h 2026-11-01T07:00Z 2026-11-01T08:00Z'],
    ['bitcoin-up-or-down-on-november-1-2026', 'btc 24h 2026-10-31T16:00Z 2026-11-01T17:00Z'],
  ];
  test.each(table)('%s is %s', (slug, window) => {
    expect(shown(slug)).toBe(window);
  });

  const near: [slug: string, near: string, window: string][] = [
    ['bitcoin-up-or-down-march-12-8am-et', '2026-03-11', 'btc 1h 2026-03-12T12:00Z 2026-03-12T13:00Z'],
    ['bitcoin-up-or-down-march-12-8am-et', '2025-04-11', 'btc 1h 2025-03-12T12:00Z 2025-03-12T13:00Z'],
    ['bitcoin-up-or-down-december-31-11pm-et', '2026-01-01T05:00:00Z', 'btc 1h 2026-01-01T04:00Z 2026-01-01T05:00Z'],
    ['bitcoin-up-or-down-on-january-1', '2025-12-31T20:00:00Z', 'btc 24h 2025-12-31T17:00Z 2026-01-01T17:00Z'],
    ['bitcoin-up-or-down-february-29-1am-et', '2027-12-31', 'btc 1h 2028-02-29T06:00Z 2028-02-29T07:00Z'],
    // The second of two hours with one slug.
    ['bitcoin-up-or-down-november-1-2026-1am-et', '2026-11-01T07:00:00Z', 'btc 1h 2026-11-01T06:00Z 2026-11-01T07:00Z'],
    // A stated year counts, whatever the time near it.
    ['bitcoin-up-or-down-march-12-2026-8am-et', '2030-01-01', 'btc 1h 2026-03-12T12:00Z 2026-03-12T13:00Z'],
  ];
  test.each(near)('%s near %s is %s', (slug, nearTime, window) => {
    expect(shown(slug, Date.parse(nearTime))).toBe(window);
  });
});

function windowFrom(symbol: string, timeframe: Timeframe, start: string, end: string) {
  return { symbol, timeframe, startMs: Date.parse(start), endMs: Date.parse(end) };
}

describe('a slug has no coin and window', () => {
  test.each([
    [''],
    ['btc-updown-5m-'],
    ['btc-updown-7m-1776323400'],
    ['btc-updown-5m-1776323400x'],
    ['btc-updown-5m--1776323400'],
    ['btc-updown-5m-99999999999999999999'],
    ['btc_updown_5m_1776323400'],
    ['averyveryverylongcoin-updown-5m-1776323400'],
    ['bitcoin-up-or-down-march-8-2026-2am-et'],
    ['bitcoin-up-or-down-march-32-2026-2am-et'],
    ['bitcoin-up-or-down-february-29-2026-2am-et'],
    ['bitcoin-up-or-down-on-february-30'],
    ['bitcoin-up-or-down-march-12-2026-13pm-et'],
    ['bitcoin-up-or-down-march-12-2026-0am-et'],
    ['bitcoin-up-or-down-marsh-12-2026-1am-et'],
    ['tsla-up-or-down-on-march-11-2026'],
    ['canadas-population-up-or-down-this-year'],
  ])('%p', (slug) => {
    expect(windowOfSlug(slug, Date.UTC(2026, 2, 8))).toBeUndefined();
  });

  test('without a year and a time near it', () => {
    expect(windowOfSlug('bitcoin-up-or-down-march-12-8am-et')).toBeUndefined();
    expect(windowOfSlug('bitcoin-up-or-down-on-march-12')).toBeUndefined();
  });
});

describe('the slug of a window', () => {
  const written: [window: Parameters<typeof slugOf>[0], slug: string][] = [
    [windowFrom('btc', '5m', '2026-04-16T07:10Z', '2026-04-16T07:15Z'), 'btc-updown-5m-1776323400'],
    [windowFrom('pepe', '15m', '2026-04-29T08:45Z', '2026-04-29T09:00Z'), 'pepe-updown-15m-1777452300'],
    [windowFrom('xrp', '4h', '2026-03-12T20:00Z', '2026-03-13T00:00Z'), 'xrp-updown-4h-1773345600'],
    [windowFrom('xrp', '1h', '2028-02-29T06:00Z', '2028-02-29T07:00Z'), 'xrp-up-or-down-february-29-2028-1am-et'],
    [windowFrom('hype', '1h', '2026-07-04T16:00Z', '2026-07-04T17:00Z'), 'hype-up-or-down-july-4-2026-12pm-et'],
    [windowFrom('doge', '24h', '2026-12-31T17:00Z', '2027-01-01T17:00Z'), 'dogecoin-up-or-down-on-january-1-2027'],
    // Not on the grid: the slug of the window that it overlaps most, or its own start.
    [windowFrom('btc', '1h', '2026-07-04T16:20Z', '2026-07-04T17:20Z'), 'bitcoin-up-or-down-july-4-2026-12pm-et'],
    [windowFrom('btc', '1h', '2026-07-04T16:40Z', '2026-07-04T17:40Z'), 'bitcoin-up-or-down-july-4-2026-1pm-et'],
    [windowFrom('btc', '24h', '2026-07-04T17:00Z', '2026-07-05T17:00Z'), 'bitcoin-up-or-down-on-july-5-2026'],
    [windowFrom('btc', '24h', '2026-07-04T15:00Z', '2026-07-05T15:00Z'), 'bitcoin-up-or-down-on-july-5-2026'],
    [windowFrom('btc', '5m', '2026-04-16T07:10:00.999Z', '2026-04-16T07:15:00.999Z'), 'btc-updown-5m-1776323400'],
  ];
  test.each(written)('%o has %s', (window, slug) => {
    expect(slugOf(window)).toBe(slug);
  });

  test('is the one that a bot makes at any time within it, and its window is read from it, also on days with 23 or 25 hours', () => {
    let compared = 0;
    for (const day of ['2026-03-07', '2026-10-31', '2026-12-31']) {
      for (let startMs = Date.parse(day); startMs < Date.parse(day) + 2 * 86_400_000; startMs += 300_000) {
        for (const timeframe of TIMEFRAMES) {
          if (!isWindowStart(timeframe, startMs)) continue;
          const read = windowOfSlug(botSlug('eth', timeframe, startMs), startMs)!;
          expect(read).toMatchObject({ symbol: 'eth', timeframe, startMs });
          const slug = slugOf(read);
          for (const nowMs of [startMs, startMs + 123_456, read.endMs - 1]) {
            // Windows of 4h have another length where the clocks change within them.
            if (timeframe === '4h' && !isWindowStart('4h', read.endMs)) continue;
            expect([nowMs, botSlug('eth', timeframe, nowMs)]).toEqual([nowMs, slug]);
            compared += 1;
          }
        }
      }
    }
    expect(compared).toBeGreaterThan(5000);
  });
});

test.skipIf(GAMMA === undefined)('the slug of every real market of a coin has the window of its fields', () => {
  const silent: string[] = [];
  for (const { slug, eventStartTime, endDate } of gammaMarkets(GAMMA!)) {
    const window = windowOfSlug(slug, Date.parse(endDate));
    if (window === undefined) silent.push(slug.split('-up-')[0]);
    else {
      expect([window.startMs, window.endMs]).toEqual([Date.parse(eventStartTime), Date.parse(endDate)]);
      // Slugs of early 2026 have no year.
      const written = slugOf(window);
      expect([written, written.replace(/-20\d\d(?=-|$)/, '')]).toContain(slug);
      expect(isWindowStart(window.timeframe, window.startMs)).toBe(true);
    }
  }
  const stocks = ['amzn', 'canadas-population', 'dax', 'googl', 'hood', 'msft', 'msft', 'nvda', 'open', 'rut', 'spx'];
  expect(silent.sort()).toEqual([...stocks, 'tsla']);
});
