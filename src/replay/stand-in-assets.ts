import { createHash } from 'node:crypto';
import type { InstantMs } from '../domain/instant.ts';
import type { Market } from '../domain/market.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Markets, StoredMarket } from '../store/markets.ts';
import { UNKNOWN_TOKEN } from '../venue/metadata-fields.ts';

/** Asset ids are random numbers below 2^256: one in 10^17 begins like this. */
export const STAND_IN_PREFIX = '10000000000000000';
/** The latest instant has 15 digits. */
const START_DIGITS = 15;
/** With the prefix and the start 77 digits, a number below 2^256. */
const HASH_DIGITS = 45;
const STAND_IN = new RegExp(`^${STAND_IN_PREFIX}(\\d{${START_DIGITS}})\\d{${HASH_DIGITS}}$`);

export function hasAssetIds({ clobTokenIds }: Pick<Market, 'clobTokenIds'>): boolean {
  return !clobTokenIds.includes(UNKNOWN_TOKEN);
}

/**
 * The market with an id for each outcome: one that no recording states is a stand-in. It has the prefix, the start of the
 * market's window in Unix milliseconds, and digits of the SHA-256 of conditionId and outcome, so that every recording of the
 * market gets the same one.
 */
export function withAssetIds(market: StoredMarket): StoredMarket {
  if (hasAssetIds(market)) return market;
  const [up, down] = market.clobTokenIds;
  const idOf = (known: string, outcome: Outcome) => (known === UNKNOWN_TOKEN ? standIn(market, outcome) : known);
  return { ...market, clobTokenIds: [idOf(up, 'up'), idOf(down, 'down')] };
}

/** The market of an asset, whose id may be a stand-in; with the ids of both outcomes. */
export function findByAsset(markets: Markets, assetId: string): StoredMarket | undefined {
  const recorded = markets.findByAsset(assetId);
  if (recorded !== undefined) return withAssetIds(recorded);
  const startMs = STAND_IN.exec(assetId)?.[1];
  return startMs === undefined ? undefined : findByStandIn(markets, assetId, Number(startMs));
}

function findByStandIn(markets: Markets, assetId: string, startMs: InstantMs): StoredMarket | undefined {
  for (const coin of markets.coins()) {
    let market = markets.after(coin, { startMs, conditionId: '' });
    for (; market?.startMs === startMs; market = markets.after(coin, market)) {
      const found = withAssetIds(market);
      if (found.clobTokenIds.includes(assetId)) return found;
    }
  }
  return undefined;
}

function standIn({ conditionId, startMs }: StoredMarket, outcome: Outcome): string {
  const digest = createHash('sha256').update(`${conditionId} ${outcome}`).digest('hex');
  const digits = (BigInt(`0x${digest}`) % 10n ** BigInt(HASH_DIGITS)).toString();
  return `${STAND_IN_PREFIX}${String(startMs).padStart(START_DIGITS, '0')}${digits.padStart(HASH_DIGITS, '0')}`;
}
