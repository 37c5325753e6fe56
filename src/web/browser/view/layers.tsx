import { settlementSource } from '../../../domain/winner-check.ts';
import type { Explorer, MarketContent } from './explorer.ts';
import { LAYERS, type Layer } from './view-choices.ts';
import type { ViewState } from './view-state.ts';

const LAYER_NAMES: Readonly<Record<Layer, string>> = {
  mid: 'midpoint',
  trades: 'trades',
  reference: 'reference price',
};

/** The choices of what is drawn over and below the books. */
export function Layers({ explorer, shown: { state, market } }: MarketContent) {
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
      {state.layers.value.has('reference') && (
        <ReferenceSource explorer={explorer} state={state} settlement={settlementSource(market.timeframe)} />
      )}
    </fieldset>
  );
}

interface ReferenceSourceContent {
  readonly explorer: Explorer;
  readonly state: ViewState;
  /** The publisher that decides the market. */
  readonly settlement: string;
}

/** The choice of the publisher of the reference price, once there is one. */
function ReferenceSource({ explorer, state, settlement }: ReferenceSourceContent) {
  const shown = explorer.reference.value?.source ?? state.reference.value;
  const sources = new Set([...explorer.sources.value, ...(shown === undefined ? [] : [shown])]);
  if (sources.size === 0) return null;
  return (
    <select
      class="input"
      aria-label="Source of the reference price"
      value={shown}
      onChange={({ currentTarget: { value } }) => {
        state.reference.value = value === settlement ? undefined : value;
      }}
    >
      {[...sources].map((source) => (
        <option key={source} value={source}>
          {source === settlement ? `${source}, decides` : source}
        </option>
      ))}
    </select>
  );
}
