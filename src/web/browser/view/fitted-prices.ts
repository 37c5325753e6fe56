import type { HeatMap } from '../../../domain/heat-map.ts';
import { clamped, PRICE_LIMITS, type Span } from './span.ts';

/** A fitted range ends at a multiple of a twentieth; the prices nearest to its ends are this part of a twentieth away. */
const [STEPS, ROOM] = [20, 0.4];
const SHORTEST = 0.1;
/** Nobody trades in a book whose best prices are this far apart. */
const GHOST_SPREAD = 0.9;

/** The range of prices in which the best prices and the trades of heat maps are, and `more` prices, with some room; all prices without any. */
export function fittedPrices(heatMaps: readonly HeatMap[], more: readonly number[]): Span {
  const columns = heatMaps.flatMap((heatMap) => heatMap.columns);
  const prices = columns.flatMap(({ book: { bidPrice, askPrice } = {}, traded }) => [
    ...(askPrice! - bidPrice! > GHOST_SPREAD ? [] : [bidPrice, askPrice]),
    ...[traded?.lowPrice, traded?.highPrice],
  ]);
  const known = [...prices, ...more].filter((price) => price !== undefined);
  if (known.length === 0) return PRICE_LIMITS;
  const from = Math.floor(Math.min(...known) * STEPS - ROOM) / STEPS;
  const to = Math.ceil(Math.max(...known) * STEPS + ROOM) / STEPS;
  return clamped({ from: Math.max(0, from), to: Math.min(1, to) }, { ...PRICE_LIMITS, shortest: SHORTEST });
}
