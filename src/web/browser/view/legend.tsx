import { roundedSize, type SizeRange, type SizeScale, sizeOfShade } from '../../../domain/heat-map-picture.ts';
import { cssColour, type Palette, SHADES } from './heat-map-cells.ts';

interface LegendContent {
  readonly palette: Palette;
  readonly scale: SizeScale;
  /** The sizes of the first and the last colour; undefined: no books. */
  readonly range: SizeRange | undefined;
  /** The publisher of the reference price, if it is drawn. */
  readonly reference: string | undefined;
}

const STOPS = 9;
const NUMBERS = 5;

/** The colours and their sizes, and what else is drawn. */
export function Legend({ palette, scale, range, reference }: LegendContent) {
  return (
    <div class="picture-legend small">
      {range !== undefined && (
        <>
          <Ramp name="Bids" colours={palette.bids} scale={scale} range={range} />
          <Ramp name="Asks" colours={palette.asks} scale={scale} range={range} />
        </>
      )}
      <ul class="signs">
        <li class="sign mid">midpoint</li>
        {reference !== undefined && <li class="sign reference">reference price ({reference})</li>}
        <li class="sign trade">trades</li>
        <li class="sign gap">gap in the recording</li>
        <li class="sign none">no book known</li>
      </ul>
    </div>
  );
}

interface RampContent {
  readonly name: string;
  readonly colours: Uint32Array;
  readonly scale: SizeScale;
  readonly range: SizeRange;
}

function Ramp({ name, colours, scale, range }: RampContent) {
  const stops = Array.from({ length: STOPS }, (_, nth) => {
    return cssColour(colours[Math.round((nth / (STOPS - 1)) * (SHADES - 1))]!);
  });
  const sizes = Array.from({ length: NUMBERS }, (_, nth) => {
    return sizeOfShade((nth / (NUMBERS - 1)) * SHADES, { scale, shades: SHADES, ...range });
  });
  return (
    <div class="ramp">
      <span>{name}, shares</span>
      <span class="colours" style={{ backgroundImage: `linear-gradient(to right, ${stops.join(', ')})` }} />
      <span class="sizes quiet">
        {sizes.map((size, nth) => (
          <span key={nth}>
            {nth === 0 ? '≤ ' : nth === NUMBERS - 1 ? '≥ ' : ''}
            {roundedSize(size)}
          </span>
        ))}
      </span>
    </div>
  );
}
