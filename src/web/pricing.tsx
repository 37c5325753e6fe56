import { Elysia } from 'elysia';
import type { Billing } from '../billing/billing.ts';
import { htmlDocument } from '../http/pages/document.tsx';
import { publicPageHeaders } from '../http/pages/page-headers.ts';
import { respond } from '../http/response/response.ts';
import type { Registry } from '../store/registry.ts';
import { TierFacts } from './tier-facts.tsx';
import { priceText } from './tier-texts.ts';

interface PricingDeps {
  readonly registry: Registry;
  /** Undefined: payments are off, and nothing can be bought. */
  readonly billing: Billing | undefined;
  readonly hasAccounts: boolean;
}

/** GET /pricing: the tiers with their prices, for everybody. */
export function pricingSite({ registry, billing, hasAccounts }: PricingDeps) {
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
              <div class="price">{priceText(tier)}</div>
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
