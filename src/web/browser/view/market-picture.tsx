import { effect, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Explorer, ShownMarket } from './explorer.ts';
import { listenToGestures } from './gestures.ts';
import { Legend } from './legend.tsx';
import { MarketPlot } from './market-plot.ts';
import { coverageText, marketTitle, pointedText } from './market-texts.ts';
import { pressKey } from './plot-keys.ts';
import { valueAt } from './plot-layout.ts';
import { PRICE_LIMITS } from './view-state.ts';

interface PictureContent {
  readonly explorer: Explorer;
  readonly shown: ShownMarket;
  /** The plot, once it is there. */
  readonly onPlot: (plot: MarketPlot) => void;
}

/** The heat map with everything that is drawn over and below it. */
export function MarketPicture({ explorer, shown, onPlot }: PictureContent) {
  const area = useRef<HTMLElement>(null);
  const made = useSignal<MarketPlot | undefined>(undefined);
  const { state, playback } = shown;
  useEffect(() => {
    const element = area.current!;
    const { loader, trades, reference, events } = explorer;
    const plot = new MarketPlot(element, { state, grids: loader.grids, trades, reference, events });
    made.value = plot;
    onPlot(plot);
    const stopMeasuring = effect(() => {
      void [state.layers.value, state.outcome.value];
      if (plot.width.value === 0) return;
      const { left, right } = plot.layout;
      explorer.columns.value = Math.max(1, Math.round(right - left));
    });
    const timePerPixel = () => {
      const { left, right } = plot.layout;
      return (state.time.value.to - state.time.value.from) / (right - left);
    };
    const stopListening = listenToGestures(element, {
      zoomTime: (factor, x) => state.zoomTime(factor, plot.placeAt(x, 0).ms),
      zoomPrices(factor, y) {
        const panel = plot.layout.panels[0]!;
        state.zoomPrices(factor, plot.placeAt(0, y).price ?? valueAt(panel, state.prices.value, panel.top));
      },
      drag(byX, byY) {
        if (byX !== 0) state.moveTime(-byX * timePerPixel());
        const { from, to } = state.prices.value;
        if (to - from < PRICE_LIMITS.to) state.movePrices((byY / plot.layout.panels[0]!.height) * (to - from));
      },
      press(x, y) {
        element.focus({ preventScroll: true });
        explorer.isFollowing.value = false;
        const { layout } = plot;
        if (x >= layout.left && x <= layout.right && y <= layout.axisTop) state.scrubTo(plot.placeAt(x, y).ms);
      },
      point: (place) => plot.pointAt(place),
    });
    return () => {
      stopListening();
      stopMeasuring();
      plot.remove();
    };
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      state,
      togglePlay() {
        explorer.isFollowing.value = false;
        playback.toggle();
      },
      step: (direction: -1 | 1) => void explorer.step(direction),
    };
    if (pressKey(event.key, event.shiftKey, actions)) event.preventDefault();
  };
  const plot = made.value;
  const pointed = plot?.pointed.value;
  const { market, coverage } = shown;
  const summary = `Order books of ${marketTitle(market)} over time: ${coverage === undefined ? 'your tier has no books' : coverageText(coverage)}. ${explorer.events.value[1]![1]}.`;
  const isReferenceShown = state.layers.value.has('reference') && explorer.reference.value !== undefined;
  return (
    <>
      <section
        class="plot-area"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys do what gestures do; the help lists them
        tabIndex={0}
        aria-label="Picture of the market"
        aria-busy={explorer.loader.isLoading.value}
        ref={area}
        onKeyDown={onKeyDown}
      >
        <div role="img" aria-label={summary}>
          <canvas class="cells" />
          <canvas class="lines" />
          <canvas class="marks" />
        </div>
      </section>
      <p class="pointed small quiet">{pointed === undefined ? ' ' : pointedText(pointed)}</p>
      {plot !== undefined && (
        <Legend
          palette={plot.palette}
          scale={state.scale.value}
          largest={plot.largest.value}
          reference={isReferenceShown ? explorer.reference.value!.source : undefined}
        />
      )}
    </>
  );
}
