import { isCoin } from '../domain/coin.ts';
import type { Gap } from '../domain/gap.ts';
import { type InstantMs, isInstant } from '../domain/instant.ts';
import type { Market } from '../domain/market.ts';
import { MARKET_FIELDS, type MarketField } from '../domain/market-fields.ts';
import { TIMEFRAMES } from '../domain/timeframe.ts';

/** How long after its window a market may take to be closed before it is remarked on. */
const CLOSED_WITHIN_MS = 86_400_000;

const CONDITION_ID = /^0x[0-9a-f]{1,64}$/;
const NUMERIC = /^(?:0|[1-9][0-9]{0,99})$/;

/** What a field of each kind may hold; what a market need not have may be undefined. */
const HOLDS: Readonly<Record<MarketField['kind'], (value: unknown) => boolean>> = {
  conditionId: (value) => isText(value) && CONDITION_ID.test(value),
  id: isNumeric,
  slug: (value) => isText(value) && value !== '',
  coin: (value) => isText(value) && isCoin(value),
  timeframe: (value) => TIMEFRAMES.some((timeframe) => timeframe === value),
  assets: (value) => Array.isArray(value) && value.every(isNumeric),
  instant: (value) => value === undefined || (typeof value === 'number' && isInstant(value)),
  figure: (value) => value === undefined || Number.isFinite(value),
  // The table has no others.
  flag: () => true,
  outcome: () => true,
};

/** Names the fields of a stored market that hold what no market has: no recording that was imported said so. */
export function impossibleFields(market: Market): string[] {
  const isPossible = ({ held, kind }: MarketField) =>
    HOLDS[kind](market[held]) && (held !== 'endMs' || market.endMs > market.startMs);
  return MARKET_FIELDS.filter((field) => !isPossible(field)).map(({ name }) => name);
}

/** Whether a stored gap is one: it begins no later than it ends. */
export function isPossibleGap({ fromMs, toMs }: Gap): boolean {
  return isInstant(fromMs) && isInstant(toMs) && fromMs <= toMs;
}

/** Whether a market's window ended more than a day ago, and no recording says that it was closed or who won. */
export function isNeverClosed({ closed, winner, endMs }: Market, nowMs: InstantMs): boolean {
  return !closed && winner === undefined && nowMs - endMs > CLOSED_WITHIN_MS;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isNumeric(value: unknown): boolean {
  return isText(value) && NUMERIC.test(value);
}
