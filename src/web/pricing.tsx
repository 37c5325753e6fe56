import { Elysia } from 'elysia';
import type { Billing } from '../billing/billing.ts';
import { htmlDocument } from '../http/pages/document.tsx';
import { publicPageHeaders } from '../http/pages/page-headers.ts';
import { respond } from '../http/response/response.ts';
import type { Registry } from '../store/registry.ts';
import type { WebDeps } from './routes.ts';
import { TierFacts, TierPrice } from './tier-facts.tsx';

interface PricingDeps extends Pick<WebDeps, 'contact'> {
  readonly registry: Registry;
  /** Undefined: payments are off, and nothing can be bought. */
  readonly billing: Billing | undefined;
  readonly hasAccounts: boolean;
}

/** GET /pricing: the tiers with their prices, for everybody. */
export function pricingSite({ registry, billing, contact, hasAccounts }: PricingDeps) {
  const tokens = billing?.chains.flatMap(({ name, tokens }) => tokens.map(({ symbol }) => `${symbol} on ${name}`));
  return new Elysia({ name: 'pricing', detail: { hide: true } }).get('/pricing', ({ set }) => {
    const tiers = registry.database.readShared(() => registry.tiers.list());
    const children = (
      <>
        <h1>Pricing</h1>
        <div class="cards">
          {tiers.map((tier) => (
            <section key={tier.id} class="card">
              <h2>{tier.name}</h2>
              <TierPrice tier={tier} contact={contact} />
              <TierFacts tier={tier} />
              {tokens !== undefined && (tier.monthlyPriceUsd ?? 0) > 0 && (
                <>
                  <p class="quiet small">30 days, paid with {tokens.join(', ')}. Nothing is charged automatically.</p>
                  {hasAccounts && (
                    <a class="button primary wide" href="/account/plan">
                      Buy {tier.name}
                    </a>
                  )}
                </>
              )}
            </section>
          ))}
        </div>
        {hasAccounts && (
          <p>
            <a href="/account">Sign in</a> to get a key, or to change your tier.
          </p>
        )}
      </>
    );
    const page = htmlDocument({ title: 'Pricing', section: 'Pricing', hasAccounts, children });
    return respond(set, page, publicPageHeaders());
  });
}
