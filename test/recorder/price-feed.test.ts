import { expect, test } from 'bun:test';
import { PriceFeed } from '../../src/recorder/price-feed.ts';
import type { Connect } from '../../src/recorder/web-connection.ts';

type Events = Parameters<Connect>[1];

/** A clock whose timers run when it is moved. */
function manualClock() {
  let nowMs = 0;
  const timers = new Set<{ readonly atMs: number; readonly work: () => void }>();
  return {
    nowUs: () => nowMs * 1000,
    after: (ms: number, work: () => void) => {
      const timer = { atMs: nowMs + ms, work };
      timers.add(timer);
      return { [Symbol.dispose]: () => void timers.delete(timer) };
    },
    move: (ms: number) => {
      for (const untilMs = nowMs + ms; nowMs < untilMs; nowMs += 1000) {
        for (const timer of [...timers].filter(({ atMs }) => atMs <= nowMs)) {
          timers.delete(timer);
          timer.work();
        }
      }
    },
  };
}

function openFeed(status = 400) {
  const clock = manualClock();
  const connections: { readonly events: Events; readonly sent: string[]; isClosed: boolean }[] = [];
  const frames: string[] = [];
  const ends: string[] = [];
  const feed = new PriceFeed({
    url: 'wss://prices.example',
    coins: ['btc', 'sol'],
    connect: (_, events) => {
      const connection = { events, sent: [] as string[], isClosed: false };
      connections.push(connection);
      return {
        send: (text) => void connection.sent.push(text),
        close: () => {
          connection.isClosed = true;
        },
      };
    },
    ask: async (url) => {
      expect(url).toBe('https://prices.example');
      return { status, text: async () => '' };
    },
    clock,
    onFrame: (text) => void frames.push(text),
    onEnd: (reason) => void ends.push(reason),
  });
  return { feed, clock, connections, frames, ends };
}

const update = (symbol: string) =>
  JSON.stringify({ topic: 'crypto_prices', type: 'update', payload: { symbol, timestamp: 1, value: 2 } });

test('One subscription a topic, without filters, and frames of other coins are left out.', () => {
  const { feed, connections, frames } = openFeed();
  using _ = feed;
  const [connection] = connections;
  connection!.events.onOpen();
  expect(connection!.sent.map((text) => JSON.parse(text))).toEqual([
    {
      action: 'subscribe',
      subscriptions: [
        { topic: 'crypto_prices_chainlink', type: '*', filters: '' },
        { topic: 'crypto_prices', type: '*', filters: '' },
      ],
    },
  ]);
  const kept = [update('btc/usd'), update('SOLUSDT')];
  for (const text of [...kept, update('eth/usd'), update('wbtc/usd'), 'PONG', '']) connection!.events.onText(text);
  expect(frames).toEqual(kept);
});

test('A feed that brings no prices for 30 s is opened again, as is one that ends; PING is sent every 5 s.', async () => {
  const { feed, clock, connections, ends } = openFeed();
  connections[0]!.events.onOpen();
  clock.move(20_000);
  connections[0]!.events.onText(update('btc/usd'));
  expect(connections[0]!.sent.filter((text) => text === 'PING').length).toBeGreaterThanOrEqual(3);
  clock.move(50_000);
  expect(connections).toHaveLength(2);
  expect(connections[0]!.isClosed).toBe(true);
  connections[1]!.events.onEnd('the connection failed');
  await Bun.sleep(0);
  clock.move(10_000);
  expect(connections).toHaveLength(3);
  expect(ends).toEqual(['it brought no prices for 30 s', 'the connection failed']);
  feed[Symbol.dispose]();
  clock.move(100_000);
  expect(connections).toHaveLength(3);
  expect(connections[2]!.isClosed).toBe(true);
});

test.each([
  [429, 60],
  [403, 60],
  [425, 5],
])('A feed that the venue answers with %d is opened again after %d s.', async (status, seconds) => {
  const { feed, clock, connections, ends } = openFeed(status);
  using _ = feed;
  connections[0]!.events.onEnd('the connection failed');
  await Bun.sleep(0);
  clock.move(seconds * 1000);
  expect(connections).toHaveLength(1);
  clock.move(1000);
  expect(connections).toHaveLength(2);
  expect(ends).toEqual([expect.stringContaining(`(${status})`)]);
});
