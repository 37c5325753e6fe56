import { expect, test } from 'bun:test';
import { mirrorOf } from '../../src/domain/mirrored-book.ts';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import type { AccountEvent } from '../../src/paper/account-event.ts';
import type { MomentBook, MomentTrade } from '../../src/paper/market-moment.ts';
import { microsOf, microsText } from '../../src/paper/micros.ts';
import { PaperAccount } from '../../src/paper/paper-account.ts';
import { type MarketRules, PaperMarket } from '../../src/paper/paper-market.ts';
import type { OrderTerms } from '../../src/paper/paper-order.ts';

const END_MS = 300_000;
const RULES: MarketRules = { latencyMs: 0, takerDelayMs: 0, queue: 'behind', fees: { rate: 0, exponent: 1 } };
/** Up's book: 100 shares at each of these prices. */
const BOOK = bookOf('0.5 0.49 0.48', '0.52 0.53 0.54');

/** Levels as `price` or `price:size`, the best first; the size is 100 if none is given. */
function bookOf(bids: string, asks: string): OrderBook {
  const side = (text: string) =>
    text
      .split(' ')
      .filter(Boolean)
      .map((level) => level.split(':').map(Number));
  const [bidLevels, askLevels] = [side(bids), side(asks)];
  return {
    bidPrices: bidLevels.map(([price]) => price!),
    bidSizes: bidLevels.map(([, size = 100]) => size),
    askPrices: askLevels.map(([price]) => price!),
    askSizes: askLevels.map(([, size = 100]) => size),
  };
}

function momentBook(up: OrderBook, atMs: number): MomentBook {
  const levels = (outcome: Outcome, isBid: boolean) => {
    const { bidPrices, bidSizes, askPrices, askSizes } = outcome === 'up' ? up : mirrorOf(up);
    return isBid ? levelsOf(bidPrices, bidSizes) : levelsOf(askPrices, askSizes);
  };
  return {
    ...{ id: atMs, atMs, recordedFor: 'up', levels, best: (outcome, isBid) => levels(outcome, isBid)[0]?.price },
    sizesAt: (outcome, isBid, prices) =>
      prices.map((price) => levels(outcome, isBid).find((level) => level.price === price)?.size ?? 0),
  };
}

const levelsOf = (prices: readonly number[], sizes: readonly number[]) =>
  prices.map((price, at) => ({ price, size: sizes[at]! }));

/** A market whose recording and orders a test tells one after the other. Down's book is always the mirror of up's. */
class Story {
  readonly market: PaperMarket;
  readonly account = new PaperAccount('0xa', 1_000_000_000, 0);
  #orders = 0;
  #trades = 0;

  constructor(rules: Partial<MarketRules> = {}, winner: Outcome | null = 'up') {
    this.market = new PaperMarket(
      { key: 7, endMs: END_MS, winner: winner ?? undefined, resolvedMs: END_MS + 20_000 },
      { ...RULES, ...rules },
    );
    this.book(0, BOOK);
  }

