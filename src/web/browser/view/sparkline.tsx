import type { Midpoints } from './recordings.ts';
import { sparklinePath, sparklineText } from './sparkline-path.ts';

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
