import { OUTCOME_CHOICES } from './view-choices.ts';
import type { ViewState } from './view-state.ts';

export interface KeyActions {
  readonly state: ViewState;
  togglePlay(): void;
  step(direction: -1 | 1): void;
}

const ZOOM = 0.8;
const PART = 0.25;

/** Runs the action of a key, see plot-help.tsx. Returns false if the key has none. */
export function pressKey(key: string, isShifted: boolean, { state, togglePlay, step }: KeyActions): boolean {
  const { from, to } = state.time.value;
  const prices = state.prices.value;
  const middlePrice = (prices.from + prices.to) / 2;
  const about = Math.min(Math.max(state.atMs.value, from), to);
  const byPrice = (prices.to - prices.from) * PART;
  const actions: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => (isShifted ? state.moveTime((from - to) * PART) : step(-1)),
    ArrowRight: () => (isShifted ? state.moveTime((to - from) * PART) : step(1)),
    '+': () => state.zoomTime(ZOOM, about),
    '=': () => state.zoomTime(ZOOM, about),
    '-': () => state.zoomTime(1 / ZOOM, about),
    ArrowUp: () => state.movePrices(byPrice),
    ArrowDown: () => state.movePrices(-byPrice),
    PageUp: () => state.zoomPrices(ZOOM, middlePrice),
    PageDown: () => state.zoomPrices(1 / ZOOM, middlePrice),
    '0': () => state.showWhole(),
    Home: () => state.scrubTo(state.limits.value.from),
    End: () => state.scrubTo(state.limits.value.to),
    ' ': togglePlay,
    l: () => {
      state.scale.value = state.scale.value === 'log' ? 'sqrt' : 'log';
    },
  };
  const chosen = OUTCOME_CHOICES[Number(key) - 1];
  const action = actions[key.length === 1 ? key.toLowerCase() : key];
  if (chosen !== undefined) state.outcome.value = chosen;
  else action?.();
  return chosen !== undefined || action !== undefined;
}
