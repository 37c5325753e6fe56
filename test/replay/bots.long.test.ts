import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VenueBot } from '../paper/venue-bot.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { type Child, startChild } from '../support/child.ts';
import { outputOf } from '../support/command.ts';
import { EXECUTABLE } from '../support/executable.ts';
import { realRecording } from '../support/real-recordings.ts';
import { sampleCoinPrice, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { BotNetwork, type Decision, type Json, type StandIn } from './bots/bot-network.ts';
import { chyranoy } from './bots/chyranoy.ts';
import { forrestlwl1203 } from './bots/forrestlwl1203.ts';
import { gylangsatria } from './bots/gylangsatria.ts';
import { jwebdesignservice } from './bots/jwebdesignservice.ts';
import { kingsleyeh } from './bots/kingsleyeh.ts';
import { masterputra169 } from './bots/masterputra169.ts';
import { tistaharahap } from './bots/tistaharahap.ts';
import { tommylamm } from './bots/tommylamm.ts';
import { truethinker } from './bots/truethinker.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HISTORY_MS = 120 * MINUTE_MS;
/** The replay begins in the 15 minutes from here on, where the present is in its window. */
const FROM_MS = Date.UTC(2026, 3, 16, 8);
const TO_MS = FROM_MS + 20 * MINUTE_MS;
const ONE_SECOND_BOOKS = realRecording('snapshots-1s');
/** Cycles of a bot until it is given up. */
const CYCLES_MAX = 60;
const CYCLE_MS = 250;
/** Orders end with their market: the bots begin when the 5 minutes of the present have as much time left as all of them take on a busy machine. */
const TIME_LEFT_MS = 45 * SECOND_MS;

const iso = (ms: number) => new Date(ms).toISOString();

/** The coin falls ever faster, by 10 dollars a second where the replay plays, so that a later price is a lower one. */
function coinPrice(ms: number): number {
  const seconds = (ms - FROM_MS + HISTORY_MS) / SECOND_MS;
  return Math.round((120_000 - 0.0007 * seconds ** 2) * 100) / 100;
}

interface MadeWindow {
  readonly conditionId: string;
  readonly timeframe: '5m' | '15m';
  readonly startMs: number;
  readonly endMs: number;
}

/** Five markets of 5m and two of 15m. */
const WINDOWS = ([5, 15] as const).flatMap((minutes) =>
  Array.from({ length: minutes === 5 ? 5 : 2 }, (_, index): MadeWindow => {
    const startMs = FROM_MS + index * minutes * MINUTE_MS;
    const conditionId = `0x${String(minutes * 100 + index).padStart(64, '0')}`;
    return { conditionId, timeframe: `${minutes}m`, startMs, endMs: startMs + minutes * MINUTE_MS };
  }),
);

/** A book a second while a market is open, of two that differ, and one every ten seconds before. */
function* booksOf({ conditionId, startMs, endMs }: MadeWindow): Generator<object> {
  for (let ms = FROM_MS; ms < Math.min(endMs, TO_MS); ms += SECOND_MS) {
    if (ms < startMs && ms % (10 * SECOND_MS) !== 0) continue;
    const best = (ms / SECOND_MS) % 2 === 0 ? 38 : 39;
    const levels = (cents: number, step: number) =>
      [0, 1, 2].map((level) => ({ price: (cents + level * step) / 100, size: 50 + level }));
    yield sampleSnapshot({ conditionId, timestamp: ms, bids: levels(best, -1), asks: levels(best + 1, 1) });
  }
}

function* recording(): Generator<object> {
  for (const window of WINDOWS) {
    const { conditionId, timeframe, startMs, endMs } = window;
    const slug = `btc-updown-${timeframe}-${startMs / SECOND_MS}`;
    const tokens = ['1', '2'].map((nth) => `7${conditionId.slice(-4)}${nth}`);
    yield sampleMarket({
      ...{ conditionId, timeframe, slug, clobTokenIds: tokens, startTime: iso(startMs), endTime: iso(endMs) },
    });
    yield* booksOf(window);
  }
  const priced = (source: string, ms: number) => sampleCoinPrice({ source, timestamp: ms, price: coinPrice(ms) });
  for (let ms = FROM_MS - HISTORY_MS; ms < FROM_MS; ms += 10 * SECOND_MS) yield trade(ms);
  for (let ms = FROM_MS; ms <= TO_MS; ms += SECOND_MS) {
    yield priced('chainlink', ms);
    yield trade(ms);
    yield trade(ms + 500);
  }
}

function trade(ms: number): object {
  return sampleCoinPrice({ source: 'binance', timestamp: ms, price: coinPrice(ms), size: 0.5, side: 'sell' });
}

/** A running `bookreel replay` that bots find by the venue's and Binance's names. */
interface BotReplay {
  readonly child: Child;
  network(): BotNetwork;
}

async function replayOf(directory: string, files: readonly string[], args: readonly string[]): Promise<BotReplay> {
  const data = join(directory, 'data');
  const recipe = join(directory, 'recipe');
  await outputOf(['import', ...files, '--data', data]);
  const options = ['--tls-recipe', recipe, '--rebase', 'now', '--port', '0', ...args];
  const child = startChild([EXECUTABLE, 'replay', '--data', data, ...options]);
  const port = Number(new URL((await child.said(/^REST +(\S+)$/m))[1]!).port);
  const ca = readFileSync(join(recipe, 'ca.pem'), 'utf8');
  const hosts = new Set(readFileSync(join(recipe, 'hosts'), 'utf8').trim().split(' ').slice(1));
  return { child, network: () => new BotNetwork(hosts, port, ca) };
}

/** Runs a bot until its decision is `expected`; the last decision otherwise. */
async function decisionOf(bot: StandIn, network: BotNetwork, isExpected: (decision: Decision) => boolean) {
  const cycle = await bot.start(network);
  let decision: Decision | undefined;
  for (let cycles = 0; cycles < CYCLES_MAX; cycles++) {
    decision = await cycle();
    if (decision !== undefined && isExpected(decision)) break;
    await Bun.sleep(CYCLE_MS);
  }
  return decision;
}

/** The assets of a decision; none if the bot does not trade. */
async function assetsOf(network: BotNetwork, decision: Decision): Promise<readonly string[]> {
  if ('none' in decision) return [];
  if (decision.order !== 'both') return [decision.tokenId];
  const market = await network.json(`https://gamma-api.polymarket.com/markets/slug/${decision.slugs[0]}`);
  return JSON.parse(market.clobTokenIds);
}

/**
 * A bot goes on where it stopped without keys: it gets a key, listens, rests an order and buys at the best ask, cancels what rests, and
 * sees its balance. Returns the user channel's messages in short.
 */
async function traded(network: BotNetwork, assets: readonly string[]) {
  const trader = await VenueBot.signedIn((...request) => network.clob(...request));
  const { credentials: auth } = trader;
  const user = await network.socket('wss://ws-subscriptions-clob.polymarket.com/ws/user', {
    type: 'user',
    auth,
    markets: [],
  });
  const events: Json[] = [];
  const until = async (isDone: () => boolean) => {
    while (!isDone()) {
      await Bun.sleep(20);
      events.push(...user.read());
    }
  };
  for (const asset of assets) {
    const rests = await trader.order(trader.limit(asset, 'BUY', 0.01, 5));
    const takes = await trader.order(trader.limit(asset, 'BUY', 0.99, 5));
    expect([rests.body.status, takes.body.status]).toEqual(['live', 'delayed']);
    const tradeOf = ({ taker_order_id: id, status }: Json) => id === takes.body.orderID && status === 'CONFIRMED';
    await until(() => events.some(tradeOf));
    const isTradedAt = (price: string) =>
      events.some((each) => tradeOf(each) && each.price === price && each.size === '5');
    expect(isTradedAt('0.39') || isTradedAt('0.4') || isTradedAt('0.62') || isTradedAt('0.61')).toBe(true);
    const balance = await trader.key('GET', `/balance-allowance?asset_type=CONDITIONAL&token_id=${asset}`);
    expect(balance.body.balance).toBe('5000000');
  }
  const { body } = await trader.key('DELETE', '/cancel-all');
  expect([body.canceled.length, body.not_canceled]).toEqual([assets.length, {}]);
  await until(() => events.filter(({ type }) => type === 'CANCELLATION').length === assets.length);
  return events.map(({ type, status }) => (type === 'TRADE' ? status : type)).sort();
}

/** The instants that an answer states as past. A growing candle ends later, and a market is listed before its window. */
function* statedTimes(body: Json): Generator<number> {
  if (Array.isArray(body)) {
    const isRowOfKlines = typeof body[0] === 'number' && body.length === 12;
    if (isRowOfKlines) yield body[0];
    else for (const one of body) yield* statedTimes(one);
  } else if (typeof body === 'object' && body !== null) {
    for (const [name, value] of Object.entries(body)) {
      if (['timestamp', 'T', 'E'].includes(name)) yield Number(value);
      else if (['closedTime', 'createdAt', 'updatedAt', 'startDate'].includes(name)) yield Date.parse(String(value));
      else yield* statedTimes(value);
    }
  }
}

/** The coin's prices in an answer. */
function* coinPrices(body: Json): Generator<number> {
  if (Array.isArray(body)) {
    const isRowOfKlines = typeof body[0] === 'number' && body.length === 12;
    if (isRowOfKlines) yield* body.slice(1, 5).map(Number);
    else for (const one of body) yield* coinPrices(one);
  } else if (typeof body === 'object' && body !== null) {
    for (const [name, value] of Object.entries(body)) {
      const isPrice = ['price', 'p', 'value', 'openPrice', 'closePrice'].includes(name) && value !== null;
      if (isPrice && Number(value) > 1000) yield Number(value);
      else yield* coinPrices(value);
    }
  }
}

/** Everything that a bot was told is of the clock's past. Returns how many times and prices were checked. */
async function expectNothingEarly(network: BotNetwork, lowestAt: (clockMs: number) => number) {
  const messages = await network.messages();
  const read = [...network.answers, { url: 'sockets', body: messages.all, clockMs: messages.clockMs }];
  const counts = { times: 0, prices: 0 };
  for (const { url, body, clockMs } of read) {
    const times = [...statedTimes(body)];
    const prices = [...coinPrices(body)];
    expect([url, times.filter((ms) => !(ms <= clockMs))]).toEqual([url, []]);
    expect([url, prices.filter((price) => !(price >= lowestAt(clockMs)))]).toEqual([url, []]);
    counts.times += times.length;
    counts.prices += prices.length;
  }
  return counts;
}

const isOrder = (side: string) => (decision: Decision) => 'order' in decision && decision.order === side;
const isNone = (pattern: RegExp) => (decision: Decision) => 'none' in decision && pattern.test(decision.none);

/** The bots with what they decide on a falling coin. Some have another decision near the end of a window. */
const BOTS: readonly (readonly [StandIn, '5m' | '15m', ...((decision: Decision) => boolean)[]])[] = [
  [chyranoy, '5m', isOrder('up')],
  [tistaharahap, '15m', isOrder('down'), isNone(/^(edge|prob)_below/)],
  [masterputra169, '15m', isOrder('down')],
  [kingsleyeh, '15m', isNone(/^no arbitrage$/)],
  [tommylamm, '5m', isOrder('down'), isNone(/^time_left_lt_60$/)],
  [forrestlwl1203, '5m', isOrder('down')],
  [truethinker, '5m', isOrder('both')],
  [jwebdesignservice, '5m', isOrder('down')],
  [gylangsatria, '5m', isOrder('down')],
];

describe('a public bot’s calls, in its order, on a replay in the present', () => {
  const directory = temporaryDirectory();
  let made: BotReplay;

  beforeAll(async () => {
    const file = join(directory.path, 'recording.ndjson');
    writeFileSync(file, [...recording()].map((record) => JSON.stringify(record)).join('\n'));
    const leftMs = 5 * MINUTE_MS - (Date.now() % (5 * MINUTE_MS));
    if (leftMs < TIME_LEFT_MS) await Bun.sleep(leftMs);
    made = await replayOf(directory.path, [file], ['--from', iso(FROM_MS), '--paper', '--taker-delay', '250ms']);
  });

  afterAll(async () => {
    await made.child[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  /** The milliseconds by which the replay is moved: conditions keep their ids. */
  async function shiftMs(network: BotNetwork): Promise<number> {
    const [market] = await network.json('https://gamma-api.polymarket.com/markets?closed=false&limit=1');
    const { startMs } = WINDOWS.find(({ conditionId }) => conditionId === market.conditionId)!;
    return Date.parse(market.eventStartTime) - startMs;
  }

  test.concurrent.each(BOTS.map(([bot, , ...expected]) => [bot.repository, bot, expected] as const))(
    '%s reaches its decision, trades on it, and reads nothing later than the clock',
    async (_, bot, expected) => {
      using network = made.network();
      const isExpected = (decision: Decision) => expected.some((matches) => matches(decision));
      const decision = await decisionOf(bot, network, isExpected);
      expect({ decision, isExpected: decision !== undefined && isExpected(decision) }).toEqual({
        ...{ decision, isExpected: true },
      });
      const refused = network.refusals.map(({ url, status }) => `${status} ${url}`);
      const socket = '404 wss://clob.polymarket.com/ws';
      expect(refused).toEqual(bot === jwebdesignservice ? [socket, socket, socket] : []);
      const assets = await assetsOf(network, decision!);
      const each = ['CANCELLATION', 'CONFIRMED', 'MATCHED', 'MINED', 'PLACEMENT', 'PLACEMENT'];
      expect(await traded(network, assets)).toEqual(assets.flatMap(() => each).sort());
      const shift = await shiftMs(network);
      const { times } = await expectNothingEarly(network, (clockMs) => coinPrice(clockMs - shift));
      expect(times).toBeGreaterThan(0);
    },
  );
});

describe.skipIf(ONE_SECOND_BOOKS === undefined)('on a real recording of one 5m window, with its coin’s prices', () => {
  test('the bots for 5m reach a decision (those for 15m need recordings of a whole window)', async () => {
    // A bot waits for the next window, too.
    const left = 300_000 - (Date.now() % 300_000);
    if (left < 8000) await Bun.sleep(left);
    using directory = temporaryDirectory();
    const { child, network } = await replayOf(directory.path, [ONE_SECOND_BOOKS!], []);
    await using _ = child;
    await Promise.all(
      BOTS.filter(([, timeframe]) => timeframe === '5m').map(async ([bot]) => {
        using own = network();
        const decision = await decisionOf(bot, own, () => true);
        expect([bot.repository, decision]).toEqual([bot.repository, expect.anything()]);
        const { times } = await expectNothingEarly(own, () => 0);
        expect(times).toBeGreaterThan(0);
      }),
    );
  });
});
