import { effect, type Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { MarketContent } from './explorer.ts';
import { listenToGestures } from './gestures.ts';
import { MarketPlot } from './market-plot.ts';
import { coverageText, marketTitle } from './market-texts.ts';
import { pressKey } from './plot-keys.ts';
import { PointerTip } from './pointer-tip.tsx';
import { PRICE_LIMITS } from './view-state.ts';

interface PictureContent extends MarketContent {
  /** Gets the plot, once it is there. */
  readonly plot: Signal<MarketPlot | undefined>;
}

/** The heat map with everything that is drawn over and below it. */
export function MarketPicture({ explorer, shown, plot: made }: PictureContent) {
  const area = useRef<HTMLElement>(null);
  const picture = useRef<HTMLDivElement>(null);
  const { state } = shown;
  useEffect(() => {
    const element = area.current!;
    const { loader, trades, coin, events, own } = explorer;
    const plot = new MarketPlot(picture.current!, { state, heatMaps: loader.heatMaps, trades, coin, events, own });
    made.value = plot;
    const stopMeasuring = effect(() => {
      if (plot.areaWidth.value > 0) explorer.columns.value = plot.areaWidth.value;
    });
    const stopListening = listenToGestures(element, {
      zoomTime: (factor, x) => state.zoomTime(factor, plot.msAt(x)),
      zoomPrices: (factor, y) => state.zoomPrices(factor, plot.priceAt(y) ?? state.prices.value.to),
      drag(byX, byY) {
        if (byX !== 0) state.moveTime(plot.msAt(0) - plot.msAt(byX));
        const { from, to } = state.prices.value;
        if (to - from < PRICE_LIMITS.to) state.movePrices((byY / plot.panelHeight) * (to - from));
      },
      press(x, y) {
        element.focus({ preventScroll: true });
        explorer.isFollowing.value = false;
        if (plot.covers(x, y)) state.scrubTo(plot.msAt(x));
        plot.pointAt({ x, y });
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
      togglePlay: () => explorer.togglePlay(),
      step: (direction: -1 | 1) => void explorer.step(direction),
    };
    if (pressKey(event.key, event.shiftKey, actions)) event.preventDefault();
  };
  const plot = made.value;
  const pointed = plot?.pointed.value;
  const { market, coverage } = shown;
  const summary = `Order books of ${marketTitle(market)} over time: ${coverageText(coverage)}. ${explorer.events.value[1]![1]}.`;
  return (
    <section
      class="plot-area"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys do what gestures do; the help lists them
      tabIndex={0}
      aria-label="Picture of the market"
      aria-busy={explorer.loader.isLoading.value}
      ref={area}
      onKeyDown={onKeyDown}
    >
      <div ref={picture} class="picture-area" role="img" aria-label={summary} />
      {pointed !== undefined && (
        <PointerTip
          pointed={pointed}
          coin={state.layers.value.has('reference') ? explorer.coin.value : undefined}
          trades={state.layers.value.has('trades') ? plot!.tradedAt(pointed) : undefined}
          startMs={state.home.from}
          width={plot!.areaWidth.value}
        />
      )}
    </section>
  );
}
