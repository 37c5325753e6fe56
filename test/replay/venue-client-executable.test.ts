import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { EXECUTABLE, runExecutable } from '../support/executable.ts';
import { randomsOf } from '../support/random-books.ts';
import { HAS_VENUE_CLIENT, venueClient } from './venue-client.ts';

const REST = /^REST +(\S+)$/m;
const INSTANTS = 60;
/** The window of one of the simulated markets, and somewhat around. */
const FROM_MS = Date.UTC(2026, 0, 8, 10, 30);
const TO_MS = FROM_MS + 300_000;

interface Level {
  readonly price: number;
  readonly size: number;
}

/** As the venue has a side: the best level last, texts. */
const asVenue = (levels: readonly Level[]) =>
  levels.map(({ price, size }) => ({ price: String(price), size: String(size) })).reverse();

test.skipIf(!HAS_VENUE_CLIENT)(
  'a bot finds the current market at Gamma, and gets its books with the venue’s own client, as the API has them',
  async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'data');
    expect((await runExecutable(['seed', '--data', data])).code).toBe(0);
    const words = ['replay', '--data', data, '--coin', 'btc', '--tf', '5m', '--port', '0', '--paused'];
    await using replay = startChild([EXECUTABLE, ...words, '--from', new Date(FROM_MS).toISOString()]);
    const origin = (await replay.said(REST))[1]!;
    const get = async (path: string) => JSON.parse(await (await fetch(`${origin}${path}`)).text());
    const { data: runs } = await get('/v1/replay/runs');
    const client = await venueClient(`${origin}/clob`);
    const random = randomsOf(29);
    let confirmed = 0;
    for (let i = 0; i < INSTANTS; i += 1) {
      const nowMs = FROM_MS + Math.floor(random() * (TO_MS - FROM_MS));
      const body = JSON.stringify({ now: nowMs });
      expect((await fetch(`${origin}/v1/replay/runs/${runs[0].id}`, { method: 'PATCH', body })).status).toBe(200);
      const time = await client.getServerTime();
      expect(time).toBe(Math.floor(nowMs / 1000));
      const now = new Date(time * 1000).toISOString();
      const [event] = await get(`/gamma/events?series_id=10684&closed=false&end_date_min=${now}&order=endDate&limit=1`);
      const [market] = event.markets;
      const [up] = JSON.parse(market.clobTokenIds);
      const path = `/v1/btc/markets/${market.conditionId}/snapshots/at/${nowMs}?mode=before&outcome=up`;
      const [snapshot] = (await get(path)).data;
      const book = await client.getOrderBook(up);
      if (snapshot === undefined) {
        expect(book.status).toBe(404);
        continue;
      }
      expect([Number(book.timestamp), book.bids, book.asks]).toEqual([
        Date.parse(snapshot.timestamp),
        asVenue(snapshot.bids),
        asVenue(snapshot.asks),
      ]);
      const { hash } = book;
      expect(await client.getOrderBookHash(book)).toBe(hash);
      confirmed += 1;
    }
    expect(confirmed).toBeGreaterThan(INSTANTS / 2);
  },
);
