import type { Market, MarketResource } from './market.ts';
import type { MarketAsOf } from './market-as-of.ts';

/** What a field of a market holds. An id is decimal digits, an instant Unix milliseconds (ISO 8601 on the wire). */
type MarketFieldKind =
  | 'conditionId'
  | 'id'
  | 'slug'
  | 'coin'
  | 'timeframe'
  | 'assets'
  | 'flag'
  | 'outcome'
  | 'instant'
  | 'figure';

/**
 * The fields that are known of a market, in the API's order: their names in records, where a market holds them, and what they
 * are. (`outcomes` is always up and down, before `clobTokenIds`.)
 */
export const MARKET_FIELDS = [
  { name: 'conditionId', held: 'conditionId', kind: 'conditionId' },
  { name: 'marketId', held: 'marketId', kind: 'id' },
  { name: 'eventId', held: 'eventId', kind: 'id' },
  { name: 'slug', held: 'slug', kind: 'slug' },
  { name: 'symbol', held: 'symbol', kind: 'coin' },
  { name: 'timeframe', held: 'timeframe', kind: 'timeframe' },
  { name: 'clobTokenIds', held: 'clobTokenIds', kind: 'assets' },
  { name: 'active', held: 'active', kind: 'flag' },
  { name: 'closed', held: 'closed', kind: 'flag' },
  { name: 'winner', held: 'winner', kind: 'outcome' },
  { name: 'startTime', held: 'startMs', kind: 'instant' },
  { name: 'endTime', held: 'endMs', kind: 'instant' },
  { name: 'volume', held: 'volume', kind: 'figure' },
  { name: 'liquidity', held: 'liquidity', kind: 'figure' },
  { name: 'resolvedAt', held: 'resolvedMs', kind: 'instant' },
  { name: 'priceStart', held: 'priceStart', kind: 'figure' },
  { name: 'priceEnd', held: 'priceEnd', kind: 'figure' },
  { name: 'createdAt', held: 'createdMs', kind: 'instant' },
  { name: 'updatedAt', held: 'updatedMs', kind: 'instant' },
] as const satisfies readonly { name: keyof MarketResource; held: keyof Market; kind: MarketFieldKind }[];

export type MarketField = (typeof MARKET_FIELDS)[number];

/** What recordings stated of a field: defaults, and when this archive heard of the market, are no part of it. */
export function statedOf(market: MarketAsOf, held: MarketField['held']) {
  switch (held) {
    case 'active':
    case 'closed':
    case 'volume':
    case 'liquidity':
      return market.stated[held];
    case 'marketId':
    case 'eventId':
      return market[held] === '0' ? undefined : market[held];
    case 'updatedMs':
      return market.statedUpdatedMs;
    default:
      return market[held];
  }
}
