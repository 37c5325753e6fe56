import type { Context, Strategy } from '../../src/client/strategy.ts';
import { INSTANT_MAX_MS } from '../../src/domain/instant.ts';
import type { QueueAssumption } from '../../src/paper/paper-market.ts';
import { TickSizes } from '../../src/replay/tick-sizes.ts';
import { Lockstep, type Lockstep as Stepped } from '../../src/trading/lockstep.ts';
import type { PaperRules } from '../../src/trading/paper-rules.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { randomsOf } from '../support/random-books.ts';

export interface RunOptions {
  readonly latencyMs?: number;
  readonly takerDelayMs?: number;
  readonly queue?: QueueAssumption;
  readonly cash?: number;
  readonly fees?: PaperRules['fees'];
  readonly toMs?: number;
  readonly monotonicMs?: () => number;
  readonly onYield?: () => void;
}

/** Runs a strategy on the only market of some records, to its end. */
export async function stepped(
  records: readonly object[],
  strategy: Strategy,
  {
    latencyMs = 40,
    takerDelayMs = 0,
    queue = 'behind',
    cash = 1e9,
    fees = 'venue',
    toMs = INSTANT_MAX_MS,
    monotonicMs = () => 0,
    onYield = () => undefined,
  }: RunOptions = {},
): Promise<Stepped> {
  using held = temporaryArchive();
  await importRecords(held.archive, records);
  const { database, markets } = held.archive;
  return database.read(() => {
    const [stored] = markets.coins().flatMap((coin) => markets.after(coin, { startMs: 0, conditionId: '' }) ?? []);
    const rules = { cash, latencyMs, takerDelayMs, queue, fees };
    const ticks = new TickSizes(held.archive);
    const input = { archive: held.archive, ticks, market: stored!, fromMs: 0, toMs, rules };
    const lockstep = new Lockstep(input, strategy, { nowMs: 0 }, monotonicMs);
    for (const _ of lockstep.steps()) onYield();
    return lockstep;
  });
}

/** A strategy that acts at random on what it sees, and writes all that it is called with and can read. */
export function scribe(seed: number, written: string[]): Strategy {
  const random = randomsOf(seed);
  const write = (context: Context, name: string, about: unknown) => {
    const { nowMs, account, tickSize } = context;
    const [up, down] = [context.book('up'), context.book('down')];
    const { cash, free, orders } = account;
    const seen = { up: [up.bids, up.asks, up.mid], down: [down.bids, down.asks], price: context.price(), tickSize };
    const own = { cash, free, orders, shares: [account.shares('up'), account.freeShares('down')] };
    written.push(`${nowMs} ${JSON.stringify([name, about, seen, own])}`);
  };
  return {
    onStart: (context) => write(context, 'start', null),
    onBook(context, outcome) {
      write(context, 'book', outcome);
      const { bid, ask } = context.book(outcome);
      const choice = random();
      const own = context.account.orders[0];
      if (choice < 0.25 && bid !== undefined) context.buy({ outcome, price: bid, size: 5 + Math.floor(random() * 20) });
      else if (choice < 0.35 && ask !== undefined) context.buy({ outcome, price: ask, dollars: 5, type: 'FAK' });
      else if (choice < 0.5 && ask !== undefined) context.sell({ outcome, price: ask, size: 5 });
      else if (choice < 0.6 && own !== undefined) context.cancel(own.id);
      else if (choice < 0.62) context.cancelAll();
    },
    onTrade: (context, trade) => write(context, 'trade', trade),
    onPrice: (context, price) => write(context, 'price', price),
    onFill: (context, fill) => write(context, 'fill', fill),
    onOrder: (context, order) => write(context, 'order', order),
    onEnd: (context) => write(context, 'end', null),
  };
}
