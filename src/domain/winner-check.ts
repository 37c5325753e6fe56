import { formatInstant, type InstantMs } from './instant.ts';
import type { Market } from './market.ts';
import { type CoinTick, directionOf, SETTLED_BY_TICKS, SETTLEMENT_SOURCE } from './settlement.ts';

/** The last ticks at or before a market's start and end, and the first ones after them. */
export interface WindowTicks {
  readonly start: CoinTick | undefined;
  readonly end: CoinTick | undefined;
  readonly afterStart?: CoinTick | undefined;
  readonly afterEnd?: CoinTick | undefined;
}

/** The result of checking a market's winner against the coin's prices. */
export type TickVerdict =
  | 'agree'
  /** The prices mean the other outcome, and were published in the seconds that decide. */
  | 'contradict'
  /** The prices mean the other outcome, but are too old to be sure, or the next ones mean this outcome: the price may have changed. */
  | 'doubt'
  /** No check is possible: unresolved, decided by another price, or no tick near the start or the end. */
  | 'uncovered';

/** From 2026-08-07 on the venue settles by averages over the last seconds, which single ticks do not give. */
const AVERAGES_SINCE_MS = /* @__PURE__ */ Date.UTC(2026, 7, 7);
/** Maximum age of a tick that is used as the price at an instant. */
export const TICK_AGE_MAX_MS = 5000;
/** Maximum age of a tick that surely was the current price: there is a tick every second. */
const TICK_AGE_SURE_MS = 1000;

/** One sentence about a market whose own start and end price contradict its winner; undefined for every other. */
export function winnerContradiction(market: Market): string | undefined {
  const { slug, winner, priceStart, priceEnd } = market;
  if (winner === undefined || priceStart === undefined || priceEnd === undefined) return undefined;
  const direction = directionOf(priceStart, priceEnd);
  if (direction === winner) return undefined;
  return `market ${slug} is recorded as won by ${winner}, but its price went from ${priceStart} to ${priceEnd}, which is ${direction}`;
}

/** Checks the winner of a market against the ticks of the settlement source. */
export function judgeByTicks(market: Market, { start, end, afterStart, afterEnd }: WindowTicks): TickVerdict {
  const { winner, timeframe, startMs, endMs } = market;
  if (winner === undefined || !SETTLED_BY_TICKS.includes(timeframe) || endMs >= AVERAGES_SINCE_MS) return 'uncovered';
  if (start === undefined || end === undefined) return 'uncovered';
  const ageMs = Math.max(startMs - start.timestampMs, endMs - end.timestampMs);
  if (ageMs > TICK_AGE_MAX_MS) return 'uncovered';
  if (directionOf(start.price, end.price) === winner) return 'agree';
  const starts = possiblePrices(start, afterStart, startMs);
  const ends = possiblePrices(end, afterEnd, endMs);
  const mayAgree = starts.some((from) => ends.some((to) => directionOf(from, to) === winner));
  return ageMs <= TICK_AGE_SURE_MS && !mayAgree ? 'contradict' : 'doubt';
}

/** The possible prices at an instant: that of a tick at it; else those of the last tick and of a next one that follows soon. */
function possiblePrices(last: CoinTick, next: CoinTick | undefined, atMs: InstantMs): readonly number[] {
  const isSure = last.timestampMs === atMs || next === undefined || next.timestampMs - atMs > TICK_AGE_MAX_MS;
  return isSure ? [last.price] : [last.price, next.price];
}

/** One sentence about a market whose winner the ticks contradict. */
export function tickContradiction(market: Market, ticks: WindowTicks): string {
  return `market ${market.slug} is recorded as won by ${market.winner}, but ${ticksText(ticks)}`;
}

/** One sentence about a market whose winner the ticks make doubtful. */
export function tickDoubt(market: Market, ticks: WindowTicks): string {
  return `the winner of market ${market.slug}, ${market.winner}, cannot be judged: ${ticksText(ticks)}, and may have changed since`;
}

function ticksText({ start, end }: WindowTicks): string {
  const textOf = (tick: CoinTick | undefined) =>
    tick === undefined ? 'nothing' : `${tick.price} at ${formatInstant(tick.timestampMs)}`;
  return `${SETTLEMENT_SOURCE} says ${textOf(start)} and ${textOf(end)}`;
}
