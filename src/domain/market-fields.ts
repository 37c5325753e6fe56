import type { Market, MarketResource } from './market.ts';
import type { MarketAsOf } from './market-as-of.ts';

/** The kind of a field's value. An id is decimal digits, an instant Unix milliseconds (ISO 8601 on the wire). */
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
 * The fields of a market in the API's order: name in records, property of `Market`, kind. (`outcomes` is always up and down,
 * before `clobTokenIds`.)
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

/** The value of a field that recordings stated; undefined for defaults and for this archive's own times. */
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
