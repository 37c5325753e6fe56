import type { Gap } from '../domain/gap.ts';
import { formatInstant } from '../domain/instant.ts';
import type { MarketAsOf } from '../domain/market-as-of.ts';
import type { MarketDetails } from '../domain/market-details.ts';
import { MARKET_FIELDS, statedOf } from '../domain/market-fields.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import type { PriceKind } from '../domain/price.ts';
import type { PriceRecord } from '../segment/price-segment.ts';
import type { QuoteRecord } from '../segment/quote-segment.ts';
import type { StoredMarket } from '../store/markets.ts';
import type { ValueLabels } from './writers/export-writer.ts';

/**
 * The fields of a record in bookreel's own format: `type`, then the API's names in the API's order, without the fields that
 * follow from the market (assetId, symbol, timeframe) or from other values (mid, spread). Undefined fields are not written.
 */
export type RecordFields = Readonly<
  Record<string, string | number | boolean | null | readonly string[] | MarketDetails | undefined>
>;

/** The fields that a recording stated, without defaults, and without the time of the import. Details come last. */
export function marketFields(market: MarketAsOf, details: MarketDetails): RecordFields {
  const fields: Record<string, RecordFields[string]> = { type: 'market' };
  for (const { name, property, kind } of MARKET_FIELDS) {
    const value = statedOf(market, property);
    if (kind === 'assets') fields.outcomes = OUTCOMES;
    fields[name] = kind === 'instant' && typeof value === 'number' ? formatInstant(value) : value;
  }
  if (Object.keys(details).length > 0) fields.details = details;
  return fields;
}

export function gapFields({ conditionId }: StoredMarket, { fromMs, toMs, reason }: Gap): RecordFields {
  return { type: 'gap', conditionId, from: formatInstant(fromMs), to: formatInstant(toMs), reason };
}

/** A function that returns the fields of a quote or price of one series. */
export function valueFieldsOf(labels: ValueLabels): (record: QuoteRecord | PriceRecord) => RecordFields {
  const { type, kind, ...rest }: ValueLabels & { readonly kind?: PriceKind } = labels;
  return (record) => {
    const { id, timestampMs, receivedMs } = record;
    const receivedAt = receivedMs === undefined ? undefined : formatInstant(receivedMs);
    const fields = { type, id: String(id), ...rest, timestamp: formatInstant(timestampMs), receivedAt };
    if (!('quote' in record)) return { ...fields, price: record.price, kind, ...record.trade };
    const { bidPrice = null, bidSize = null, askPrice = null, askSize = null } = record.quote;
    return { ...fields, bidPrice, bidSize, askPrice, askSize };
  };
}
