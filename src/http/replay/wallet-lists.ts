import { OUTCOMES, type Outcome, otherOutcome } from '../../domain/outcome.ts';
import { MICROS, type Micros, microsText } from '../../paper/micros.ts';
import { VenueQuotes } from '../../replay/clob/venue-quotes.ts';
import { listedMarket } from '../../replay/listed-market.ts';
import type { VenueAccount } from '../../trading/venue-account.ts';
import { VENUE_OUTCOMES } from '../../venue/message-writer.ts';
import { venueDay } from '../../venue/time.ts';
import { dataApiTrade } from '../../venue/trade-writer.ts';
import type { VenueQuestion } from './venue-answer.ts';

/** An action of an account: a trade, a payout or a merge. */
interface Activity {
  readonly type: 'TRADE' | 'REDEEM' | 'MERGE';
  readonly conditionId: string;
  /** Moved as the replay's times are. */
  readonly timestampMs: number;
  /** Undefined but for a trade. */
  readonly side: 'buy' | 'sell' | undefined;
  /** As the Data API's `/activity` returns it (docs.polymarket.com, Get user activity); made for those of a page only. */
  readonly shown: () => object;
}

interface Position {
  readonly conditionId: string;
  readonly size: number;
  readonly value: number;
  /** As `/positions` returns it, without what was bought and realised before. */
  readonly shown: () => object;
}

/** The venue's index where there is no single outcome. */
const NO_OUTCOME = 999;

/** The latest first. Shares that are paid by themselves at the resolution are a REDEEM. */
export function activityOf({ replay, nowMs }: VenueQuestion, account: VenueAccount, proxyWallet: string): Activity[] {
  const markets = new Map<number, ReturnType<typeof listedMarket>>();
  const marketOf = (key: number) => {
    const stored = markets.has(key) ? undefined : account.market(key);
    if (stored !== undefined) markets.set(key, listedMarket(replay, stored, nowMs));
    return markets.get(key);
  };
  return account.account.events.toReversed().flatMap((event): Activity[] => {
    if (event.kind !== 'fill' && event.kind !== 'settled' && event.kind !== 'merged') return [];
    const market = marketOf(event.marketKey);
    if (market === undefined) return [];
    const timestampMs = event.atMs + replay.shiftMs;
    const of = { conditionId: market.conditionId, timestampMs };
    if (event.kind === 'fill') {
      const { fill, order } = event;
      const { outcome, side } = order;
      const shown = () => {
        const transactionHash = account.trade(event)?.transactionHash;
        const trade = { size: numberOf(fill.shares), side, feeRateBps: undefined, transactionHash };
        const row = dataApiTrade({ market, outcome, timestampMs, price: fill.price, trade });
        return { proxyWallet, type: 'TRADE', usdcSize: numberOf(fill.cost), ...row };
      };
      return [{ ...of, type: 'TRADE', side, shown }];
    }
    const { title, slug, details } = market;
    const { up, down } = event.shares;
    const [type, shares] = event.kind === 'merged' ? (['MERGE', up] as const) : (['REDEEM', up + down] as const);
    const shown = () => ({
      ...{ proxyWallet, type, timestamp: Math.floor(timestampMs / 1000), conditionId: market.conditionId },
      ...{ size: numberOf(shares), usdcSize: numberOf(event.dollars), price: 0, asset: '', side: '', outcome: '' },
      ...{ outcomeIndex: NO_OUTCOME, title, slug, icon: details.icon, eventSlug: slug },
      transactionHash: account.transactionHash(`${type} ${event.marketKey} ${event.atMs}`),
    });
    return [{ ...of, type, side: undefined, shown }];
  });
}

/** The most shares first. A share is worth its midpoint; averages and percentages have 6 decimals. */
export function positionsOf({ replay, nowMs }: VenueQuestion, account: VenueAccount, proxyWallet: string): Position[] {
  const quotes = new VenueQuotes(replay, nowMs);
  const positions = [...account.account.holdings].flatMap(([key, holdings]) => {
    const stored = account.market(key);
    if (stored === undefined) return [];
    const market = listedMarket(replay, stored, nowMs);
    const { conditionId, title, slug, winner, details } = market;
    const assetOf = (outcome: Outcome) => market.clobTokenIds[OUTCOMES.indexOf(outcome)]!;
    return OUTCOMES.filter((outcome) => holdings[outcome].shares > 0).map((outcome): Position => {
      const { shares, cost } = holdings[outcome];
      const other = otherOutcome(outcome);
      const curPrice = Number(quotes.midpoint(assetOf(outcome)) ?? (winner === outcome ? 1 : 0));
      const size = numberOf(shares);
      const [initialValue, value] = [numberOf(cost), rounded(size * curPrice)];
      const cashPnl = rounded(value - initialValue);
      const shown = {
        ...{ proxyWallet, asset: assetOf(outcome), conditionId, size, avgPrice: rounded(cost / shares) },
        ...{
          initialValue,
          currentValue: value,
          cashPnl,
          percentPnl: rounded((100 * cashPnl) / initialValue),
          curPrice,
        },
        ...{ redeemable: winner !== undefined, mergeable: holdings[other].shares > 0, title, slug, icon: details.icon },
        ...{ eventSlug: slug, outcome: VENUE_OUTCOMES[outcome], outcomeIndex: OUTCOMES.indexOf(outcome) },
        ...{ oppositeOutcome: VENUE_OUTCOMES[other], oppositeAsset: assetOf(other), endDate: venueDay(market.endMs) },
        negativeRisk: false,
      };
      return { conditionId, size, value, shown: () => shown };
    });
  });
  return positions.sort((a, b) => b.size - a.size);
}

function numberOf(micros: Micros): number {
  return Number(microsText(micros));
}

function rounded(value: number): number {
  return Math.round(value * MICROS) / MICROS;
}
