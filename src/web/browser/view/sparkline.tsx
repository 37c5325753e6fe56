import type { InstantMs } from '../../../domain/instant.ts';
import type { ListedMarket, Midpoints } from './recordings.ts';

const WIDTH = 120;
const HEIGHT = 28;
/** Around the line, so that it is not cut. */
const PADDING = 2;

/** The midpoint of a market from its beginning to its end, and dots where it is 0.5. */
export function Sparkline({ values }: { readonly values: Midpoints }) {
  const text = sparklineText(values);
  if (text === undefined) return null;
  return (
    <svg
      class="sparkline"
      role="img"
      aria-label={text}
      viewBox={`0 ${-PADDING} ${WIDTH} ${HEIGHT + 2 * PADDING}`}
      preserveAspectRatio="none"
    >
      <path class="middle" d={`M0 ${HEIGHT / 2}H${WIDTH}`} />
      <path class="line" d={sparklinePath(values, WIDTH, HEIGHT)} />
    </svg>
  );
}

/**
 * The midpoints that a line shows: none of a market without a recorded second, whose last book was before the window, and none of the
 * parts that begin after `nowMs` (NaN: not known yet). The others are those of the last book, as the API has them.
 */
export function shownMidpoints(
  values: Midpoints,
  { startTime, endTime, recordedSeconds }: Pick<ListedMarket, 'startTime' | 'endTime' | 'recordedSeconds'>,
  nowMs: InstantMs,
): Midpoints {
  const [startMs, endMs] = [Date.parse(startTime), Date.parse(endTime)];
  const isLater = (nth: number) => startMs + (nth / values.length) * (endMs - startMs) > nowMs;
  return values.map((value, nth) => (recordedSeconds === 0 || isLater(nth) ? null : value));
}

/** Decimals of a coordinate: nobody sees a tenth of a pixel. */
const DECIMALS = 1;

/**
 * The path of SVG through values from 0 to 1, 1 at the top, in a box of this size. Null values are holes; a value between two holes is
 * a line as wide as a step.
 */
export function sparklinePath(values: readonly (number | null)[], width: number, height: number): string {
  const step = values.length < 2 ? width : width / (values.length - 1);
  let path = '';
  for (const [i, value] of values.entries()) {
    if (value === null) continue;
    const x = i * step;
    const y = (1 - value) * height;
    const isAfterHole = (values[i - 1] ?? null) === null;
    const isBeforeHole = (values[i + 1] ?? null) === null;
    if (isAfterHole && isBeforeHole) {
      path += `M${rounded(Math.max(0, x - step / 2))} ${rounded(y)}H${rounded(Math.min(width, x + step / 2))}`;
    } else {
      path += `${isAfterHole ? 'M' : 'L'}${rounded(x)} ${rounded(y)}`;
    }
  }
  return path;
}

/** The values of a sparkline in words; undefined if it has none. */
export function sparklineText(values: readonly (number | null)[]): string | undefined {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return undefined;
  const [min, max] = [Math.min(...known), Math.max(...known)];
  return `Midpoint of up from ${known[0]} to ${known.at(-1)}, between ${min} and ${max}`;
}

function rounded(value: number): string {
  return String(Number(value.toFixed(DECIMALS)));
}
