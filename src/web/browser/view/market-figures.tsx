import { directionOf } from '../../../domain/winner-check.ts';
import type { MarketContent } from './explorer.ts';
import { clockText, distanceText, priceText } from './market-texts.ts';
import { priceAt } from './reference-prices.ts';

/** The prices that decide the market, and how far from the strike the coin is at the instant. Nothing without prices. */
export function MarketFigures({ explorer, shown: { state } }: MarketContent) {
  const { name, reference, strike, final } = explorer.coin.value;
  const tick = reference && priceAt(reference, state.atMs.value);
  const figures = [
    ['Strike', strike],
    [tick && `${name}, ${clockText(tick.timestampMs, state.home.from)}`, tick?.price],
    ['Final price', final],
  ] as const;
  if (figures.every(([, price]) => price === undefined)) return null;
  return (
    <dl class="row figures">
      {figures.map(
        ([title, price], nth) =>
          price !== undefined && (
            <div key={nth} class="figure">
              <dt>{title}</dt>
              <dd>
                {priceText(price)}{' '}
                {nth > 0 && strike !== undefined && (
                  <span class={`outcome ${directionOf(strike, price)}`}>{distanceText(price, strike)}</span>
                )}
              </dd>
            </div>
          ),
      )}
    </dl>
  );
}
