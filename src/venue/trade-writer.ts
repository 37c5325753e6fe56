import { decimalText } from '../domain/decimal.ts';
import type { InstantMs } from '../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import type { TradeDetails } from '../domain/trade.ts';
import type { ListedMarket } from './market-status.ts';
import { VENUE_OUTCOMES } from './message-writer.ts';

/** A trade of a listed market; `timestampMs` is shifted as the market's times are. */
export interface ListedTrade {
  readonly market: ListedMarket;
  readonly outcome: Outcome;
  readonly timestampMs: InstantMs;
  readonly price: number;
  readonly trade?: TradeDetails | undefined;
}

/**
 * A trade as the venue's Data API returns it (docs.polymarket.com, Get trades for a user or markets). Who traded was not
 * recorded: wallet and profile are left out, and so is what the recording does not have.
 */
export function dataApiTrade({ market, outcome, timestampMs, price, trade }: ListedTrade): object {
  const index = OUTCOMES.indexOf(outcome);
  return {
    side: trade?.side?.toUpperCase(),
    asset: market.clobTokenIds[index],
    conditionId: market.conditionId,
    size: trade?.size,
    price,
    timestamp: Math.floor(timestampMs / 1000),
    title: market.title,
    slug: market.slug,
    icon: market.details.icon,
    eventSlug: market.slug,
    outcome: VENUE_OUTCOMES[outcome],
    outcomeIndex: index,
    transactionHash: trade?.transactionHash,
  };
}

/**
 * A trade as the CLOB's `/live-activity/events/{condition_id}` returns it (clob-client, MarketTradeEvent): `timestamp` in Unix
 * seconds. `user` is an object without fields, since who traded was not recorded.
 */
export function tradeEvent({ market, outcome, timestampMs, price, trade }: ListedTrade): object {
  const index = OUTCOMES.indexOf(outcome);
  const { size, side, feeRateBps, transactionHash } = trade ?? {};
  return {
    event_type: 'trade',
    market: {
      condition_id: market.conditionId,
      asset_id: market.clobTokenIds[index],
      question: market.question,
      icon: market.details.icon,
      slug: market.slug,
    },
    user: {},
    side: side?.toUpperCase(),
    size: size === undefined ? undefined : decimalText(size),
    fee_rate_bps: feeRateBps === undefined ? undefined : String(feeRateBps),
    price: decimalText(price),
    outcome: VENUE_OUTCOMES[outcome],
    outcome_index: index,
    transaction_hash: transactionHash,
    timestamp: String(Math.floor(timestampMs / 1000)),
  };
}
