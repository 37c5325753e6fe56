import type { Gap } from '../domain/gap.ts';
import { formatInstant } from '../domain/instant.ts';
import type { MarketAsOf } from '../domain/market-as-of.ts';
import { MARKET_FIELDS, statedOf } from '../domain/market-fields.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import type { Position } from '../domain/page.ts';
import type { PriceKind } from '../domain/price.ts';
import type { PriceRecord } from '../segment/price-segment.ts';
import type { QuoteRecord } from '../segment/quote-segment.ts';
import type { StoredMarket } from '../store/markets.ts';

/**
 * Records as the own format says them: the API's names in the API's order behind `type`, without what follows from the
 * market (assetId, symbol, timeframe) or from the values (mid, spread). Fields that are undefined are left out.
 */
export type RecordFields = Readonly<Record<string, string | number | boolean | null | readonly string[] | undefined>>;

/** Of a market only what was stated: defaults, and when this archive heard of it, are no part of the recording. */
export function marketFields(market: MarketAsOf): RecordFields {
  const fields: Record<string, RecordFields[string]> = { type: 'market' };
  for (const { name, held, kind } of MARKET_FIELDS) {
    const value = statedOf(market, held);
    if (kind === 'assets') fields.outcomes = OUTCOMES;
    fields[name] = kind === 'instant' && typeof value === 'number' ? formatInstant(value) : value;
  }
  return fields;
}

export function gapFields({ conditionId }: StoredMarket, { fromMs, toMs, reason }: Gap): RecordFields {
  return { type: 'gap', conditionId, from: formatInstant(fromMs), to: formatInstant(toMs), reason };
}

export function quoteFields(market: StoredMarket, outcome: Outcome, record: QuoteRecord): RecordFields {
  const { bidPrice = null, bidSize = null, askPrice = null, askSize = null } = record.quote;
  return { type: 'quote', ...outcomeFields(market, outcome, record), bidPrice, bidSize, askPrice, askSize };
}

export function priceFields(
  market: StoredMarket,
  outcome: Outcome,
  kind: PriceKind,
  record: PriceRecord,
): RecordFields {
  return { type: 'price', ...outcomeFields(market, outcome, record), price: record.price, kind, ...record.trade };
}

export function coinPriceFields(symbol: string, source: string, { id, timestampMs, price }: PriceRecord): RecordFields {
  return { type: 'coinPrice', id: String(id), symbol, source, timestamp: formatInstant(timestampMs), price };
}

function outcomeFields({ conditionId }: StoredMarket, outcome: Outcome, { id, timestampMs }: Position) {
  return { id: String(id), conditionId, outcome, timestamp: formatInstant(timestampMs) };
}
