import { Elysia } from 'elysia';
import type { AccountService } from '../account/account-service.ts';
import type { Billing } from '../billing/billing.ts';
import type { Tier } from '../domain/tier.ts';
import { htmlDocument } from '../http/pages/document.tsx';
import { publicPageHeaders } from '../http/pages/page-headers.ts';
import { respond } from '../http/response/response.ts';
import type { Registry } from '../store/registry.ts';
import { cookiesOf } from './cookies.ts';
import type { WebDeps } from './person-page.tsx';
import { AskOperator, compared, TierCard } from './tier-card.tsx';

interface PricingDeps extends Pick<WebDeps, 'contact' | 'nowMs'> {
  readonly registry: Registry;
  /** Undefined: payments are off, and nothing can be bought. */
  readonly billing: Billing | undefined;
  /** Undefined: there are no accounts. */
  readonly service: Pick<AccountService, 'sessions'> | undefined;
}

/** GET /pricing: the tiers with their prices for everybody, each with what this visitor can do. */
export function pricingSite({ registry, billing, contact, service, nowMs }: PricingDeps) {
  const tokens = billing?.chains.flatMap(({ name, tokens }) => tokens.map(({ symbol }) => `${symbol} on ${name}`));
  const hasAccounts = service !== undefined;
  return new Elysia({ name: 'pricing', detail: { hide: true } }).get('/pricing', ({ request, set }) => {
    const account = service?.sessions.find(cookiesOf(request).session)?.account;
    const { tiers, ownTier } = registry.database.readShared(() => ({
      tiers: registry.tiers.list(),
      ownTier: account && registry.accountTiers.at(account.id, nowMs()).tier.id,
    }));
    const isSold = (tier: Tier) => tokens !== undefined && (tier.monthlyPriceUsd ?? 0) > 0;
    const { grants, shared } = compared(tiers);
    const recommended = tiers.find((tier) => (tier.monthlyPriceUsd ?? 0) > 0);
    const isByOperator = contact === undefined && hasAccounts && ownTier === undefined;
    const children = (
      <>
        <h1>Pricing</h1>
        <p class="lead">{shared}</p>
        <div class="cards tiers">
          {tiers.map((tier) => (
            <TierCard
              key={tier.id}
              tier={tier}
              grants={grants}
              isPresent={tier.id === ownTier}
              isRecommended={ownTier === undefined && tier === recommended}
            >
              <TierAction tier={tier} isSold={isSold(tier)} {...{ ownTier, contact, hasAccounts }} />
            </TierCard>
          ))}
        </div>
        <p class="quiet small">
          {tiers.some(isSold) &&
            `A tier lasts 30 days, paid with ${tokens!.join(', ')}. Nothing is charged automatically. `}
          {isByOperator && 'The operator of this service can give the other tiers to your account.'}
        </p>
      </>
    );
    const page = htmlDocument({ title: 'Pricing', section: 'Pricing', hasAccounts, children });
    return respond(set, page, publicPageHeaders());
  });
}

interface ActionContent extends Pick<WebDeps, 'contact'> {
  readonly tier: Tier;
  readonly isSold: boolean;
  /** The tier of the signed-in account; undefined: nobody is signed in. */
  readonly ownTier: string | undefined;
  readonly hasAccounts: boolean;
}

function TierAction({ tier, isSold, ownTier, contact, hasAccounts }: ActionContent) {
  const link = (href: string, text: string, look = 'wide') => (
    <a class={`button ${look}`} href={href}>
      {text}
    </a>
  );
  if (tier.id === ownTier) return link('/account/keys/new', 'Create a key');
  if (isSold && hasAccounts) return link('/account/plan', `Buy ${tier.name}`, 'primary wide');
  if (!hasAccounts || tier.monthlyPriceUsd !== 0)
    return <AskOperator contact={contact} isVisitor={hasAccounts && ownTier === undefined} />;
  return ownTier === undefined ? link('/account', 'Start free') : link('/account/plan', 'Your plan');
}
