import { CONTRAST } from '../../../domain/heat-map-picture.ts';
import { Choices } from '../choices.tsx';
import { ToolButton } from './tool-button.tsx';
import { LAYERS, type Layer } from './view-choices.ts';
import type { ViewState } from './view-state.ts';

const LAYER_NAMES: Readonly<Record<Layer, string>> = {
  mid: 'midpoint',
  trades: 'trades',
  reference: 'reference price',
};

const CONTRAST_STEP = 10;

/** The choices of what the picture shows, and how. */
export function PictureTools({ state }: { readonly state: ViewState }) {
  return (
    <div class="row spread">
      <Choices
        label="Outcome"
        options={[
          ['up', 'Up'],
          ['down', 'Down'],
          ['both', 'Both'],
        ]}
        chosen={state.outcome.value}
        choose={(outcome) => {
          state.outcome.value = outcome;
        }}
      />
      <Layers state={state} />
      <Choices
        label="Colours"
        options={[
          ['log', 'Log'],
          ['sqrt', 'Square root'],
        ]}
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
      <div class="row zoom">
        <ToolButton name="Zoom in" onClick={() => state.zoomTime(0.5, state.atMs.value)}>
          +
        </ToolButton>
        <ToolButton name="Zoom out" onClick={() => state.zoomTime(2, state.atMs.value)}>
          −
        </ToolButton>
        <ToolButton isDisabled={state.isWhole.value} onClick={() => state.showWhole()}>
          Whole market
        </ToolButton>
      </div>
    </div>
  );
}

function Layers({ state }: { readonly state: ViewState }) {
  const toggle = (layer: Layer) => {
    const next = new Set(state.layers.value);
    if (!next.delete(layer)) next.add(layer);
    state.layers.value = next;
  };
  return (
    <fieldset class="legend">
      <legend class="hidden">Over the books</legend>
      {LAYERS.map((layer) => (
        <label key={layer}>
          <input type="checkbox" checked={state.layers.value.has(layer)} onChange={() => toggle(layer)} />
          {LAYER_NAMES[layer]}
        </label>
      ))}
    </fieldset>
  );
}
