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

/** The fields of a market in the API's order, without `outcomes` (always up and down, before `clobTokenIds`). */
export const MARKET_FIELDS = [
  { name: 'conditionId', property: 'conditionId', kind: 'conditionId' },
  { name: 'marketId', property: 'marketId', kind: 'id' },
  { name: 'eventId', property: 'eventId', kind: 'id' },
  { name: 'slug', property: 'slug', kind: 'slug' },
  { name: 'symbol', property: 'symbol', kind: 'coin' },
  { name: 'timeframe', property: 'timeframe', kind: 'timeframe' },
  { name: 'clobTokenIds', property: 'clobTokenIds', kind: 'assets' },
  { name: 'active', property: 'active', kind: 'flag' },
  { name: 'closed', property: 'closed', kind: 'flag' },
  { name: 'winner', property: 'winner', kind: 'outcome' },
  { name: 'startTime', property: 'startMs', kind: 'instant' },
  { name: 'endTime', property: 'endMs', kind: 'instant' },
  { name: 'volume', property: 'volume', kind: 'figure' },
  { name: 'liquidity', property: 'liquidity', kind: 'figure' },
  { name: 'resolvedAt', property: 'resolvedMs', kind: 'instant' },
  { name: 'priceStart', property: 'priceStart', kind: 'figure' },
  { name: 'priceEnd', property: 'priceEnd', kind: 'figure' },
  { name: 'createdAt', property: 'createdMs', kind: 'instant' },
  { name: 'updatedAt', property: 'updatedMs', kind: 'instant' },
] as const satisfies readonly { name: keyof MarketResource; property: keyof Market; kind: MarketFieldKind }[];

export type MarketField = (typeof MARKET_FIELDS)[number];

/** The value of a field that recordings stated; undefined for defaults and for this archive's own times. */
export function statedOf(market: MarketAsOf, property: MarketField['property']) {
  switch (property) {
    case 'active':
    case 'closed':
    case 'volume':
    case 'liquidity':
      return market.stated[property];
    case 'marketId':
    case 'eventId':
      return market[property] === '0' ? undefined : market[property];
    case 'updatedMs':
      return market.statedUpdatedMs;
    default:
      return market[property];
  }
}
