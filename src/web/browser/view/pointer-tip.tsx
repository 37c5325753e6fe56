import type { HeatMapColumn } from '../../../domain/heat-map.ts';
import { directionOf } from '../../../domain/winner-check.ts';
import type { CoinPrices } from './coin-strip.ts';
import type { Pointed } from './market-plot.ts';
import { clockText, distanceText, priceText, sharesText } from './market-texts.ts';
import { priceAt } from './reference-prices.ts';

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
export function PointerTip({ pointed, coin, trades, startMs, width }: PointerTipContent) {
  const { x, y, ms, outcome, column, cell } = pointed;
  const isLeft = x > width / 2;
  const tick = coin?.reference && priceAt(coin.reference, ms);
  const { bidPrice = 'none', askPrice = 'none' } = column?.book ?? {};
  const unknown = column?.hasGap === true ? 'gap in the recording' : 'not known';
  const rows: (readonly [name: string, text: string, side?: string])[] = [
    ...(cell === undefined || cell.bidSize === 0
      ? []
      : [[`Bids ${cell.price}`, sharesText(cell.bidSize), 'up'] as const]),
    ...(cell === undefined || cell.askSize === 0
      ? []
      : [[`Asks ${cell.price}`, sharesText(cell.askSize), 'down'] as const]),
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
      style={{ left: `${x + (isLeft ? -GAP : GAP)}px`, top: `${y + GAP}px` }}
    >
      <b>
        {outcome === 'up' ? 'Up' : 'Down'}, {clockText(ms, startMs)}
      </b>
      <dl>
        {rows.map(([name, text, side = '']) => [
          <dt key={name}>{name}</dt>,
          <dd key={text} class={`outcome ${side}`}>
            {text}
          </dd>,
        ])}
      </dl>
    </div>
  );
}
