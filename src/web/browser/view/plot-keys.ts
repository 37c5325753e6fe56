import type { Explorer, ShownMarket } from './explorer.ts';
import { OUTCOME_CHOICES } from './view-choices.ts';

const ZOOM = 0.8;
const PART = 0.25;

/** Runs the action of a key, see plot-help.tsx. Returns false if the key has none. */
export function pressKey(
  { key, shiftKey: isShifted }: KeyboardEvent,
  { state }: ShownMarket,
  explorer: Explorer,
): boolean {
  const step = (direction: -1 | 1) => void explorer.step(direction);
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
    p: () => state.showAllPrices(state.priceRange !== 'all'),
    ' ': () => explorer.togglePlay(),
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
