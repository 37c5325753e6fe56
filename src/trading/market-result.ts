import type { Market } from '../client/strategy.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Micros } from '../paper/micros.ts';
import type { QueueAssumption } from '../paper/paper-market.ts';
import type { FilledHistory } from './event-resource.ts';
import { strategyMarket } from './lockstep.ts';
import type { MarketTotals } from './market-tally.ts';
import type { PaperDesk } from './paper-desk.ts';
import type { SourcedRules } from './paper-rules.ts';
import type { TradedMarket } from './traded-market.ts';

/** A market of a backtest. */
export interface MarketResult extends Market {
  readonly records: number;
  /** Those with size and side: without any, all assumptions about queues give the same fills. */
  readonly trades: number;
  readonly rules: Omit<SourcedRules, 'queue' | 'latencyMs'>;
  readonly payout: TradedMarket['payout'];
  readonly totals: MarketTotals;
  /** The same for each compared assumption, without its lists. */
  readonly queues: Readonly<Partial<Record<QueueAssumption, QueueTotals>>>;
  readonly history?: FilledHistory | undefined;
}

export interface QueueTotals {
  readonly pnl: Micros;
  readonly fees: Micros;
  readonly fills: number;
  readonly shares: Micros;
}

/** The result of a market at an instant. */
export function marketResult({ market, rules, tally, payout }: TradedMarket, endMs: InstantMs): MarketResult {
  const { takerDelayMs, takerDelaySource, fees, feesSource, queue } = rules;
  const totals = tally.totals(endMs);
  return {
    ...strategyMarket(market),
    records: tally.records,
    trades: tally.trades,
    rules: { takerDelayMs, takerDelaySource, fees, feesSource },
    payout,
    totals,
    queues: { [queue]: queueTotals(totals) },
  };
}

export function queueTotals({ pnl, fees, fills, shares }: MarketTotals): QueueTotals {
  return { pnl, fees, fills: fills.length, shares };
}

/** The results of the markets in which accounts of a replay have orders, by the start of their windows; all accounts are added up. */
export function accountResults(desk: PaperDesk, toMs: InstantMs): MarketResult[] {
  const results = desk.markets().map((traded) => marketResult(traded, toMs));
  return results.sort((a, b) => a.startMs - b.startMs);
}
