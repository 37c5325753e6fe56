import { NARROW, WIDE } from '../pages/heat-map-svg.ts';
import type { ShownMarket } from './market-picture.ts';

/**
 * The picture of a market, as wide as the content. On a phone it is a picture of its own, with labels that can be read. `isLazy`: browsers load
 * it when it is seen, and not where the style sheet hides it.
 */
export function MarketFigure({ shown, isLazy = false }: { shown: ShownMarket; isLazy?: boolean }) {
  const { path, narrowPath, title } = shown;
  return (
    <figure class="market-picture">
      <figcaption class="quiet small">
        A recorded market: time to the right, the price of an “up” share ($0 to $1) upwards.{' '}
        <span class="outcome up">Blue</span>: shares wanted. <span class="outcome down">Orange</span>: shares offered.
        Stronger: more.
      </figcaption>
      <picture>
        <source media="(max-width: 40rem)" srcset={narrowPath} width={NARROW.width} height={NARROW.height} />
        <img src={path} alt={title} width={WIDE.width} height={WIDE.height} loading={isLazy ? 'lazy' : undefined} />
      </picture>
    </figure>
  );
}
