import type { MarketStatement } from '../domain/market-statement.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import { booleanField, conditionIdField, type Fields, isFields, optional } from '../record/fields.ts';
import { venueDetails } from './detail-fields.ts';
import { byOutcome, marketWindow, noMarket, timeField, tokensByLabel } from './metadata-fields.ts';
import { slugField, windowOfSlug } from './slug.ts';

/** Returns true if a value is a market of the venue's CLOB: `{condition_id, market_slug, tokens: [{token_id, outcome, winner}, …]}`. */
export function isClobMarket(value: unknown): value is Fields {
  if (!isFields(value)) return false;
  return 'condition_id' in value && 'market_slug' in value && Array.isArray(value.tokens);
}

/**
 * Parses a market of the CLOB (`/markets/{condition_id}`, and the elements of `/markets`). `end_date_iso` may be only the day, so it
 * is used only for the year of a slug that has none. Throws 'rejected-record'.
 */
export function clobMarket(market: Fields): MarketStatement {
  const slug = slugField(market, 'market_slug');
  const tokens = (Array.isArray(market.tokens) ? market.tokens : []).map((token) => (isFields(token) ? token : {}));
  const labels = tokens.map(({ outcome }) => outcome);
  if (byOutcome(labels, labels) === undefined) {
    throw noMarket(slug, `its outcomes are ${labels.slice(0, 3).map(String).join(' and ')}`.slice(0, 100));
  }
  const nearMs = timeField(market, 'end_date_iso');
  const { startMs, endMs } = windowOfSlug(slug, nearMs) ?? {};
  const ids = tokens.map(({ token_id }) => token_id);
  const winners = byOutcome(
    labels,
    tokens.map(({ winner }) => winner === true),
  )!;
  // Both win if the market was settled at 0.5.
  const winner = winners[0] === winners[1] ? undefined : OUTCOMES[winners.indexOf(true)];
  const closed = winner === undefined ? optional(market, 'closed', booleanField) : true;
  return {
    conditionId: conditionIdField(market, 'condition_id'),
    slug,
    ...marketWindow(slug, { startMs, endMs }, []),
    clobTokenIds: tokensByLabel(labels, ids, 'token_id'),
    closed,
    // The venue keeps markets active forever.
    active: closed === true ? false : optional(market, 'active', booleanField),
    winner,
    details: venueDetails(market),
  };
}
