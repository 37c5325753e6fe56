import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { MarketPlayback } from '../../src/replay/market-playback.ts';
import { TickSizes } from '../../src/replay/tick-sizes.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { marketOf } from '../support/imported.ts';
import { randomsOf } from '../support/random-books.ts';
import {
  DOWN_ASSET,
  START_MS,
  sampleLastTradePrice,
  sampleMarket,
  samplePrice,
  sampleSnapshot,
  UP_ASSET,
} from '../support/sample-records.ts';
import { randomRecording } from './random-recording.ts';
import { RecordingConnection, venueSession } from './recording-connection.ts';
import { tardisServer } from './tardis-server.ts';
import { VenueOracle } from './venue-oracle.ts';
import { filledServer, type VenueServer } from './venue-server.ts';

const at = (offsetMs: number) => new Date(START_MS + offsetMs).toISOString();
const book = (offsetMs: number, outcome = 'up') => sampleSnapshot({ timestamp: at(offsetMs), outcome });
const stated = (offsetMs: number, price: number, outcome = 'up') =>
  sampleLastTradePrice({ timestamp: at(offsetMs), price, outcome });
const trade = (offsetMs: number, price: number, fields: object = {}) =>
  samplePrice({ timestamp: at(offsetMs), price, ...fields });

const RECORDS = [
  sampleMarket(),
  ...[book(0), stated(1000, 0.49), stated(3000, 0.5, 'down'), stated(3000, 0.51)],
  trade(1020, 0.49, { side: 'buy', feeRateBps: 1000 }),
  trade(3250, 0.52),
  trade(5000, 0.6, { side: 'sell' }),
  ...[stated(9000, 0.4), stated(9100, 0.33), trade(9100, 0.44, { outcome: 'down' })],
];

/** What `/book` and `/last-trade-price` state of both outcomes. */
async function statedBy(server: VenueServer, offsetMs: number) {
  server.replay.clock.seek(START_MS + offsetMs);
  return await Promise.all(
    [UP_ASSET, DOWN_ASSET].map(async (assetId) => {
      const { last_trade_price } = await server.json(`/book?token_id=${assetId}`);
      const { price, side } = await server.json(`/last-trade-price?token_id=${assetId}`);
      return `${last_trade_price} ${price} ${side}`.trimEnd();
    }),
  );
}

describe('the price of the last trade that a book states', () => {
  let server: Awaited<ReturnType<typeof filledServer>>;
  beforeAll(async () => {
    server = await filledServer([RECORDS]);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test.each([
    ['not before its time', 999, [' 0.5', ' 0.5']],
    [
      'the books of both outcomes have it as it is, also where the trade has another side',
      1000,
      ['0.490 0.49', '0.490 0.49'],
    ],
    [
      'a trade of its price is the trade that it counts, of which the outcome is known',
      1020,
      ['0.490 0.49 BUY', '0.490 0.51 SELL'],
    ],
    ['each outcome has its own of two at one time', 3000, ['0.510 0.49 BUY', '0.500 0.5']],
    ['a trade up to 250 ms after it is one that it counts', 3250, ['0.510 0.52', '0.500 0.48']],
    ['a later trade is newer', 5000, ['0.600 0.6 SELL', '0.400 0.4 BUY']],
    [
      'a price that the last trade has for the other outcome is of that trade',
      9000,
      ['0.400 0.6 SELL', '0.400 0.4 BUY'],
    ],
    ['it is newer than a trade at its time', 9100, ['0.330 0.33', '0.330 0.33']],
  ])('%s', async (_, offsetMs, expected) => {
    expect(await statedBy(server, offsetMs)).toEqual(expected);
  });

  test('keeps the fee of the last trade', async () => {
    await using server = await filledServer([[...RECORDS.slice(0, 3), trade(500, 0.7, { feeRateBps: 156 })]]);
    server.replay.clock.seek(START_MS + 2000);
    expect(await server.json(`/fee-rate?token_id=${UP_ASSET}`)).toEqual({ base_fee: 156 });
  });

  test('is in the first book of a later subscription of the same socket', async () => {
    await using server = await filledServer([[sampleMarket(), book(0), stated(1000, 0.49), stated(3000, 0.51)]]);
    const connection = new RecordingConnection();
    const { clock } = server.replay;
    const session = venueSession(server.replay, connection);
    const subscribe = (assetId: string) => session.received(JSON.stringify({ assets_ids: [assetId], type: 'market' }));
    clock.seek(START_MS + 500);
    subscribe(UP_ASSET);
    clock.seek(START_MS + 3000);
    subscribe(DOWN_ASSET);
    session.closed();
    const prices = connection.frames.flatMap((frame) => JSON.parse(frame)).map((message) => message.last_trade_price);
    expect(prices).toEqual(['', '0.510', '0.510']);
  });

  test('The price of the last trade is the last one that a book of either outcome states, or a trade more than 250 ms later.', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 2 ** 30 }), async (seed) => {
        const random = randomsOf(seed);
        const style = { outcomes: OUTCOMES, count: 60, priceScale: 2, trades: true, gaps: 0, stepMs: 300 } as const;
        const statements = Array.from({ length: 40 }, () =>
          stated(Math.floor(random() * 12_000), Math.ceil(random() * 99) / 100, random() < 0.5 ? 'up' : 'down'),
        );
        using place = temporaryArchive();
        await importRecords(place.archive, [...randomRecording(seed, style).lines, ...statements]);
        const { slug } = sampleMarket();
        const oracle = new VenueOracle(place.archive, slug);
        const atMs = START_MS + Math.floor(random() * 6000);
        const playback = new MarketPlayback(
          place.archive,
          new TickSizes(place.archive),
          marketOf(place.archive, slug),
          atMs,
          'fresh',
        );
        const expectState = (instantMs: number) => {
          for (const outcome of OUTCOMES) {
            expect(playback.state(outcome).lastTrade?.price).toBe(oracle.priceInBookAt(outcome, instantMs) as number);
          }
        };
        expectState(atMs);
        while (playback.nextMs !== undefined) {
          const { timestampMs } = playback.next();
          if (playback.nextMs !== timestampMs) expectState(timestampMs);
        }
      }),
      { numRuns: 6 },
    );
  });
});

test('is sent by tardis-machine’s interface', async () => {
  using place = temporaryArchive();
  await importRecords(place.archive, [sampleMarket(), book(0), stated(1, 0.49), book(2, 'down'), trade(900, 0.7)]);
  await using tardis = tardisServer(place.archive);
  const filters = [{ channel: 'book', symbols: [UP_ASSET, DOWN_ASSET] }];
  const options = { exchange: 'polymarket', from: at(1), to: at(2000), filters };
  const lines = await tardis.lines('/replay', options);
  expect(lines.join('\n')).toContain('"last_trade_price":"0.490"');
});
