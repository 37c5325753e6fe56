import type { Snapshot } from '../../../client/segment-reader.ts';
import type { CoverageResource } from '../../../domain/coverage.ts';
import type { MarketResource } from '../../../domain/market.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import { recordedText } from '../../../domain/recorded-time.ts';
import { priceText } from './price-text.ts';
import type { Span } from './span.ts';
import { countText } from './view-texts.ts';

type TitledMarket = Pick<MarketResource, 'symbol' | 'timeframe' | 'startTime' | 'endTime'>;

/** At most as many digits as the shortest text of a double has. */
const EXACT = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 21 });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** `BTC 5m, 8 Jan 2026, 10:30–10:35 UTC`; with the day of the end if it differs. */
export function marketTitle({ symbol, timeframe, startTime, endTime }: TitledMarket): string {
  const [startMs, endMs] = [startTime, endTime].map((time) => Date.parse(time)) as [number, number];
  const end = `${dateText(endMs, startMs)} ${endTime.slice(11, 16)}`.trim();
  return `${symbol.toUpperCase()} ${timeframe}, ${DAY.format(startMs)} ${startTime.slice(0, 4)}, ${startTime.slice(11, 16)}–${end} UTC`;
}

/** A recorded decimal with all its digits, in groups: `77,643.36752000001`. */
export function exactText(decimal: number): string {
  // The shortest text of a double is the recorded decimal; its value in binary has more digits.
  return EXACT.format(`${decimal}`);
}

/** The side of the strike that a price is on, and how far from it, with the places of the strike: `3.25 below`. At the strike up wins. */
export function distanceText(price: number, strike: number): string {
  if (price === strike) return 'at the strike';
  const distance = Math.abs(price - strike).toFixed(priceText(strike).split('.')[1]!.length);
  return `${Number(distance) === 0 ? 'just' : distance} ${price < strike ? 'below' : 'above'}`;
}

/** The recorded part of a market, in one line. Undefined: the tier lacks books. */
export function coverageText(coverage: CoverageResource | undefined): string {
  if (coverage === undefined) return 'your tier does not include books';
  const { outcomes, gapCount, startTime, recordedSeconds } = coverage;
  const sumOf = (kind: 'count' | 'oneSided' | 'crossed') => outcomes.reduce((sum, outcome) => sum + outcome[kind], 0);
  const count = sumOf('count');
  if (count === 0) return `no books recorded${gapCount > 0 ? `, ${countText(gapCount, 'gap')}` : ''}`;
  const last = outcomes
    .map(({ last }) => last ?? '')
    .sort()
    .at(-1)!;
  const [up, down] = outcomes.map(({ recordedSeconds }) => Math.floor(recordedSeconds));
  const [only, other] = outcomes.filter(({ count }) => count > 0);
  const time =
    last < startTime
      ? `only before its window, until ${last.slice(0, 16).replace('T', ' ')} UTC`
      : `${recordedText(coverage)}${other === undefined ? `, ${only!.outcome} only` : up === down ? '' : ` (up ${up} s, down ${down} s)`}`;
  const parts = [`recorded ${time}`, countText(count, 'snapshot')];
  if (gapCount > 0) parts.push(countText(gapCount, 'gap'));
  else if (coverage.windowSeconds - recordedSeconds < 1) parts.push('no gaps');
  if (sumOf('oneSided') > 0) parts.push(`${sumOf('oneSided')} with one side only`);
  if (sumOf('crossed') > 0) parts.push(`${sumOf('crossed')} crossed`);
  return parts.join(', ');
}

/**
 * Why the book of an instant is not known, as the heat map has it; undefined: it is known. `snapshot`: the last one at or before the
 * instant; undefined: there is none. While the market is open, later books are still to come.
 */
export function unknownText(
  { outcomes, gaps }: CoverageResource,
  name: Outcome,
  atMs: number,
  snapshot: Pick<Snapshot, 'timestamp'> | undefined,
  isOpen: boolean,
): string | undefined {
  const { first, last } = outcomes.find(({ outcome }) => outcome === name)!;
  if (first === null) return 'no book is recorded.';
  const ofMs = Date.parse(snapshot?.timestamp ?? first);
  if (snapshot === undefined) return `no book yet, the first one is of ${clockText(ofMs, atMs)}.`;
  const gap = gaps.find(({ from, to }) => Date.parse(from) <= atMs && Date.parse(to) > ofMs && ofMs < atMs);
  if (gap !== undefined) return `not known since a gap at ${clockText(Date.parse(gap.from), atMs)}.`;
  return !isOpen && atMs > Date.parse(last!) ? 'nothing is recorded later.' : undefined;
}

/** The day of an instant in UTC, `25 Apr`; empty if it is also that of another instant. */
export function dateText(ms: number, otherMs: number): string {
  const [day, other] = [ms, otherMs].map((at) => DAY.format(at));
  return day === other ? '' : day!;
}

/** The time of day in UTC, to the millisecond, after the date if it is not that of the market's start. */
export function clockText(ms: number, startMs: number): string {
  return `${dateText(ms, startMs)} ${new Date(ms).toISOString().slice(11, 23)}`.trim();
}

/** The first and the last instant of a span, with their dates where they differ. */
export function spanText({ from, to }: Span): string {
  return `${clockText(from, from)} – ${clockText(to - 1, from)} UTC`;
}

/** `53.45 shares`. */
export function sharesText(shares: number): string {
  return `${exactText(shares)} shares`;
}
