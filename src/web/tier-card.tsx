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
  /** The action that the person can take. */
  readonly children: ComponentChildren;
}

/** A tier to choose: its price, limits, and each route with a sign whether it is granted. The parts of cards that are beside each other are in line. */
export function TierCard({ tier, isPresent, children }: TierCardContent) {
  const price = priceText(tier);
  const hasTerm = (tier.monthlyPriceUsd ?? 0) > 0;
  return (
    <section class={isPresent ? 'card tier chosen' : 'card tier'}>
      <div class="row spread">
        <h2>{tier.name}</h2>
        {isPresent && <span class="badge accent">your tier</span>}
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
          // No tier has a limit of either.
          History: 'From the first recording',
          Depth: grantsRoute(tier, 'snapshots') ? 'Every recorded level' : 'No books',
        }}
      />
      <ul class="grants">
        {GRANTS.map((grant) => (
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

/** How to get a tier that cannot be bought here. `isVisitor`: nobody is signed in, and there are accounts. */
export function AskOperator({
  contact,
  isVisitor = false,
}: {
  readonly contact: string | undefined;
  isVisitor?: boolean;
}) {
  if (contact === undefined && isVisitor) {
    return (
      <>
        <p class="quiet small">The operator of this service can give this tier to your account.</p>
        <a class="button wide" href="/account">
          Sign in
        </a>
      </>
    );
  }
  if (contact === undefined) return <p class="quiet small">Only the operator of this service can give it to you.</p>;
  return (
    <a class="button wide" href={contact}>
      Contact us
    </a>
  );
}
