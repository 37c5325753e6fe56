import type { Tier } from '../domain/tier.ts';
import { Facts } from '../http/pages/facts.tsx';
import { numberText } from './texts.ts';
import { grantedText } from './tier-texts.ts';

/** The coins, the routes and the requests that a tier grants. */
export function TierFacts({ tier }: { readonly tier: Tier }) {
  return (
    <Facts
      isCard={false}
      facts={{
        Coins: grantedText(tier.coins),
        Routes: grantedText(tier.routes),
        Requests: `${numberText(tier.requestsPerMinute)} a minute per key`,
      }}
    />
  );
}
