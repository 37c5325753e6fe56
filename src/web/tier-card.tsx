import type { ComponentChildren } from 'preact';
import { GRANTS, type Grant, grantsRoute, type Tier } from '../domain/tier.ts';
import { Facts } from '../http/pages/facts.tsx';
import { numberText } from './texts.ts';
import { byPrice, coinsText, priceText, TERM } from './tier-texts.ts';

const GRANT_NAMES: Readonly<Record<Grant, string>> = {
  markets: 'Markets',
  prices: 'Coin prices',
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
      <h2>
        {tier.name} {isPresent && <span class="badge">your tier</span>}
        {isRecommended && <span class="badge">recommended</span>}
      </h2>
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

/** `markets, coin prices, order books`. */
export function includedText(tier: Tier): string {
  return namesOf((grant) => grantsRoute(tier, grant)).join(', ');
}

function namesOf(isShown: (grant: Grant) => boolean): string[] {
  return GRANTS.filter(isShown).map((grant) => GRANT_NAMES[grant].toLowerCase());
}

interface Comparison {
  readonly tiers: readonly Tier[];
  /** The routes that some of the tiers lack. */
  readonly grants: readonly Grant[];
  /** A sentence about what all of them have. */
  readonly shared: string;
}

export function compared(listed: readonly Tier[]): Comparison {
  const tiers = byPrice(listed);
  const isOfAll = (grant: Grant) => tiers.every((tier) => grantsRoute(tier, grant));
  const names = namesOf(isOfAll);
  const what = names.length === 0 ? 'Every tier' : `Every tier has ${names.join(' and ')}, and`;
  const shared = `${what} reaches back to the first recording.`;
  return { tiers, grants: GRANTS.filter((grant) => !isOfAll(grant)), shared };
}

/** A link to the contact for a tier that cannot be bought here. Without one the page has `HowToAsk`. */
export function AskOperator({ contact }: { readonly contact: string | undefined }) {
  if (contact === undefined) return null;
  return (
    <a class="button wide" href={contact}>
      Contact us
    </a>
  );
}

interface HowToAskContent {
  /** The names of the tiers. */
  readonly names: readonly string[];
  /** The address of the person's account; undefined: nobody is signed in. */
  readonly email: string | undefined;
}

/** The way to a tier of a service that states no contact. */
export function HowToAsk({ names, email }: HowToAskContent) {
  return (
    <p class="quiet">
      Ask the operator of this service for {names.join(' or ')}
      {email !== undefined && `, and name your account, ${email}`}.
    </p>
  );
}

/** How tiers are paid and changed. `tokens`: as `USDC on the network Polygon`. */
export function HowToPay({ tokens }: { readonly tokens: readonly string[] }) {
  return (
    <>
      <p class="quiet">
        You pay once for 30 days with a token: {tokens.join(' or ')}. One token is one US dollar. The network fee is
        included: your wallet pays nothing on top. Nothing renews by itself.
      </p>
      <details class="card fold">
        <summary>What happens when you change tiers</summary>
        <p class="quiet">
          A higher tier starts at once, from the next request of your keys on. The days that are left of a lower one
          follow after it. At the end your account has the highest tier that is left.
        </p>
      </details>
    </>
  );
}
