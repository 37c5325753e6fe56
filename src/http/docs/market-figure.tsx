import { MEDIUM, NARROW, WIDE } from '../pages/heat-map-svg.ts';
import type { ShownMarket } from './market-picture.ts';

interface MarketFigureContent {
  readonly shown: ShownMarket;
  /** It is beside a form, and smaller; browsers load it when it is seen, and not where the style sheet hides it. */
  readonly isBeside?: boolean;
  /** The page is about this market. */
  readonly isOfPage?: boolean;
}

/** The picture of a market, as wide as the content. On a phone it is a picture of its own, with labels that can be read. */
export function MarketFigure({ shown, isBeside = false, isOfPage = false }: MarketFigureContent) {
  const { path, mediumPath, narrowPath, title, isSimulated } = shown;
  const { width, height } = isBeside ? MEDIUM : WIDE;
  const example = isSimulated ? 'A simulated market of this demo' : 'An example, a recorded market';
  const name = isOfPage ? 'This market' : example;
  return (
    <figure class="market-picture">
      <figcaption class="quiet small">
        {name}: time to the right, the price of an “up” share ($0 to $1) upwards. <span class="outcome up">Blue</span>:
        shares wanted. <span class="outcome down">Orange</span>: shares offered. Stronger: more.
      </figcaption>
      <picture>
        <source media="(max-width: 40rem)" srcset={narrowPath} width={NARROW.width} height={NARROW.height} />
        <img
          src={isBeside ? mediumPath : path}
          alt={title}
          {...{ width, height }}
          loading={isBeside ? 'lazy' : undefined}
        />
      </picture>
    </figure>
  );
}
