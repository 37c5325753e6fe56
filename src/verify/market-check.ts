import { isCoin } from '../domain/coin.ts';
import type { Gap } from '../domain/gap.ts';
import { type InstantMs, isInstant } from '../domain/instant.ts';
import type { Market } from '../domain/market.ts';
import { MARKET_FIELDS, type MarketField } from '../domain/market-fields.ts';
import { TIMEFRAMES } from '../domain/timeframe.ts';

/** A market that is not closed this long after its window is counted as never closed. */
const CLOSED_WITHIN_MS = 86_400_000;

const CONDITION_ID = /^0x[0-9a-f]{1,64}$/;
const NUMERIC = /^(?:0|[1-9][0-9]{0,99})$/;

/** For each kind of field, returns true if a value is possible in it. Optional fields may also be undefined. */
const IS_POSSIBLE: Readonly<Record<MarketField['kind'], (value: unknown) => boolean>> = {
  conditionId: (value) => typeof value === 'string' && CONDITION_ID.test(value),
  id: isNumeric,
  slug: (value) => typeof value === 'string' && value !== '',
  coin: (value) => typeof value === 'string' && isCoin(value),
  timeframe: (value) => TIMEFRAMES.some((timeframe) => timeframe === value),
  assets: (value) => Array.isArray(value) && value.every(isNumeric),
  instant: (value) => value === undefined || (typeof value === 'number' && isInstant(value)),
  figure: (value) => value === undefined || Number.isFinite(value),
  // The column types and constraints allow no other values.
  flag: () => true,
  outcome: () => true,
};

/** The names of the fields of a stored market whose values are impossible: no import would have accepted them. */
export function impossibleFields(market: Market): string[] {
  const isPossible = ({ property, kind }: MarketField) =>
    IS_POSSIBLE[kind](market[property]) && (property !== 'endMs' || market.endMs > market.startMs);
  return MARKET_FIELDS.filter((field) => !isPossible(field)).map(({ name }) => name);
}

/** Returns true if a stored gap has possible times and does not end before it begins. */
export function isPossibleGap({ fromMs, toMs }: Gap): boolean {
  return isInstant(fromMs) && isInstant(toMs) && fromMs <= toMs;
}

/** Returns true if a market's window ended more than a day ago, and no recording states that it closed or has a winner. */
export function isNeverClosed({ closed, winner, endMs }: Market, nowMs: InstantMs): boolean {
  return !closed && winner === undefined && nowMs - endMs > CLOSED_WITHIN_MS;
}

function isNumeric(value: unknown): boolean {
  return typeof value === 'string' && NUMERIC.test(value);
}
