import { countText } from '../domain/count-text.ts';
import { lengthText } from '../domain/duration.ts';
import { formatInstant, type InstantMs } from '../domain/instant.ts';
import type { Evidence } from '../paper/account-event.ts';
import type { Micros } from '../paper/micros.ts';
import type { QueueAssumption } from '../paper/paper-market.ts';
import type { FilledHistory } from './event-resource.ts';
import type { MarketResult, QueueTotals } from './market-result.ts';
import { decimalOf, type TalliedFill } from './market-tally.ts';
import type { PaperRules } from './paper-rules.ts';

/** The settings of the run, as the report shows them. */
export interface Reported {
  /** The strategy's file, or the program with its arguments. */
  readonly name: string;
  readonly rules: PaperRules;
  readonly queues: readonly QueueAssumption[];
  /** True if all markets share one account's cash; false: each has its own. */
  readonly isOneAccount: boolean;
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
}

/** The result of a backtest. Dollars and shares are decimals of at most 6 places, instants as in the API. The same input gives the same report. */
export type Report = ReturnType<typeof reportOf>;
export type ReportedMarket = Report['markets'][number];

/** Maximum number of points of the chart: about the width of a screen. */
const EQUITY_POINTS = 1000;

/** `accounts`: for 'paper explain'. */
export function reportOf(
  reported: Reported,
  results: readonly MarketResult[],
  accounts: readonly FilledHistory[] = [],
) {
  const { name, rules, queues, isOneAccount, fromMs, toMs } = reported;
  const totals = results.map((result) => result.totals);
  const fills = totals.flatMap((each) => each.fills);
  const sum = (of: (each: (typeof totals)[number]) => number) => totals.reduce((all, each) => all + of(each), 0);
  const traded = results.filter((result) => result.totals.fills.length > 0);
  const { equity, drawdown, spent } = equityOf(results);
  const orders = sum((each) => each.orders);
  const filled = sum((each) => each.filled);
  return {
    name,
    from: formatInstant(fromMs),
    to: formatInstant(toMs),
    settings: {
      cash: decimalOf(rules.cash),
      cashIsFor: isOneAccount ? 'all markets together' : 'each market',
      latencyMs: rules.latencyMs,
      takerDelayMs: rules.takerDelayMs,
      fees: rules.fees,
      queue: queues[0]!,
    },
    summary: {
      profit: decimalOf(sum((each) => each.pnl)),
      fees: decimalOf(sum((each) => each.fees)),
      markets: results.length,
      marketsWon: traded.filter((result) => result.totals.pnl > 0).length,
      marketsLost: traded.filter((result) => result.totals.pnl < 0).length,
      marketsWithFills: traded.length,
      records: results.reduce((all, { records }) => all + records, 0),
      orders,
      refused: sum((each) => each.refused),
      filled,
      /** Orders with a fill, of all that were not refused. */
      fillRate: rate(filled, orders - sum((each) => each.refused)),
      fills: fills.length,
      shares: decimalOf(sum((each) => each.shares)),
      dollars: decimalOf(fills.reduce((all, { cost }) => all + cost, 0)),
      maker: roleOf(fills, 'maker'),
      taker: roleOf(fills, 'taker'),
      maxDrawdown: decimalOf(drawdown),
      maxSpent: decimalOf(spent),
    },
    refusals: refusalsOf(results),
    queues: queues.map((queue) => ({ queue, ...queueRow(results.flatMap((result) => result.queues[queue] ?? [])) })),
    assumptions: assumptionsOf(reported, results, fills),
    markets: results.map(({ slug, conditionId, coin, timeframe, payout, records, totals: each }) => ({
      ...{ slug, conditionId, coin, timeframe, payout, records },
      profit: decimalOf(each.pnl),
      fees: decimalOf(each.fees),
      orders: each.orders,
      refused: each.refused,
      fills: each.fills.length,
      shares: decimalOf(each.shares),
    })),
    fills: results.flatMap(({ slug, totals: each }) => each.fills.map((fill) => fillRow(slug, fill))),
    equity,
    accounts,
  };
}

function rate(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 1e4) / 1e4;
}

/** `slippage`: dollars that fills were worse than the midpoint, below 0 better; fills without a midpoint are left out. */
function roleOf(fills: readonly TalliedFill[], role: TalliedFill['role']) {
  const own = fills.filter((fill) => fill.role === role);
  const slippage = own.reduce((all, { side, price, shares, mid = price }) => {
    return all + Math.round((side === 'buy' ? price - mid : mid - price) * shares);
  }, 0);
  const shares = own.reduce((all, fill) => all + fill.shares, 0);
  return { fills: own.length, shares: decimalOf(shares), slippage: decimalOf(slippage) };
}

function queueRow(totals: readonly QueueTotals[]) {
  const sum = (field: keyof QueueTotals) => totals.reduce((all, each) => all + each[field], 0);
  return {
    profit: decimalOf(sum('pnl')),
    fees: decimalOf(sum('fees')),
    fills: sum('fills'),
    shares: decimalOf(sum('shares')),
  };
}

const REFUSALS: Readonly<Record<string, string>> = {
  tick: 'the price was no multiple of the tick size',
  minimum: 'less than 5 shares (GTC, GTD) or 1 dollar (a buy of type FOK or FAK)',
  funds: 'not enough free dollars or shares',
  'post-only': 'post-only, but it would have been filled at once',
  none: 'a FAK found nothing to match',
  short: 'a FOK did not find enough to match',
  ended: 'the market had ended',
  'not-ready': 'no book was known yet',
  expiration: 'a GTD must expire at least 60 s after its arrival',
  duplicate: 'the same order was sent twice',
};

