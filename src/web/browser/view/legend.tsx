import { CONTRAST, roundedSize, sizeOfShade } from '../../../domain/heat-map-picture.ts';
import { Choices, optionsOf } from '../choices.tsx';
import { cssColour, SHADES } from './heat-map-cells.ts';
import type { MarketPlot } from './market-plot.ts';
import type { ViewState } from './view-state.ts';

const CONTRAST_STEP = 10;

const NUMBERS = 5;

/** The choices of how sizes become colours. */
export function ColourTools({ state }: { readonly state: ViewState }) {
  return (
    <div class="card row">
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

/** The colours of both sides below each other, and the sizes of both. Without books in view only their room. */
export function Ramps({ state, plot }: { readonly state: ViewState; readonly plot: MarketPlot }) {
  const range = plot.range.value;
  // Until the range is known they are not seen, so their sizes do not matter.
  const { bids, asks } = plot.style.value.palette;
  const sizes = Array.from({ length: NUMBERS }, (_, nth) =>
    sizeOfShade((nth / (NUMBERS - 1)) * SHADES, { scale: state.scale.value, shades: SHADES, ...range! }),
  );
  const ramp = (name: string, colours: Uint32Array) => (
    <>
      <span>{name}</span>
      <i style={{ backgroundImage: `linear-gradient(to right, ${Array.from(colours, cssColour)})` }} />
    </>
  );
  return (
    <div class="ramp" hidden={!range}>
      {ramp('Bids', bids)}
      {ramp('Asks', asks)}
      <span>Shares</span>
      <span class="sizes">
        {sizes.map((size, nth) => (
          <span key={nth}>{roundedSize(size)}</span>
        ))}
      </span>
      <span class="signs">
        <span class="sign trade bought">bought</span>
        <span class="sign trade sold">sold</span>
        <span class="sign trade">side unknown</span>
        <span class="sign trade larger">more shares</span>
      </span>
    </div>
  );
}