  /** `trades` as 'up sell 0.5 10': the taker's outcome and side. */
  at(atMs: number, { book, trades = [], gapTo }: { book?: OrderBook; trades?: string[]; gapTo?: number }): this {
    this.due(atMs - 1);
    const recorded = book && momentBook(book, atMs);
    const books = recorded && { up: recorded, down: recorded };
    const gap = gapTo === undefined ? undefined : { fromMs: atMs, toMs: gapTo, reason: 'test' };
    this.market.process(atMs, { atMs, trades: trades.map((text) => this.#trade(text)), books, gap });
    return this;
  }

  book(atMs: number, book: OrderBook): this {
    return this.at(atMs, { book });
  }

  /** Processes what is due until then without a record. */
  due(untilMs: number): this {
    while (this.market.nextMs <= untilMs) this.market.process(this.market.nextMs);
    return this;
  }

  /** `text` as 'GTC up buy 10 at 0.5'; returns the order's id. */
  send(atMs: number, text: string, more: Partial<OrderTerms> = {}, account = this.account): string {
    const [type, outcome, side, amount, , price] = text.split(' ') as [
      OrderTerms['type'],
      Outcome,
      'buy' | 'sell',
      string,
      string,
      string,
    ];
    this.#orders += 1;
    const terms = {
      id: `${this.#orders}`,
      type,
      outcome,
      side,
      amount: microsOf(Number(amount)),
      price: Number(price),
    };
    this.market.send(account, { ...terms, isPostOnly: false, expirationMs: undefined, ...more }, atMs);
    return terms.id;
  }

  /** The events after the deposit, a line each. */
  lines(account = this.account): string[] {
    return account.events.slice(1).map(lineOf);
  }

  #trade(text: string): MomentTrade {
    const [outcome, side, price, size] = text.split(' ') as [Outcome, 'buy' | 'sell', string, string];
    this.#trades += 1;
    return { id: this.#trades, outcome, side, price: Number(price), shares: microsOf(Number(size)) };
  }
}

function lineOf(event: AccountEvent): string {
  const at = `${event.atMs}`;
  if (!('order' in event)) return `${at} ${event.kind} ${microsText(event.dollars)}`;
  const order = `${at} ${event.order.id}`;
  if (event.kind === 'refused') return `${order} refused ${event.refusal.reason}`;
  if (event.kind === 'delayed') return `${order} delayed`;
  if (event.kind === 'live') {
    return `${order} live ${microsText(event.left)} behind ${microsText(event.queue)}${event.hasFailed ? ' unmatched' : ''}`;
  }
  if (event.kind === 'closed') return `${order} ${event.state} ${microsText(event.left)}`;
  const { role, shares, price, fee, evidence } = event.fill;
  return `${order} ${role} ${microsText(shares)} at ${price}${fee === 0 ? '' : ` fee ${microsText(fee)}`} by ${evidence.kind} ${evidence.id}`;
}

test('A taker walks the book at resting prices, and what it took is missing until the recorded size of the level changes.', () => {
  const story = new Story();
  story.send(10, 'GTC up buy 150 at 0.53');
  story.send(20, 'FAK up buy 100 at 0.52');
  story.send(30, 'FAK up buy 5.3 at 0.53');
  // The same size written again is no change, and a change of another level neither.
  story.book(40, bookOf('0.5 0.49 0.48:7', '0.52 0.53 0.54'));
  story.send(50, 'FAK up buy 100 at 0.52');
  story.book(60, bookOf('0.5 0.49 0.48:7', '0.52:99 0.53 0.54'));
  story.send(70, 'GTC up buy 99 at 0.52');
  expect(story.lines()).toEqual([
    '10 1 taker 100 at 0.52 by book 0',
    '10 1 taker 50 at 0.53 by book 0',
    '10 1 matched 0',
    '20 2 refused none',
    '30 3 taker 10 at 0.53 by book 0',
    '30 3 matched 0',
    '50 4 refused none',
    '70 5 taker 99 at 0.52 by book 60',
    '70 5 matched 0',
  ]);
});

test('Up and down are one book: taking the ask of up takes the bid of down, and adds no liquidity.', () => {
  const story = new Story();
  story.send(10, 'GTC up buy 100 at 0.52');
  story.send(20, 'GTC up buy 60 at 0.53');
  story.market.merge(story.account, 0, 20);
  story.send(30, 'GTC down buy 10 at 0.5');
  story.send(40, 'GTC down sell 5 at 0.47');
  expect(story.lines().slice(4)).toEqual([
    '20 merged 0',
    '30 3 taker 10 at 0.5 by book 0',
    '30 3 matched 0',
    // Of down's bids, 0.48 is taken whole (up's ask at 0.52) and 0.47 by 60.
    '40 4 taker 5 at 0.47 by book 0',
    '40 4 matched 0',
  ]);
});

test('A resting order is behind the recorded size of its level, which trades and smaller sizes shrink, and larger ones do not grow.', () => {
  const story = new Story();
  story.send(10, 'GTC up buy 10 at 0.5');
  story.at(1000, { trades: ['up sell 0.5 30'] });
  story.book(2000, bookOf('0.5:40 0.49', '0.52 0.53'));
  story.book(3000, bookOf('0.5:400 0.49', '0.52 0.53'));
  story.at(4000, { trades: ['up sell 0.5 43'] });
  story.at(5000, { trades: ['down buy 0.5 5'] });
  expect(story.lines()).toEqual([
    '10 1 live 10 behind 100',
    '4000 1 maker 3 at 0.5 by trade 2',
    '5000 1 maker 5 at 0.5 by trade 3',
  ]);
});

test.each([
  ['mid', '10 1 live 10 behind 50', '1000 1 maker 5 at 0.5 by trade 1'],
  ['front', '10 1 live 10 behind 0', '1000 1 maker 10 at 0.5 by trade 1'],
] as const)('The queue assumption %s decides how much is ahead.', (queue, live, fill) => {
  const story = new Story({ queue });
  story.send(10, 'GTC up buy 10 at 0.5');
  story.at(1000, { trades: ['up sell 0.5 55'] });
  expect(story.lines().slice(0, 2)).toEqual([live, fill]);
});

test('A trade is told 30 ms after the book that it changed: it does not count twice, nor for an order that came in between.', () => {
  const story = new Story();
  story.send(10, 'GTC up buy 10 at 0.5');
  // The book shows the trade of 60 first. Then 40 are ahead, not 0.
  story.book(1000, bookOf('0.5:40 0.49', '0.52'));
  story.send(1001, 'GTC up buy 10 at 0.5');
  story.at(1021, { trades: ['up sell 0.5 60'] });
  story.at(2000, { trades: ['up sell 0.5 45'] });
  expect(story.lines()).toEqual([
    '10 1 live 10 behind 100',
    '1001 2 live 10 behind 40',
    '2000 1 maker 5 at 0.5 by trade 2',
  ]);
});

test('A trade through the price fills as one at the price does; own orders share it, the best price and then the earliest first.', () => {
  const story = new Story();
  story.send(10, 'GTC up buy 10 at 0.48');
  story.send(11, 'GTC up buy 10 at 0.5');
  story.send(12, 'GTC up buy 10 at 0.5');
  story.at(1000, { trades: ['up sell 0.47 125'] });
  expect(story.lines().slice(3)).toEqual([
    '1000 2 maker 10 at 0.5 by trade 1',
    '1000 2 matched 0',
    // 115 of the trade are left, of which 100 are ahead; then 105, of which 100 are ahead of the order at 0.48.
    '1000 3 maker 10 at 0.5 by trade 1',
    '1000 3 matched 0',
    '1000 1 maker 5 at 0.48 by trade 1',
  ]);
});

test('Takers of the own side never fill: a BUY at the ask says nothing about bids.', () => {
  const story = new Story();
  story.send(10, 'GTC up buy 10 at 0.5');
  story.at(1000, { trades: ['up buy 0.5 500', 'down sell 0.5 500'] });
  expect(story.lines()).toEqual(['10 1 live 10 behind 100']);
});

test('The opposite side that crosses a resting order fills it at its limit, without a fee, by the size of the crossing levels, once.', () => {
  const story = new Story({ fees: { rate: 0.07, exponent: 1 } });
  story.send(10, 'GTC up buy 30 at 0.5');
  story.send(11, 'GTC down buy 30 at 0.47');
  story.book(1000, bookOf('0.48', '0.49:5 0.5:7 0.52'));
  story.book(1001, bookOf('0.48 0.47', '0.49:5 0.5:7 0.52'));
  story.book(1002, bookOf('0.48', '0.49:5 0.5:8 0.52'));
  story.book(2000, bookOf('0.54:3', '0.55'));
  expect(story.lines().slice(2)).toEqual([
    '1000 1 maker 5 at 0.5 by book 1000',
    '1000 1 maker 7 at 0.5 by book 1000',
    '1002 1 maker 8 at 0.5 by book 1002',
    '2000 2 maker 3 at 0.47 by book 2000',
  ]);
});

test('What an order took itself does not cross its rest.', () => {
  const story = new Story();
  story.send(10, 'GTC up buy 130 at 0.52');
  story.book(20, bookOf('0.51', '0.52 0.53 0.54'));
  story.book(30, bookOf('0.51', '0.52:20 0.53 0.54'));
  expect(story.lines()).toEqual([
    '10 1 taker 100 at 0.52 by book 0',
    '10 1 live 30 behind 0',
    '30 1 maker 20 at 0.52 by book 30',
  ]);
});

test('An order and a cancel act after the latency, on the book of then; a crossing at the millisecond of the cancel fills.', () => {
  const story = new Story({ latencyMs: 40 });
  story.send(0, 'GTC up buy 10 at 0.51');
  story.book(39, bookOf('0.5', '0.51:4 0.53'));
  story.due(40);
  story.market.cancel(story.account, '1', 60);
  story.book(100, bookOf('0.5', '0.51:5 0.53'));
  story.due(200);
  story.market.cancel(story.account, '1', 200);
  story.due(300);
  expect(story.lines()).toEqual([
    '40 1 taker 4 at 0.51 by book 39',
    '40 1 live 6 behind 0',
    '100 1 maker 5 at 0.51 by book 100',
    '100 1 cancelled 1',
  ]);
});

test('The taker delay holds what would match: then a FOK is killed, a GTC rests unmatched, and both can be cancelled before.', () => {
  const story = new Story({ takerDelayMs: 250 });
  story.send(0, 'FOK up buy 52 at 0.52');
  story.send(0, 'GTC up buy 10 at 0.52');
  story.send(0, 'GTC up buy 10 at 0.52');
  story.send(0, 'GTC up buy 10 at 0.51');
  story.send(0, 'FOK up buy 52 at 0.51');
  story.market.cancel(story.account, '3', 100);
  story.book(200, bookOf('0.5', '0.53'));
  story.due(300);
  expect(story.lines()).toEqual([
    '0 1 delayed',
    '0 2 delayed',
    '0 3 delayed',
    '0 4 live 10 behind 0',
    '0 5 refused short',
    '100 3 cancelled 10',
    '250 1 killed 52',
    '250 2 live 10 behind 0 unmatched',
  ]);
  expect(story.account.reserved).toBe(microsOf(10 * 0.51 + 10 * 0.52));
});

test('A delayed buy in dollars that costs more than the account has is killed: cheaper shares have higher fees.', () => {
  const story = new Story({ takerDelayMs: 250, fees: { rate: 0.07, exponent: 1 } });
  story.book(0, bookOf('0.4', '0.6:5000'));
  story.send(0, 'FAK up buy 972 at 0.6');
  story.book(100, bookOf('0.4', '0.5:5000'));
  story.due(300);
  expect(story.lines()).toEqual(['0 1 delayed', '250 1 killed 972']);
  expect(story.account.cash).toBe(1_000_000_000);
});

test('An order before the first book of its market is refused: nothing says how much is ahead of it.', () => {
  const market = new PaperMarket({ key: 7, endMs: END_MS, winner: 'up', resolvedMs: END_MS }, RULES);
  const account = new PaperAccount('0xa', 1_000_000_000, 0);
  market.send(
    account,
    {
      id: '1',
      type: 'GTC',
      outcome: 'up',
      side: 'buy',
      amount: 5_000_000,
      price: 0.9,
      isPostOnly: false,
      expirationMs: undefined,
    },
    5,
  );
  expect(account.events.slice(1).map(lineOf)).toEqual(['5 1 refused not-ready']);
});

test('A FAK or FOK that buys is in dollars, so that a better price buys more; a FAK drops its rest, a FOK is all or nothing.', () => {
  const story = new Story();
  story.send(0, 'FOK up buy 60 at 0.53');
  story.send(1, 'FOK up buy 100 at 0.53');
  story.send(2, 'FAK up buy 100 at 0.53');
  story.send(3, 'FAK up sell 500 at 0.49');
  expect(story.lines()).toEqual([
    '0 1 taker 100 at 0.52 by book 0',
    // 8 dollars are left for shares at 0.53.
    '0 1 taker 15.094339 at 0.53 by book 0',
    '0 1 matched 0',
    '1 2 refused short',
    '2 3 taker 84.905661 at 0.53 by book 0',
    '2 3 matched 54.999999',
    '3 4 refused funds',
  ]);
});

test('Fees are for takers, down to 5 decimals a level, and are reserved at the limit of each order that buys.', () => {
  const story = new Story({ fees: { rate: 0.07, exponent: 1 } });
  story.send(0, 'GTC up buy 5 at 0.2', { isPostOnly: true });
  // The figure of a refusal of the venue: 5 at 0.20 asks for 1.056.
  expect(story.account.reserved).toBe(1_056_000);
  story.send(1, 'GTC up buy 7.77 at 0.52');
  expect(story.lines()).toEqual([
    '0 1 live 5 behind 0',
    '1 2 taker 7.77 at 0.52 fee 0.13575 by book 0',
    '1 2 matched 0',
  ]);
});

test('Funds, post-only and expiration are checked at the arrival.', () => {
  const story = new Story();
  story.send(0, 'GTC up buy 2000 at 0.5');
  story.send(0, 'GTC up buy 2 at 0.5');
  story.send(0, 'GTC down sell 1 at 0.9');
  story.market.cancel(story.account, '1', 5);
  story.send(10, 'GTC up buy 2 at 0.52', { isPostOnly: true });
  story.send(10, 'GTD up buy 2 at 0.4', { expirationMs: 60_009 });
  story.send(10, 'GTD up buy 2 at 0.4', { expirationMs: 90_010 });
  story.send(10, 'GTC up buy 2 at 0.4', { id: '1' });
  story.due(40_000);
  story.send(END_MS, 'GTC up buy 2 at 0.4');
  expect(story.lines()).toEqual([
    '0 1 live 2000 behind 100',
    '0 2 refused funds',
    '0 3 refused funds',
    '5 1 cancelled 2000',
    '10 4 refused post-only',
    '10 5 refused expiration',
    '10 6 live 2 behind 0',
    '10 1 refused duplicate',
    '30010 6 expired 2',
    `${END_MS} 8 refused ended`,
  ]);
});

test('Nothing fills in a recorded gap, and the queue does not forget it.', () => {
  const story = new Story();
  story.send(0, 'GTC up buy 10 at 0.5');
  story.at(1000, { gapTo: 2000 });
  story.send(1500, 'FAK up buy 10 at 0.54');
  story.at(1900, { book: bookOf('0.48', '0.49'), trades: ['up sell 0.5 500'] });
  story.book(2000, bookOf('0.48', '0.49:50'));
  expect(story.lines()).toEqual([
    '0 1 live 10 behind 100',
    '1500 2 refused none',
    '2000 1 maker 10 at 0.5 by book 2000',
    '2000 1 matched 0',
  ]);
});

test.each([
  ['up', 1023],
  ['down', 973],
  ['unknown', 924],
] as const)('The market ends with its open orders, and pays the winner at the resolution: %s.', (winner, dollars) => {
  const story = new Story({}, winner === 'unknown' ? null : winner);
  story.send(0, 'GTC up buy 100 at 0.52');
  story.send(1, 'GTC down buy 50 at 0.5');
  expect(story.market.merge(story.account, 51_000_000, 2)).toBe(false);
  expect(story.market.merge(story.account, 1_000_000, 2)).toBe(true);
  story.send(3, 'GTC up buy 5 at 0.3');
  story.due(END_MS + 20_000);
  const { account } = story;
  const cost = account.holding(7, 'up').cost + account.holding(7, 'down').cost;
  expect(account.cash + cost).toBe(1_000_000_000 + account.realised);
  expect(story.lines().slice(4, 7)).toEqual(['2 merged 1', '3 3 live 5 behind 0', `${END_MS} 3 ended 5`]);
  // 52 and 25 were paid, 1 merged; 99 of up and 49 of down were left.
  expect(account.cash).toBe(dollars * 1_000_000);
});

test('Accounts do not touch the liquidity of each other, and never match.', () => {
  const story = new Story();
  const other = new PaperAccount('0xb', 1_000_000_000, 0);
  story.send(0, 'GTC up buy 100 at 0.52');
  story.send(1, 'GTC up buy 100 at 0.52', {}, other);
  story.send(2, 'GTC up sell 50 at 0.51');
  story.send(3, 'GTC up buy 50 at 0.51', {}, other);
  story.at(1000, { trades: ['up sell 0.51 500'] });
  expect(story.lines().slice(2)).toEqual(['2 3 live 50 behind 0']);
  expect(story.lines(other).slice(2)).toEqual([
    '3 4 live 50 behind 0',
    '1000 4 maker 50 at 0.51 by trade 1',
    '1000 4 matched 0',
  ]);
});
