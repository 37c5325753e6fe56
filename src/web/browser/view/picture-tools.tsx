import { useRef } from 'preact/hooks';
import { settlementSource } from '../../../domain/settlement.ts';
import { Choices, optionsOf } from '../choices.tsx';
import type { Explorer, MarketContent } from './explorer.ts';
import { ToolButton } from './tool-button.tsx';
import { LAYERS, type Layer } from './view-choices.ts';
import type { ViewState } from './view-state.ts';

/** The choices above the picture: the outcome, what is drawn over and below its books, and the time. */
export function PictureTools({ explorer, shown }: MarketContent) {
  const { state, coverage } = shown;
  const empty = coverage?.outcomes.filter(({ count }) => count === 0) ?? [];
  // Own orders are shown without books.
  const missing = empty.length === 1 && explorer.own.value.length === 0 ? empty[0]!.outcome : undefined;
  const reason = missing && `${missing}: no book is recorded.`;
  return (
    <div class="row tools">
      <Choices
        label="Outcome"
        options={optionsOf({ up: 'Up', down: 'Down', both: 'Both' }).map(
          ([name, text]) => [name, text, name === missing || name === 'both' ? reason : undefined] as const,
        )}
        chosen={state.outcome.value}
        choose={(outcome) => {
          state.outcome.value = outcome;
        }}
      />
      <Layers explorer={explorer} shown={shown} />
      <div class="row prices">
        <Choices
          label="Prices"
          options={optionsOf({ fit: 'Fit', all: '0–1' })}
          chosen={state.priceRange}
          choose={(range) => state.showAllPrices(range === 'all')}
        />
      </div>
      <div class="row zoom">
        <ToolButton name="Zoom in" onClick={() => state.zoomTime(0.5, state.atMs.value)}>
          +
        </ToolButton>
        <ToolButton name="Zoom out" onClick={() => state.zoomTime(2, state.atMs.value)}>
          −
        </ToolButton>
        <ToolButton name="Whole market" isDisabled={state.isWhole.value} onClick={() => state.showWhole()}>
          All
        </ToolButton>
      </div>
    </div>
  );
}

/** The choices of what is drawn over and below the books: those that the market has. */
function Layers({ explorer, shown: { state, market } }: MarketContent) {
  // Once seen, trades stay a choice: another time of the market may have none. Before anything is loaded they have their room.
  const hasTrades = useRef<boolean | null>(null);
  const maps = [...explorer.trades.value.values()].flatMap(({ whole, window }) => [whole, window]);
  if (maps.length > 0) hasTrades.current ||= maps.some((heatMap) => heatMap?.columns.some(({ traded }) => traded));
  const has: Readonly<Record<Layer, boolean>> = {
    mid: explorer.hasBooks.value,
    trades: hasTrades.current ?? explorer.hasBooks.value,
    reference: explorer.coin.value.isKnown,
  };
  const toggle = (layer: Layer) => {
    const next = new Set(state.layers.value);
    if (!next.delete(layer)) next.add(layer);
    state.layers.value = next;
  };
  return (
    <fieldset class="legend" aria-label="Layers">
      {LAYERS.map((layer) => (
        <label key={layer} hidden={!has[layer]} aria-busy={layer === 'trades' && maps.length === 0}>
          <input type="checkbox" checked={state.layers.value.has(layer)} onChange={() => toggle(layer)} />
          {layer === 'mid' ? 'midpoint' : layer}
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

/** The choice of the publisher of the reference price, where there are several. */
function ReferenceSource({ explorer, state, settlement }: ReferenceSourceContent) {
  const shown = explorer.reference.value?.source ?? state.reference.value;
  const sources = new Set([...explorer.sources.value, ...(shown === undefined ? [] : [shown])]);
  if (sources.size < 2) return null;
  return (
    <select
      class="input"
      aria-label="Price source"
      value={shown}
      onChange={({ currentTarget: { value } }) => {
        state.reference.value = value === settlement ? undefined : value;
      }}
    >
      {[...sources].map((source) => (
        <option key={source} value={source}>
          {source === settlement ? `${source} (settles)` : source}
        </option>
      ))}
    </select>
  );
}
