import type { CoverageResource } from '../../../domain/coverage.ts';
import type { MarketResource } from '../../../domain/market.ts';
import { recordedText } from '../../../domain/recorded-time.ts';
import type { PointedCell } from './market-plot.ts';
import { countText } from './view-texts.ts';

const COUNT = new Intl.NumberFormat('en-US');
/** All digits of a price. */
const PRICE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 20 });
const SHARES = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });

/** `BTC 5m, 8 Jan 2026, 10:30–10:35 UTC`. */
export function marketTitle({ symbol, timeframe, startTime, endTime }: MarketResource): string {
  const times = `${startTime.slice(11, 16)}–${endTime.slice(11, 16)}`;
  return `${symbol.toUpperCase()} ${timeframe}, ${DAY.format(Date.parse(startTime))}, ${times} UTC`;
}

/** The prices that decide a market: `strike 90,460.21, final price 90,352.31`; empty while none is known. */
export function strikeText({ priceStart, priceEnd }: Pick<MarketResource, 'priceStart' | 'priceEnd'>): string {
  const prices = [
    ['strike', priceStart],
    ['final price', priceEnd],
  ] as const;
  return prices.flatMap(([name, price]) => (price === null ? [] : [`${name} ${PRICE.format(price)}`])).join(', ');
}

/** The recorded part of a market, in one line. */
export function coverageText(coverage: CoverageResource): string {
  const { outcomes, gapCount, startTime, recordedSeconds } = coverage;
  const count = outcomes.reduce((sum, outcome) => sum + outcome.count, 0);
  if (count === 0) return gapCount === 0 ? 'no books recorded' : `no books recorded, ${countText(gapCount, 'gap')}`;
  const last = lastTime(coverage);
  const before =
    recordedSeconds === 0 && last < startTime ? `: only until ${last.slice(0, 16).replace('T', ' ')} UTC` : '';
  const parts = [
    `recorded ${recordedText(coverage)}${before}`,
    countText(count, 'snapshot'),
    gapCount === 0 ? 'no gaps' : countText(gapCount, 'gap'),
  ];
  const [oneSided, crossed] = (['oneSided', 'crossed'] as const).map((kind) =>
    outcomes.reduce((sum, outcome) => sum + outcome[kind], 0),
  );
  if (oneSided! > 0) parts.push(`${COUNT.format(oneSided!)} one-sided`);
  if (crossed! > 0) parts.push(`${COUNT.format(crossed!)} crossed`);
  return parts.join(', ');
}

/** The time of the last book; empty without books. */
function lastTime({ outcomes }: CoverageResource): string {
  return outcomes.reduce((last, outcome) => ((outcome.last ?? '') > last ? outcome.last! : last), '');
}

/** The time of day in UTC, to the millisecond. */
export function clockText(ms: number): string {
  return new Date(ms).toISOString().slice(11, 23);
}

/** The cell under the pointer, in one line. */
export function pointedText({ outcome, ms, price, column, bidSize, askSize }: PointedCell): string {
  const parts = [`${outcome} ${price} at ${clockText(ms)}`];
  if (column.book === undefined) parts.push(column.hasGap ? 'gap in the recording' : 'no book known');
  else if (bidSize === 0 && askSize === 0) parts.push('no shares');
  if (bidSize > 0) parts.push(`bids for ${SHARES.format(bidSize)} shares`);
  if (askSize > 0) parts.push(`asks for ${SHARES.format(askSize)} shares`);
  if (column.traded !== undefined) {
    const { count, shares } = column.traded;
    parts.push(
      shares === 0 ? countText(count, 'trade') : `${countText(count, 'trade')} of ${SHARES.format(shares)} shares`,
    );
  }
  return parts.join(' · ');
}
