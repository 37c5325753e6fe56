import type { PaperAccount } from '../../src/paper/paper-account.ts';
import { balancesOf } from './oracle.ts';

/** Everything that is wrong with an account at the moment after an event; nothing here knows how orders are matched. */
export function problemsNow(account: PaperAccount): string[] {
  const holdings = [...account.holdings.values()].flatMap(({ up, down }) => [up, down]);
  const deposited = account.events.reduce((sum, event) => sum + (event.kind === 'deposit' ? event.dollars : 0), 0);
  const cost = holdings.reduce((sum, holding) => sum + holding.cost, 0);
  const problems: string[] = [];
  if (account.cash + cost !== deposited + account.realised)
    problems.push('cash + shares at cost is not deposits + realised');
  if (holdings.some(({ shares, reserved }) => shares < reserved || reserved < 0))
    problems.push('shares are reserved that are not there');
  if (holdings.some(({ shares, cost: paid }) => paid < 0 || (shares === 0 && paid !== 0)))
    problems.push('shares that are not there cost something');
  if (account.reserved < 0) problems.push('less than nothing is reserved');
  return problems;
}

/** Everything that is wrong with the whole history of an account. */
export function problemsAfter({ events, orders }: PaperAccount): string[] {
  const problems: string[] = [];
  const filled = new Map<string, number>();
  const traded = new Map<number, number>();
  for (const [nth, event] of events.entries()) {
    if (event.kind === 'live' && event.queue < 0) problems.push(`event ${nth}: a queue below 0`);
    if (event.kind !== 'fill') continue;
    const { order, fill } = event;
    const { evidence, shares, price } = fill;
    const worse = order.side === 'buy' ? price > order.price : price < order.price;
    if (worse || (fill.role === 'maker' && price !== order.price))
      problems.push(`event ${nth}: a price beyond the limit`);
    if (shares <= 0) problems.push(`event ${nth}: nothing filled`);
    if (evidence.atMs > event.atMs) problems.push(`event ${nth}: evidence of the future`);
    filled.set(order.id, (filled.get(order.id) ?? 0) + shares);
    if (evidence.kind === 'book') {
      if (evidence.taken < 0 || shares + evidence.taken > evidence.shares)
        problems.push(`event ${nth}: more than the level`);
      continue;
    }
    traded.set(evidence.id, (traded.get(evidence.id) ?? 0) + shares);
    if (evidence.queue < 0 || evidence.queue + shares > evidence.shares)
      problems.push(`event ${nth}: more than the trade beyond the queue`);
    if (traded.get(evidence.id)! > evidence.shares) problems.push(`event ${nth}: more than the trade`);
  }
  for (const [id, { filled: shares, state }] of orders) {
    if (shares !== (filled.get(id) ?? 0)) problems.push(`order ${id}: ${shares} filled, but not by its fills`);
    if (['sent', 'delayed', 'live'].includes(state)) problems.push(`order ${id} is open`);
  }
  const { up, down } = balancesOf(events);
  if (up < 0 || down < 0) problems.push('shares were sold that were not held');
  return problems;
}
