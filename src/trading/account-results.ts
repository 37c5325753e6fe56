import type { InstantMs } from '../domain/instant.ts';
import type { AccountEvent } from '../paper/account-event.ts';
import type { PaperAccount } from '../paper/paper-account.ts';
import { type MarketResult, queueTotals, shownRules } from './backtest.ts';
import { strategyMarket } from './lockstep.ts';
import { MarketFeed } from './market-feed.ts';
import { MarketTally } from './market-tally.ts';
import type { PaperDesk } from './paper-desk.ts';

type MarketEvent = Exclude<AccountEvent, { readonly kind: 'deposit' }>;

/** The results of the markets in which accounts of a replay have orders, by the start of their windows; all accounts are added up. */
export function accountResults(desk: PaperDesk, accounts: readonly PaperAccount[], toMs: InstantMs): MarketResult[] {
  const { replay } = desk;
  const byMarket = new Map<number, MarketEvent[]>();
  for (const { events } of accounts) {
    for (const event of events) {
      if ('marketKey' in event) byMarket.getOrInsertComputed(event.marketKey, () => []).push(event);
    }
  }
  const results = [...byMarket].flatMap(([key, events]) => {
    // Each account's are in order already.
    events.sort((a, b) => a.atMs - b.atMs);
    return replay.archive.database.read(() => resultOf(desk, key, events, toMs)) ?? [];
  });
  return results.sort((a, b) => a.startMs - b.startMs);
}

function resultOf(
  desk: PaperDesk,
  key: number,
  events: readonly MarketEvent[],
  toMs: InstantMs,
): MarketResult | undefined {
  const { archive, ticks } = desk.replay;
  const market = desk.replay.marketByKey(key);
  // It was deleted meanwhile.
  if (market === undefined) return undefined;
  const feed = new MarketFeed(archive, ticks, market, events[0]!.atMs - 1);
  const tally = new MarketTally(market);
  tally.observe(feed.beginning);
  for (const event of events) {
    while (feed.nextMs <= event.atMs) tally.observe(feed.next());
    tally.apply(event);
  }
  while (feed.nextMs <= Math.min(toMs, market.endMs)) tally.observe(feed.next());
  const totals = tally.totals(toMs);
  const { queue } = desk.rules;
  const recorded = archive.markets.byKey(key)?.resolvedMs;
  return {
    ...strategyMarket(market),
    records: tally.records,
    trades: tally.trades,
    rules: shownRules(desk.rulesOf(market)),
    payout: market.winner === undefined ? 'unknown' : recorded === undefined ? 'assumed' : 'recorded',
    totals,
    queues: { [queue]: queueTotals(totals) },
  };
}