function refusalsOf(results: readonly MarketResult[]) {
  const counts = new Map<string, number>();
  for (const { totals } of results)
    for (const [reason, count] of Object.entries(totals.refusals))
      counts.set(reason, (counts.get(reason) ?? 0) + count);
  return [...counts].sort().map(([reason, count]) => ({ reason, text: REFUSALS[reason] ?? reason, count }));
}

/** Profit and drawdown of all markets together, and the most dollars that were spent at once. */
function equityOf(results: readonly MarketResult[]) {
  const points = results.flatMap(({ totals }, index) => totals.points.map((point) => ({ index, point })));
  points.sort((a, b) => a.point[0] - b.point[0] || a.index - b.index);
  const latest = results.map(() => [0, 0] as readonly [pnl: Micros, spent: Micros]);
  const [firstMs = 0, lastMs = 0] = [points[0]?.point[0], points.at(-1)?.point[0]];
  const bucketMs = Math.max(1, (lastMs - firstMs) / EQUITY_POINTS);
  const equity: { at: string; profit: number; drawdown: number }[] = [];
  let [pnl, spentNow, peak, drawdown, spent] = [0, 0, 0, 0, 0];
  let [bucket, deepest] = [-1, 0];
  for (const { index, point } of points) {
    const [atMs, ownPnl, ownSpent] = point;
    pnl += ownPnl - latest[index]![0];
    spentNow += ownSpent - latest[index]![1];
    latest[index] = [ownPnl, ownSpent];
    peak = Math.max(peak, pnl);
    drawdown = Math.max(drawdown, peak - pnl);
    spent = Math.max(spent, spentNow);
    const own = Math.floor((atMs - firstMs) / bucketMs);
    // A point has the last profit of its part of the time, and the deepest drawdown.
    if (own === bucket) equity.pop();
    else [bucket, deepest] = [own, 0];
    deepest = Math.max(deepest, peak - pnl);
    equity.push({ at: formatInstant(atMs), profit: decimalOf(pnl), drawdown: decimalOf(deepest) });
  }
  return { equity, drawdown, spent };
}

function fillRow(market: string, fill: TalliedFill) {
  const { atMs, order, outcome, side, role, price, shares, cost, fee, mid = null, evidence } = fill;
  return {
    ...{ at: formatInstant(atMs), market, order, outcome, side, role, price },
    shares: decimalOf(shares),
    dollars: decimalOf(cost),
    fee: decimalOf(fee),
    mid,
    evidence: evidenceRow(evidence),
  };
}

/** The record that caused a fill: `before` is the queue ahead of the order, or what the account had taken of the level. */
function evidenceRow(evidence: Evidence) {
  const { kind, id, atMs, outcome, price, shares } = evidence;
  const before = evidence.kind === 'trade' ? evidence.queue : evidence.taken;
  return { kind, id, at: formatInstant(atMs), outcome, price, shares: decimalOf(shares), before: decimalOf(before) };
}

/** The assumptions of the result: everything that was not recorded, in sentences. */
function assumptionsOf(
  { rules, isOneAccount }: Reported,
  results: readonly MarketResult[],
  fills: readonly TalliedFill[],
): string[] {
  const cash = decimalOf(rules.cash);
  const withTrades = results.filter(({ trades }) => trades > 0).length;
  const byTrade = fills.filter(({ evidence }) => evidence.kind === 'trade').length;
  const counted = (of: (result: MarketResult) => string) => {
    const counts = new Map<string, number>();
    for (const result of results) counts.set(of(result), (counts.get(of(result)) ?? 0) + 1);
    return [...counts].map(([text, count]) => `${text} (${countText(count, 'market')})`).join('; ');
  };
  const payouts = (payout: MarketResult['payout']) => results.filter((result) => result.payout === payout).length;
  const unpaid = results.filter(({ totals }) => totals.isUnpaid).length;
  const restedMs = results.reduce((sum, { totals }) => sum + totals.restedInGapsMs, 0);
  const money = isOneAccount
    ? `All markets share the ${cash} dollars of an account.`
    : `Each market begins with ${cash} dollars of its own: markets do not share money.`;
  if (results.length === 0) return [money];
  return [
    money,
    withTrades === 0
      ? 'No recording has the sizes of trades: resting orders are filled only where the other side of the book crosses them, so the assumption about queues changes nothing.'
      : `${withTrades} of ${countText(results.length, 'recording')} ${withTrades === 1 ? 'has' : 'have'} the sizes of trades; in others resting orders are filled only where the other side of the book crosses them.`,
    `${byTrade} of ${countText(fills.length, 'fill')} ${byTrade === 1 ? 'rests' : 'rest'} on recorded trades, the others on recorded books. Own orders move nobody: no other trader reacts to them.`,
    `Fees: ${counted(({ rules: { fees, feesSource } }) => (fees.rate === 0 ? `none, ${feesSource}` : `rate ${fees.rate}, ${feesSource}`))}. Rebates and rewards of makers are left out.`,
    `Delay of orders that match at once: ${counted(({ rules: { takerDelayMs, takerDelaySource } }) => `${takerDelayMs} ms, ${takerDelaySource}`)}.`,
    ...(payouts('assumed') > 0
      ? [
          `Of ${countText(payouts('assumed'), 'market')} the winner is recorded without the time of its resolution: it is paid at the end.`,
        ]
      : []),
    ...(payouts('unknown') > 0 ? [`Of ${countText(payouts('unknown'), 'market')} no winner is recorded.`] : []),
    ...(unpaid > 0
      ? [`Shares of ${countText(unpaid, 'market')} were never paid: they count at the last midpoint.`]
      : []),
    ...(restedMs > 0
      ? [
          `Orders rested for ${lengthText(restedMs)} while nothing was recorded: nothing is filled then, which is too good or too bad.`,
        ]
      : []),
  ];
}
