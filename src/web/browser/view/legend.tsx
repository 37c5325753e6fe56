import { CONTRAST, roundedSize, sizeOfShade } from '../../../domain/heat-map-picture.ts';
import { Choices, optionsOf } from '../choices.tsx';
import type { MarketContent } from './explorer.ts';
import { cssColour, SHADES } from './heat-map-cells.ts';
import type { MarketPlot } from './market-plot.ts';
import type { ViewState } from './view-state.ts';

const CONTRAST_STEP = 10;

const NUMBERS = 5;

/** The choices of colours, and the signs of what is drawn. */
export function Legend({ explorer, shown: { state } }: MarketContent) {
  const coin = state.layers.value.has('reference') ? explorer.coin.value : undefined;
  const hasBooks = explorer.hasBooks.value;
  return (
    <div class="picture-legend small">
      {hasBooks && <ColourTools state={state} />}
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
            <li class="sign trade larger">more shares</li>
            <li class="sign gap">gap</li>
            <li class="sign none">no book recorded</li>
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

/** The colours of both sides below each other, and the sizes of both. Nothing without books. */
export function Ramps({ state, plot }: { readonly state: ViewState; readonly plot: MarketPlot }) {
  const range = plot.range.value;
  if (range === undefined) return null;
  const { bids, asks } = plot.style.value.palette;
  const sizes = Array.from({ length: NUMBERS }, (_, nth) =>
    sizeOfShade((nth / (NUMBERS - 1)) * SHADES, { scale: state.scale.value, shades: SHADES, ...range }),
  );
  const ramp = (name: string, colours: Uint32Array) => (
    <>
      <span>{name}</span>
      <i style={{ backgroundImage: `linear-gradient(to right, ${Array.from(colours, cssColour)})` }} />
    </>
  );
  return (
    <div class="ramp">
      {ramp('Bids', bids)}
      {ramp('Asks', asks)}
      <span>Shares</span>
      <span class="sizes">
        {sizes.map((size) => (
          <span key={size}>{roundedSize(size)}</span>
        ))}
      </span>
    </div>
  );
}
