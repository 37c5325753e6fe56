import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Timeframe } from '../../src/domain/timeframe.ts';
import { marketTitle } from '../../src/venue/market-title.ts';
import { windowOfSlug } from '../../src/venue/slug.ts';
import { gammaMarkets, realRecording } from '../support/real-recordings.ts';

const GAMMA = realRecording('gamma');

const table: [symbol: string, timeframe: Timeframe, start: string, end: string, title: string][] = [
  ['btc', '5m', '2026-06-07T23:55Z', '2026-06-08T00:00Z', 'Bitcoin Up or Down - June 7, 7:55PM-8:00PM ET'],
  ['eth', '15m', '2026-03-11T15:45Z', '2026-03-11T16:00Z', 'Ethereum Up or Down - March 11, 11:45AM-12:00PM ET'],
  ['sol', '4h', '2026-03-12T00:00Z', '2026-03-12T04:00Z', 'Solana Up or Down - March 11, 8:00PM-12:00AM ET'],
  ['xrp', '1h', '2026-03-12T04:00Z', '2026-03-12T05:00Z', 'XRP Up or Down - March 12, 12AM ET'],
  ['doge', '1h', '2026-01-01T17:00Z', '2026-01-01T18:00Z', 'Dogecoin Up or Down - January 1, 12PM ET'],
  ['bnb', '24h', '2026-03-12T16:00Z', '2026-03-13T16:00Z', 'BNB Up or Down on March 13?'],
  ['hype', '5m', '2026-06-24T07:50Z', '2026-06-24T07:55Z', 'Hyperliquid Up or Down - June 24, 3:50AM-3:55AM ET'],
  ['hype', '1h', '2026-03-09T00:00Z', '2026-03-09T01:00Z', 'HYPE Up or Down - March 8, 8PM ET'],
  // A coin that the venue does not have, and the second of two hours at 1 a.m.
  ['pepe', '1h', '2026-11-01T06:00Z', '2026-11-01T07:00Z', 'PEPE Up or Down - November 1, 1AM ET'],
];

test.each(table)('the title of %s, %s, from %s to %s is %s', (symbol, timeframe, start, end, title) => {
  expect(marketTitle({ symbol, timeframe, startMs: Date.parse(start), endMs: Date.parse(end) })).toBe(title);
});

test.skipIf(GAMMA === undefined)(
  'A title that no recording states is made from coin and window, as the venue does.',
  () => {
    const [live] = JSON.parse(readFileSync(`${GAMMA}/gamma_event_crypto_updown.json`, 'utf8'));
    const markets = [...gammaMarkets(GAMMA!), { ...live.markets[0], events: [live] }];
    let compared = 0;
    for (const { slug, question, events = [], eventStartTime, endDate } of markets) {
      const window = windowOfSlug(slug, Date.parse(endDate));
      if (window === undefined) continue;
      const startMs = Date.parse(eventStartTime);
      const title = marketTitle({ ...window, startMs, endMs: Date.parse(endDate) });
      expect([title, ...events.map(() => title)]).toEqual([
        question,
        ...events.map((event: { title: string }) => event.title),
      ]);
      compared += 1;
    }
    expect(compared).toBe(685);
  },
);
