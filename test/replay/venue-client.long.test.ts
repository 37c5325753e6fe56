import { describe, expect, test } from 'bun:test';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { EVERYTHING, startReplaying } from '../http/replay/replaying.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { marketOf } from '../support/imported.ts';
import { randomsOf } from '../support/random-books.ts';
import { START_MS } from '../support/sample-records.ts';
import { randomRecording } from './random-recording.ts';
import { HAS_VENUE_CLIENT, venueClient } from './venue-client.ts';
import { VenueOracle } from './venue-oracle.ts';
import { VENUE_RECORDINGS } from './venue-recordings.ts';
import { anotherReplay, venueServer } from './venue-server.ts';

/** Of each market. */
const INSTANTS = 60;

/** A side as the venue has it: the best level last, texts. */
const asVenue = (levels: readonly { readonly price: number; readonly size: number }[]) =>
  levels.map(({ price, size }) => ({ price: String(price), size: String(size) })).reverse();

describe.skipIf(!HAS_VENUE_CLIENT)('the venue’s own client', () => {
  for (const { name, isHere, slugs, load } of VENUE_RECORDINGS) {
    test.skipIf(!isHere)(
      `The venue’s own client confirms the hash of every book of REST, and its prices agree. (${name})`,
      async () => {
        using held = temporaryArchive();
        await load(held.archive);
        await using server = venueServer(held.archive);
        const second = anotherReplay(server, { rebase: true }, server.replay.clock.span.fromMs);
        let confirmed = 0;
        for (const slug of slugs) {
          const market = marketOf(held.archive, slug);
          const oracle = new VenueOracle(held.archive, slug);
          const random = randomsOf(7);
          const { instants } = oracle;
          const asked = OUTCOMES.filter((_, index) => market.clobTokenIds[index] !== '0');
          const items = asked.map((outcome) => ({ token_id: market.clobTokenIds[OUTCOMES.indexOf(outcome)]! }));
          for (let i = 0; i < INSTANTS; i += 1) {
            const nowMs = instants[Math.floor(random() * instants.length)]!;
            // Each prefix, for the first replay and for a second one with shifted times.
            const [replay, path] = [
              [server.replay, ''],
              [server.replay, '/clob'],
              [second, `/replays/${second.id}`],
              [second, `/replays/${second.id}/clob`],
            ][i % 4] as [typeof second, string];
            replay.clock.seek(nowMs);
            const client = await venueClient(`${server.origin}${path}`);
            expect(await client.getServerTime()).toBe(Math.floor((nowMs + replay.shiftMs) / 1000));
            const books = await client.getOrderBooks(items);
            const confirm = async (book: { readonly hash: string }) => {
              const sent = book.hash;
              expect(await client.getOrderBookHash(book)).toBe(sent);
              confirmed += 1;
            };
            for (const [nth, outcome] of asked.entries()) {
              const { token_id } = items[nth]!;
              const expected = oracle.bookAt(outcome, nowMs);
              const book = await client.getOrderBook(token_id);
              if (expected === undefined) {
                expect(book).toEqual({ error: 'No orderbook exists for the requested token id', status: 404 });
                continue;
              }
              expect(books.find((each: typeof book) => each.asset_id === token_id)).toEqual(book);
              expect(book.timestamp).toBe(String(expected.timestampMs + replay.shiftMs));
              expect([book.bids, book.asks]).toEqual([expected.bids, expected.asks]);
              await confirm(book);
              const best = oracle.bestAt(outcome, nowMs)!;
              expect(await client.getMidpoint(token_id)).toEqual({ mid: best.mid });
              expect(await client.getSpread(token_id)).toEqual({ spread: best.spread });
              expect(await client.getPrice(token_id, 'SELL')).toEqual({ price: best.ask });
              expect(await client.getTickSize(token_id)).toBe(oracle.tickAt(nowMs));
              expect(await client.getNegRisk(token_id)).toBe(false);
              if (expected.asks.length > 0) {
                expect(String(await client.calculateMarketPrice(token_id, 'BUY', 1e-9))).toBe(best.ask);
              }
            }
            await Promise.all(books.map(confirm));
          }
        }
        expect(confirmed).toBeGreaterThan(INSTANTS);
      },
    );
  }

  test('finds the current market at Gamma, and gets its books as /v1 has them at the same instant', async () => {
    const style = { outcomes: OUTCOMES, count: 300, priceScale: 2, trades: true, gaps: 0, stepMs: 900 };
    await using replaying = await startReplaying((archive) => importRecords(archive, randomRecording(29, style).lines));
    const { clock } = replaying.replays.create({ ...EVERYTHING, mirror: 'recorded' });
    const json = async (path: string) => JSON.parse(await (await replaying.get(path)).text());
    const client = await venueClient(`${replaying.origin}/clob`);
    const random = randomsOf(29);
    let confirmed = 0;
    for (let i = 0; i < INSTANTS; i += 1) {
      const nowMs = START_MS + Math.floor(random() * 300_000);
      clock.seek(nowMs);
      expect(await client.getServerTime()).toBe(Math.floor(nowMs / 1000));
      const now = new Date(nowMs).toISOString();
      const query = `series_id=10684&closed=false&end_date_min=${now}&order=endDate&limit=1`;
      const [event] = await json(`/gamma/events?${query}`);
      const { conditionId, clobTokenIds } = event.markets[0];
      const path = `/v1/btc/markets/${conditionId}/snapshots/at/${nowMs}?mode=before&outcome=up`;
      const [snapshot] = (await json(path)).data;
      const book = await client.getOrderBook(JSON.parse(clobTokenIds)[0]);
      if (snapshot === undefined) {
        expect(book.status).toBe(404);
        continue;
      }
      expect(book).toMatchObject({
        timestamp: String(Date.parse(snapshot.timestamp)),
        bids: asVenue(snapshot.bids),
        asks: asVenue(snapshot.asks),
      });
      const { hash } = book;
      expect(await client.getOrderBookHash(book)).toBe(hash);
      confirmed += 1;
    }
    expect(confirmed).toBeGreaterThan(INSTANTS / 2);
  });

  const capture = VENUE_RECORDINGS[0]!;
  test.skipIf(!capture.isHere)('/markets/{conditionId} and ?next_cursor are the CLOB’s, others Gamma’s.', async () => {
    using held = temporaryArchive();
    await capture.load(held.archive);
    await using server = venueServer(held.archive);
    const markets = capture.slugs.map((slug) => marketOf(held.archive, slug));
    const oracles = capture.slugs.map((slug) => new VenueOracle(held.archive, slug));
    const nowMs = Math.max(...oracles.map(({ instants }) => instants.at(-1)!));
    server.replay.clock.seek(nowMs);
    const client = await venueClient(`${server.origin}/clob`);
    expect(await client.getOk()).toBe('OK');
    // A market is listed from its first record on.
    const isListed = ({ startMs }: { startMs: number }, index: number) =>
      Math.min(startMs, oracles[index]!.instants[0]!) <= nowMs;
    const listed = markets.filter(isListed).map(({ conditionId }) => conditionId);
    const all = await client.getMarkets();
    expect(all.data.map(({ condition_id }: { condition_id: string }) => condition_id)).toEqual(listed);
    expect(all.next_cursor).toBe('LTE=');
    expect((await client.getSimplifiedMarkets()).data.length).toBe(listed.length);
    expect((await client.getSamplingMarkets()).data).toEqual(all.data);
    expect((await client.getSamplingSimplifiedMarkets()).data.length).toBe(listed.length);
    // At the root, where Gamma has a path of that name.
    expect((await (await venueClient(server.origin)).getMarkets()).data).toEqual(all.data);
    const [market] = markets;
    const [oracle] = oracles;
    // As a bot finds the market that is next to end.
    const now = new Date(nowMs).toISOString();
    const [event] = await server.json(`/gamma/events?closed=false&end_date_min=${now}&order=endDate&limit=1`);
    const [upAsset] = JSON.parse(event.markets[0].clobTokenIds);
    expect((await client.getOrderBook(upAsset)).asset_id).toBe(upAsset);
    expect(await client.getMarket(market!.conditionId)).toEqual(all.data[0]!);
    const items = OUTCOMES.map((_, index) => ({ token_id: market!.clobTokenIds[index]! }));
    const best = OUTCOMES.map((outcome) => oracle!.bestAt(outcome, nowMs)!);
    const byAsset = (values: readonly unknown[]) =>
      Object.fromEntries(items.map(({ token_id }, index) => [token_id, values[index]]));
    expect(await client.getMidpoints(items)).toEqual(byAsset(best.map(({ mid }) => mid)));
    expect(await client.getSpreads(items)).toEqual(byAsset(best.map(({ spread }) => spread)));
    const sides = items.flatMap((item) => (['BUY', 'SELL'] as const).map((side) => ({ ...item, side })));
    expect(await client.getPrices(sides)).toEqual(byAsset(best.map(({ bid, ask }) => ({ BUY: bid, SELL: ask }))));
    const trades = OUTCOMES.map((outcome) => oracle!.lastTradeAt(outcome, nowMs)!);
    expect(await client.getLastTradesPrices(items)).toEqual(
      items.map(({ token_id }, index) => ({
        token_id,
        price: String(trades[index]!.price),
        side: trades[index]!.side,
      })),
    );
    const { price, side, feeRateBps } = trades[0]!;
    expect(await client.getLastTradePrice(items[0]!.token_id)).toEqual({ price: String(price), side });
    expect(['BUY', 'SELL']).toContain(side);
    expect(await client.getFeeRateBps(items[0]!.token_id)).toBe(feeRateBps!);
    const { history } = await client.getPricesHistory({ market: items[0]!.token_id, interval: '1h', fidelity: 1 });
    expect(history.at(-1)).toEqual({ t: Math.floor(nowMs / 1000), p: Number(oracle!.bestAt('up', nowMs)!.mid) });
    const refused = await client.getPricesHistory({ market: items[0]!.token_id, interval: '1w' });
    expect(refused).toMatchObject({
      status: 400,
      error: "invalid filters: minimum 'fidelity' for '1w' range is 5",
    });
  });
});
