import { expect, spyOn, test } from 'bun:test';
import { formatInstant } from '../../src/domain/instant.ts';
import type { PaperAccount } from '../../src/paper/paper-account.ts';
import type { OrderTerms, PaperOrder } from '../../src/paper/paper-order.ts';
import { FairQueue } from '../../src/replay/fair-queue.ts';
import { Replay, type ReplayOptions } from '../../src/replay/replay.ts';
import { PaperDesk } from '../../src/trading/paper-desk.ts';
import { DEFAULT_RULES, type PaperRules } from '../../src/trading/paper-rules.ts';
import { EVERYTHING } from '../http/replay/replaying.ts';
import { importRecords, NOW_MS, temporaryArchive } from '../support/archive.ts';
import { START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';

const ADDRESS = `0x${'ab'.repeat(20)}`;
const at = (ms: number) => formatInstant(START_MS + ms);
const book = (ms: number, bid: number, ask: number) =>
  sampleSnapshot({ timestamp: at(ms), bids: [{ price: bid, size: 100 }], asks: [{ price: ask, size: 100 }] });
/** A second market, whose books come in between. */
const OTHER = { conditionId: `0x${'cd34'.repeat(16)}`, slug: 'eth-updown-5m-1776323400', symbol: 'eth' };
const RECORDS = [
  sampleMarket({ winner: 'up', closed: true, resolvedAt: at(320_000) }),
  sampleMarket({ ...OTHER, clobTokenIds: ['31', '32'] }),
  book(0, 0.5, 0.52),
  book(10_000, 0.49, 0.51),
  book(20_000, 0.47, 0.48),
  book(30_000, 0.5, 0.52),
  { ...book(15_000, 0.3, 0.4), conditionId: OTHER.conditionId },
];
const BUY: OrderTerms = {
  ...{ id: 'a', outcome: 'up', side: 'buy', type: 'GTC', price: 0.49, amount: 10_000_000 },
  ...{ isPostOnly: false, expirationMs: undefined },
};

/** A desk on a replay whose time passes only when a test moves it. */
async function startDesk({
  rules = {},
  records = RECORDS,
  ...options
}: Partial<ReplayOptions> & { rules?: Partial<PaperRules>; records?: readonly object[] } = {}) {
  const held = temporaryArchive();
  await importRecords(held.archive, records);
  let passedMs = 0;
  const clocks = { monotonicMs: () => passedMs, wallMs: () => NOW_MS + passedMs };
  const replay = new Replay(held.archive, { ...EVERYTHING, ...options }, clocks);
  const failed = (error: unknown) => {
    throw error;
  };
  const work = { queue: new FairQueue(), monotonicMs: clocks.monotonicMs, failed };
  const desk = new PaperDesk(replay, { ...DEFAULT_RULES, takerDelayMs: 0, ...rules }, work);
  replay.resume();
  return {
    ...{ desk, replay, market: held.archive.markets.named(sampleMarket().slug)[0]! },
    /** Sends an order; `order` is it once it has arrived. */
    send: (account: PaperAccount, terms: Partial<OrderTerms> = {}) => {
      const sent: { order?: PaperOrder; error?: Error } = {};
      const market = held.archive.markets.named(sampleMarket().slug)[0]!;
      desk.send(account, market, { ...BUY, ...terms }).then(
        (order) => Object.assign(sent, { order }),
        (error: Error) => Object.assign(sent, { error }),
      );
      return sent;
    },
    /** Lets real time pass, and everything that is due then happen. */
    pass: async (ms: number) => {
      await Bun.sleep(0);
      passedMs += ms;
      await desk.catchUp();
      await Bun.sleep(0);
    },
    [Symbol.dispose]: () => {
      replay.stop();
      held[Symbol.dispose]();
    },
  };
}

/** Kind and time of each event, in milliseconds from the start of the window. */
const story = ({ events }: PaperAccount) =>
  events.map((event) => `${event.kind} ${event.atMs - START_MS}${event.kind === 'fill' ? ` ${event.fill.role}` : ''}`);

test('An order acts when the clock has passed its latency, and its market is read from then on only.', async () => {
  using started = await startDesk();
  const { desk, market, send, pass } = started;
  const account = desk.account(ADDRESS);
  expect(desk.account(ADDRESS.toUpperCase().replace('X', 'x'))).toBe(account);
  expect(desk.traded(market.key)).toBeUndefined();
  await pass(5000);
  const sent = send(account);
  await pass(39);
  expect(sent).toEqual({});
  await pass(1);
  expect(sent.order?.state).toBe('live');
  await pass(20_000);
  expect(story(account)).toEqual(['deposit 0', 'live 5040', 'fill 20000 maker', 'closed 20000']);
  await pass(300_000);
  expect(story(account).slice(4)).toEqual(['settled 320000']);
  expect([account.cash, account.realised]).toEqual([1_005_100_000, 5_100_000]);
});

test('A pause holds what is on its way, and a step moves it.', async () => {
  using started = await startDesk();
  const { desk, replay, send, pass } = started;
  const account = desk.account(ADDRESS);
  const sent = send(account);
  await pass(20);
  replay.clock.pause();
  await pass(60_000);
  expect([sent.order, story(account)]).toEqual([undefined, ['deposit 0']]);
  replay.step();
  await pass(0);
  expect([sent.order?.state, replay.clock.nowMs]).toEqual(['live', START_MS + 10_000]);
});

test('A jump forwards does what playing would have done; a jump back begins without accounts, and orders on their way are rejected.', async () => {
  using played = await startDesk();
  using jumped = await startDesk();
  for (const { desk, send, pass } of [played, jumped]) {
    send(desk.account(ADDRESS));
    await pass(100);
  }
  for (let i = 0; i < 100; i += 1) await played.pass(250);
  jumped.replay.seek(START_MS + 25_100);
  await jumped.pass(0);
  const account = jumped.desk.account(ADDRESS);
  expect(account.events).toEqual(played.desk.account(ADDRESS).events);
  expect(story(account)).toContain('fill 20000 maker');
  const resets: unknown[] = [];
  jumped.desk.listen({ reset: (address) => resets.push(address) });
  const sent = jumped.send(account, { id: 'b' });
  await Bun.sleep(0);
  jumped.replay.seek(START_MS + 25_099);
  await Bun.sleep(0);
  expect(sent.error?.message).toContain('was reset');
  expect([resets, jumped.desk.accounts(), jumped.desk.traded(jumped.market.key)]).toEqual([[undefined], [], undefined]);
  expect(story(jumped.desk.account(ADDRESS))).toEqual(['deposit 25099']);
});

test('At the speed max the clock is moved until an order arrives, and no further; a socket that is slower holds both.', async () => {
  using started = await startDesk({ speed: 'max' });
  const { desk, replay, send, pass } = started;
  const account = desk.account(ADDRESS);
  const sent = send(account);
  await pass(0);
  await pass(0);
  expect([sent.order?.state, replay.clock.nowMs]).toEqual(['live', START_MS + 40]);
  await pass(1000);
  expect(replay.clock.nowMs).toBe(START_MS + 40);
  const socket = replay.clock.follow(replay.clock.nowMs);
  socket.reached(START_MS + 50);
  const second = send(account, { id: 'b' });
  await pass(0);
  expect([second.order, replay.clock.nowMs]).toEqual([undefined, START_MS + 50]);
  socket.reached(START_MS + 25_000);
  await pass(0);
  // The clock is the socket's again: the desk may have gone on to it in a turn of its own.
  expect(second.order?.arrivedMs).toBe(START_MS + 90);
  await pass(0);
  expect(story(account)).toContain('fill 20000 maker');
});

test('A cancel has latency too, and an order that would arrive after the end of the replay is refused.', async () => {
  using started = await startDesk({ toMs: START_MS + 6000 });
  const { desk, send, pass } = started;
  const account = desk.account(ADDRESS);
  send(account);
  await pass(5000);
  const cancelled = desk.cancel(account, ['a', 'unknown']);
  await pass(40);
  expect((await cancelled).map(({ terms, state }) => [terms.id, state])).toEqual([['a', 'cancelled']]);
  expect(await desk.cancel(account, ['a'])).toHaveLength(1);
  await pass(930);
  const late = send(account, { id: 'b' });
  await pass(0);
  expect(late.error?.message).toContain('ends before');
  expect(account.orders.size).toBe(1);
});

test('A reset of one account leaves the others, and pairs of shares merge at once.', async () => {
  using started = await startDesk({ rules: { latencyMs: 0, fees: 'none' } });
  const { desk, market, send, pass } = started;
  const account = desk.account(ADDRESS);
  const other = desk.account(`0x${'cd'.repeat(20)}`);
  send(account, { price: 0.52 });
  send(account, { id: 'b', outcome: 'down', price: 0.5 });
  await pass(0);
  await expect(desk.merge(account, market, 11_000_000)).rejects.toThrow('fewer free pairs');
  await desk.merge(account, market, 10_000_000);
  expect([account.cash, account.realised, account.holding(market.key, 'up').shares]).toEqual([
    999_800_000, -200_000, 0,
  ]);
  desk.reset(ADDRESS);
  expect(desk.accounts()).toEqual([other]);
  await expect(desk.send(account, market, { ...BUY, id: 'c' })).rejects.toThrow('was reset');
});

test('Nothing happens to an account after its reset, neither to orders that rest nor to those on their way.', async () => {
  using started = await startDesk();
  const { desk, send, pass } = started;
  const [account, other] = [desk.account(ADDRESS), desk.account(`0x${'cd'.repeat(20)}`)];
  const events: string[] = [];
  account.onEvent(({ kind }) => events.push(kind));
  for (const each of [account, other]) send(each);
  await pass(1000);
  send(account, { id: 'b' });
  expect(events).toEqual(['live']);
  desk.reset(ADDRESS);
  // The ask at 20 s fills the resting order of the other account.
  await pass(400_000);
  expect(events).toEqual(['live']);
  expect(other.events.map(({ kind }) => kind)).toContain('fill');
});

test('An order whose cancel is on its way gets no second one: both requests end with it.', async () => {
  using started = await startDesk();
  const { desk, send, pass, market } = started;
  const account = desk.account(ADDRESS);
  send(account);
  await pass(1000);
  const { paper } = desk.traded(market.key)!;
  const sent = spyOn(paper, 'cancel');
  const cancels = [desk.cancel(account, ['a']), desk.cancel(account, ['a', 'a'])];
  await pass(1000);
  for (const orders of await Promise.all(cancels)) expect(orders[0]!.state).toBe('cancelled');
  expect(sent).toHaveBeenCalledTimes(1);
});

test('A winner that is recorded without the time of its resolution is paid at the end of its market.', async () => {
  const [, ...others] = RECORDS;
  using started = await startDesk({ records: [sampleMarket({ winner: 'up', closed: true }), ...others] });
  const { desk, send, pass } = started;
  const account = desk.account(ADDRESS);
  send(account, { price: 0.52 });
  await pass(400_000);
  expect(story(account).at(-1)).toBe('settled 300000');
});

test('A replay that ends while the taker delay holds an order waits for nothing more.', async () => {
  using started = await startDesk({ speed: 'max', toMs: START_MS + 100, rules: { takerDelayMs: 250 } });
  const { desk, replay, send, pass } = started;
  const follow = replay.clock.follow.bind(replay.clock);
  let followers = 0;
  spyOn(replay.clock, 'follow').mockImplementation((positionMs) => {
    const { reached, leave } = follow(positionMs);
    followers += 1;
    const left = () => {
      followers -= 1;
      leave();
    };
    return { reached, leave: left };
  });
  const sent = send(desk.account(ADDRESS), { price: 0.52 });
  for (let i = 0; i < 4; i += 1) await pass(0);
  expect([sent.order?.state, followers, replay.clock.state]).toEqual(['delayed', 0, 'ended']);
});

test('An order without latency is answered also after the end of its market, when nothing else is due.', async () => {
  using started = await startDesk({ rules: { latencyMs: 0 } });
  const { desk, send, pass } = started;
  const account = desk.account(ADDRESS);
  await pass(400_000);
  const sent = send(account);
  await Bun.sleep(20);
  expect(sent.order?.refusal).toEqual({ reason: 'ended' });
});
