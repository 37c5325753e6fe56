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
    arrowleft: () => (isShifted ? state.moveTime((from - to) * PART) : step(-1)),
    arrowright: () => (isShifted ? state.moveTime((to - from) * PART) : step(1)),
    '+': () => state.zoomTime(ZOOM, about),
    '=': () => state.zoomTime(ZOOM, about),
    '-': () => state.zoomTime(1 / ZOOM, about),
    arrowup: () => state.movePrices(byPrice),
    arrowdown: () => state.movePrices(-byPrice),
    pageup: () => state.zoomPrices(ZOOM, middlePrice),
    pagedown: () => state.zoomPrices(1 / ZOOM, middlePrice),
    '0': () => state.showWhole(),
    home: () => state.scrubTo(state.limits.value.from),
    end: () => state.scrubTo(state.limits.value.to),
    p: () => state.showAllPrices(state.priceRange !== 'all'),
    ' ': () => explorer.togglePlay(),
    l: () => {
      state.scale.value = state.scale.value === 'log' ? 'sqrt' : 'log';
    },
  };
  const chosen = OUTCOME_CHOICES[Number(key) - 1];
  const action = actions[key.toLowerCase()];
  if (chosen !== undefined) state.outcome.value = chosen;
  else action?.();
  return chosen !== undefined || action !== undefined;
}
