import { isCoin } from '../../domain/coin.ts';
import { type InstantMs, isInstant } from '../../domain/instant.ts';
import type { Market } from '../../domain/market.ts';
import { TIMEFRAMES } from '../../domain/timeframe.ts';
import type { Gap } from '../../store/gaps.ts';

/** How long after its window a market may take to be closed before it is remarked on. */
const CLOSED_WITHIN_MS = 86_400_000;

const CONDITION_ID = /^0x[0-9a-f]{1,64}$/;
const NUMERIC = /^(?:0|[1-9][0-9]{0,99})$/;

/** What each field of a stored market may be: no recording that was imported said otherwise. */
const RULES: readonly (readonly [name: string, holds: (market: Market) => boolean])[] = [
  ['conditionId', ({ conditionId }) => isText(conditionId) && CONDITION_ID.test(conditionId)],
  ['slug', ({ slug }) => isText(slug) && slug !== ''],
  ['symbol', ({ symbol }) => isText(symbol) && isCoin(symbol)],
  ['timeframe', ({ timeframe }) => TIMEFRAMES.includes(timeframe)],
  ['marketId', ({ marketId }) => isText(marketId) && NUMERIC.test(marketId)],
  ['eventId', ({ eventId }) => isText(eventId) && NUMERIC.test(eventId)],
  ['clobTokenIds', ({ clobTokenIds }) => clobTokenIds.every((id) => isText(id) && NUMERIC.test(id))],
  ['startTime', ({ startMs }) => isInstant(startMs)],
  ['endTime', ({ startMs, endMs }) => isInstant(endMs) && endMs > startMs],
  ['volume', ({ volume }) => Number.isFinite(volume)],
  ['liquidity', ({ liquidity }) => Number.isFinite(liquidity)],
  ['resolvedAt', ({ resolvedMs }) => resolvedMs === undefined || isInstant(resolvedMs)],
  ['priceStart', ({ priceStart }) => priceStart === undefined || Number.isFinite(priceStart)],
  ['priceEnd', ({ priceEnd }) => priceEnd === undefined || Number.isFinite(priceEnd)],
  ['createdAt', ({ createdMs }) => isInstant(createdMs)],
  ['updatedAt', ({ updatedMs }) => isInstant(updatedMs)],
];

/** Names the fields of a stored market that hold what no market has. */
export function impossibleFields(market: Market): string[] {
  return RULES.flatMap(([name, holds]) => (holds(market) ? [] : [name]));
}

/** Whether a stored gap is one: it begins no later than it ends. */
export function isPossibleGap({ fromMs, toMs }: Gap): boolean {
  return isInstant(fromMs) && isInstant(toMs) && fromMs <= toMs;
}

/** Whether a market's window ended more than a day ago, and no recording says that it was closed or who won. */
export function isNeverClosed({ closed, winner, endMs }: Market, nowMs: InstantMs): boolean {
  return !closed && winner === undefined && nowMs - endMs > CLOSED_WITHIN_MS;
}

/** A row of a damaged page may hold anything. */
function isText(value: unknown): value is string {
  return typeof value === 'string';
}
