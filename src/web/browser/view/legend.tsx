import {
  CONTRAST,
  roundedSize,
  type SizeRange,
  type SizeScale,
  sizeOfShade,
} from '../../../domain/heat-map-picture.ts';
import { Choices, optionsOf } from '../choices.tsx';
import type { MarketContent } from './explorer.ts';
import { cssColour, SHADES } from './heat-map-cells.ts';
import type { MarketPlot } from './market-plot.ts';
import type { ViewState } from './view-state.ts';

const CONTRAST_STEP = 10;

interface LegendContent extends MarketContent {
  readonly plot: MarketPlot;
}

const STOPS = 9;
const NUMBERS = 5;

/** The colours and their sizes, and the signs of what else is drawn. */
export function Legend({ explorer, shown, plot }: LegendContent) {
  const { state } = shown;
  const scale = state.scale.value;
  const { palette } = plot.style.value;
  const range = plot.range.value;
  const coin = state.layers.value.has('reference') ? explorer.coin.value : undefined;
  const hasBooks = explorer.hasBooks.value;
  return (
    <div class="picture-legend small">
      {range !== undefined && (
        <>
          <Ramp name="Bids" colours={palette.bids} scale={scale} range={range} />
          <Ramp name="Asks" colours={palette.asks} scale={scale} range={range} />
          <ColourTools state={state} />
        </>
      )}
      <ul class="signs">
        {coin?.reference !== undefined && (
          <li class={coin.strike === undefined ? 'sign reference' : 'sign reference sides'}>
            reference price ({coin.reference.source})
          </li>
        )}
        {coin?.strike !== undefined && <li class="sign strike">strike</li>}
        {coin?.final !== undefined && <li class="sign final">final price</li>}
        {hasBooks && (
          <>
            <li class="sign mid">midpoint</li>
            <li class="sign trade bought">bought</li>
            <li class="sign trade sold">sold</li>
            <li class="sign trade">side not recorded</li>
            <li class="sign gap">gap</li>
            <li class="sign none">no book known</li>
          </>
        )}
      </ul>
    </div>
  );
}

/** The choices of how sizes become colours. */
function ColourTools({ state }: { readonly state: ViewState }) {
  return (
    <div class="row">
      <Choices
        label="Colours"
        options={optionsOf({ log: 'Log', sqrt: 'Square root' })}
        chosen={state.scale.value}
        choose={(scale) => {
          state.scale.value = scale;
        }}
      />
      <label class="small">
        Contrast{' '}
        <input
          type="range"
          min={CONTRAST.least}
          max={CONTRAST.most}
          step={CONTRAST_STEP}
          value={state.contrast.value}
          onInput={({ currentTarget }) => {
            state.contrast.value = Number(currentTarget.value);
          }}
        />
      </label>
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
