import type { InstantMs } from '../../domain/instant.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { StoredMarket } from '../../store/markets.ts';

/** What the venue calls the outcomes, in the order of the assets. */
export const VENUE_OUTCOMES: Readonly<Record<Outcome, string>> = { up: 'Up', down: 'Down' };

/**
 * The `new_market` message (docs.polymarket.com, market channel), without what recordings do not keep: question, description,
 * fees. Names of the same thing are as many as the venue has.
 */
export function listedFrame(market: StoredMarket, timestampMs: InstantMs): string {
  const assetIds = [...market.clobTokenIds];
  return JSON.stringify({
    id: market.marketId,
    market: market.conditionId,
    condition_id: market.conditionId,
    slug: market.slug,
    assets_ids: assetIds,
    clob_token_ids: assetIds,
    outcomes: [VENUE_OUTCOMES.up, VENUE_OUTCOMES.down],
    event_message: { id: market.eventId, ticker: market.slug, slug: market.slug },
    active: true,
    timestamp: String(timestampMs),
    event_type: 'new_market',
  });
}

/** The `market_resolved` message of a market whose winner is known. */
export function resolvedFrame(market: StoredMarket, timestampMs: InstantMs): string {
  const [up, down] = market.clobTokenIds;
  const winner = market.winner!;
  return JSON.stringify({
    id: market.marketId,
    market: market.conditionId,
    assets_ids: [up, down],
    winning_asset_id: winner === 'up' ? up : down,
    winning_outcome: VENUE_OUTCOMES[winner],
    timestamp: String(timestampMs),
    event_type: 'market_resolved',
  });
}
