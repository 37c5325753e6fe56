import { effect, type Signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { HeatMapColumn } from '../../../domain/heat-map.ts';
import { directionOf } from '../../../domain/settlement.ts';
import type { CoinPrices } from './coin-strip.ts';
import type { MarketContent } from './explorer.ts';
import { listenToGestures } from './gestures.ts';
import { MarketPlot, type Pointed } from './market-plot.ts';
import { clockText, coverageText, distanceText, marketTitle, sharesText } from './market-texts.ts';
import { pressKey } from './plot-keys.ts';
import { priceText } from './price-text.ts';
import { priceAt } from './reference-prices.ts';

interface PictureContent extends MarketContent {
  /** Gets the plot, once it is there. */
  readonly plot: Signal<MarketPlot | undefined>;
}

/** A column for each pixel, or more: lines keep their short turns in a narrow plot too. */
const [COLUMNS_LEAST, COLUMNS_MAX] = [700, 1500];

/** The heat map with everything that is drawn over and below it. */
export function MarketPicture({ explorer, shown, plot: made }: PictureContent) {
  const area = useRef<HTMLElement>(null);
  const picture = useRef<HTMLDivElement>(null);
  const { state } = shown;
  useLayoutEffect(() => {
    const element = area.current!;
    const plot = new MarketPlot(picture.current!, { ...explorer, state });
    made.value = plot;
    const stopMeasuring = effect(() => {
      const width = plot.areaWidth.value;
      explorer.columns.value = width && Math.min(COLUMNS_MAX, Math.max(COLUMNS_LEAST, width));
    });
    const stopListening = listenToGestures(element, {
      zoomTime: (factor, x) => state.zoomTime(factor, plot.msAt(x)),
      zoomPrices: (factor, y) => state.zoomPrices(factor, plot.priceAt(y) ?? state.prices.value.to),
      drag(byX, byY) {
        if (byX !== 0) state.moveTime(plot.msAt(0) - plot.msAt(byX));
        if (state.priceRange !== 'part') return;
        const { from, to } = state.prices.value;
        state.movePrices((byY / plot.panelHeight) * (to - from));
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
    if (pressKey(event, shown, explorer)) event.preventDefault();
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
          startMs={state.startMs}
          width={plot!.areaWidth.value}
        />
      )}
    </section>
  );
}

interface PointerTipContent {
  readonly pointed: Pointed;
  /** Undefined: the coin's price is not shown. */
  readonly coin: CoinPrices | undefined;
  readonly trades: HeatMapColumn | undefined;
  /** The start of the market. */
  readonly startMs: number;
  /** The width of the plot in CSS pixels. */
  readonly width: number;
}

/** The distance from the pointer in CSS pixels. */
const GAP = 14;
const SIDES = { buy: ['Bought', 'up'], sell: ['Sold', 'down'], unknown: ['Traded', ''] } as const;

/** A tooltip with the figures of the picture at the pointer. Screen readers have the ladder and the figures of the instant instead. */
function PointerTip({ pointed, coin, trades, startMs, width }: PointerTipContent) {
  const { x, y, ms, outcome, column, cell } = pointed;
  const isLeft = x > width / 2;
  const tick = coin?.reference && priceAt(coin.reference, ms);
  const { bidPrice = 'none', askPrice = 'none' } = column?.book ?? {};
  const unknown = column?.hasGap === true ? 'gap in the recording' : 'not known';
  const rows: (readonly [name: string, text: string, side?: string])[] = [
    ...(cell?.bidSize ? [[`Bids ${cell.price}`, sharesText(cell.bidSize), 'up'] as const] : []),
    ...(cell?.askSize ? [[`Asks ${cell.price}`, sharesText(cell.askSize), 'down'] as const] : []),
    ['Best bid, ask', column?.book === undefined ? unknown : `${bidPrice}, ${askPrice}`],
    ...(trades?.traded?.sides ?? []).map(({ side, count, shares }) => {
      const [name, outcomeClass] = SIDES[side ?? 'unknown'];
      return [name, `${shares === 0 ? '' : `${sharesText(shares)}, `}${count}×`, outcomeClass] as const;
    }),
  ];
  if (tick !== undefined) rows.push([coin!.name, priceText(tick.price)]);
  if (tick !== undefined && coin!.strike !== undefined) {
    rows.push(['Strike', distanceText(tick.price, coin!.strike), directionOf(coin!.strike, tick.price)]);
  }
  return (
    <div
      class={isLeft ? 'pointer-tip at-left' : 'pointer-tip'}
      aria-hidden="true"
      style={{ '--x': `${x + (isLeft ? -GAP : GAP)}px`, top: `${y + GAP}px` }}
    >
      <b>
        {outcome === 'up' ? 'Up' : 'Down'}, {clockText(ms, startMs)}
      </b>
      <dl>
        {rows.map(([name, text, side = '']) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class={`outcome ${side}`}>{text}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
