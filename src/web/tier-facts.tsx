import type { Tier } from '../domain/tier.ts';
import { Facts } from '../http/pages/facts.tsx';
import type { WebDeps } from './routes.ts';
import { numberText } from './texts.ts';
import { grantedText, isOnRequest, priceText } from './tier-texts.ts';

/** The price of a tier; where it is on request, with a link to ask for it if the service has a contact. */
export function TierPrice({ tier, contact }: { readonly tier: Tier } & Pick<WebDeps, 'contact'>) {
  return (
    <div class="price row">
      {priceText(tier)}
      {contact !== undefined && isOnRequest(tier) && (
        <a class="button small" href={contact}>
          Contact us
        </a>
      )}
    </div>
  );
}

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
