import type { ComponentChildren } from 'preact';
import { GRANTS, type Grant, grantsRoute, type Tier } from '../domain/tier.ts';
import { Facts } from '../http/pages/facts.tsx';
import { numberText } from './texts.ts';
import { coinsText, priceText, TERM } from './tier-texts.ts';

const GRANT_NAMES: Readonly<Record<Grant, string>> = {
  markets: 'Markets',
  prices: 'Prices of coins',
  snapshots: 'Order books',
  quotes: 'Best bid and ask',
  export: 'Downloads',
  replay: 'Replays',
};

interface TierCardContent {
  readonly tier: Tier;
  /** The tier of the person who sees it. */
  readonly isPresent: boolean;
  /** Most people want it. */
  readonly isRecommended?: boolean;
  /** The routes that not all tiers beside it have. */
  readonly grants: readonly Grant[];
  /** The action that the person can take. */
  readonly children: ComponentChildren;
}

/** A tier to choose: its price, limits, and each route with a sign whether it is granted. The parts of cards that are beside each other are in line. */
export function TierCard({ tier, isPresent, isRecommended = false, grants, children }: TierCardContent) {
  const price = priceText(tier);
  const hasTerm = (tier.monthlyPriceUsd ?? 0) > 0;
  return (
    <section class={isPresent || isRecommended ? 'card tier chosen' : 'card tier'}>
      <div class="row spread">
        <h2>{tier.name}</h2>
        {isPresent && <span class="badge accent">your tier</span>}
        {isRecommended && <span class="badge accent">recommended</span>}
      </div>
      <div class="price">
        {hasTerm ? price.slice(0, -TERM.length) : price}
        {hasTerm && <small class="quiet">{TERM}</small>}
      </div>
      <Facts
        isCard={false}
        facts={{
          Coins: coinsText(tier),
          'Requests per key': `${numberText(tier.requestsPerMinute)} a minute`,
        }}
      />
      <ul class="grants">
        {grants.map((grant) => (
          <li key={grant} class={grantsRoute(tier, grant) ? 'granted' : 'quiet'}>
            {GRANT_NAMES[grant]}
            {!grantsRoute(tier, grant) && <span class="hidden"> (not included)</span>}
          </li>
        ))}
      </ul>
      <div>{children}</div>
    </section>
  );
}

/** The routes that some of these tiers lack, and a sentence about what all of them have. */
export function compared(tiers: readonly Tier[]): { readonly grants: readonly Grant[]; readonly shared: string } {
  const isOfAll = (grant: Grant) => tiers.every((tier) => grantsRoute(tier, grant));
  const names = GRANTS.filter(isOfAll).map((grant) => GRANT_NAMES[grant].toLowerCase());
  const included = names.length === 0 ? '' : `, with ${names.join(' and ')}`;
  const shared = `All tiers have the history from the first recording${included}. Order books have every recorded level.`;
  return { grants: GRANTS.filter((grant) => !isOfAll(grant)), shared };
}

/** How to get a tier that cannot be bought here. `isVisitor`: nobody is signed in; a sentence of the page names the operator. */
export function AskOperator({
  contact,
  isVisitor = false,
}: {
  readonly contact: string | undefined;
  isVisitor?: boolean;
}) {
  if (contact === undefined && isVisitor) return null;
  if (contact === undefined) return <p class="quiet small">Only the operator of this service can give it to you.</p>;
  return (
    <a class="button wide" href={contact}>
      Contact us
    </a>
  );
}
