import { Elysia } from 'elysia';
import type { AccountService } from '../account/account-service.ts';
import type { Billing } from '../billing/billing.ts';
import type { Tier } from '../domain/tier.ts';
import { htmlDocument } from '../http/pages/document.tsx';
import { publicPageHeaders } from '../http/pages/page-headers.ts';
import { respond } from '../http/response/response.ts';
import type { Registry } from '../store/registry.ts';
import { priceToken } from './account/buy-form.tsx';
import type { WebDeps } from './person-page.tsx';
import { signedInBy } from './signed-in.ts';
import { AskOperator, compared, HowToAsk, HowToPay, TierCard } from './tier-card.tsx';

interface PricingDeps extends Pick<WebDeps, 'contact' | 'nowMs'> {
  readonly registry: Registry;
  /** Undefined: payments are off, and nothing can be bought. */
  readonly billing: Billing | undefined;
  /** Undefined: there are no accounts. */
  readonly service: Pick<AccountService, 'sessions' | 'publicUrl'> | undefined;
}

/** GET /pricing: the tiers with their prices for everybody, each with what this visitor can do. */
export function pricingSite({ registry, billing, contact, service, nowMs }: PricingDeps) {
  const tokens = billing?.chains.flatMap((chain) => chain.tokens.map((token) => priceToken({ chain, token })));
  const hasAccounts = service !== undefined;
  return new Elysia({ name: 'pricing', detail: { hide: true } }).get('/pricing', ({ request, set }) => {
    const account = service && signedInBy(request, service)?.account;
    const { listed, ownTier } = registry.database.readShared(() => ({
      listed: registry.tiers.list(),
      ownTier: account && registry.accountTiers.at(account.id, nowMs()).tier.id,
    }));
    const isSold = (tier: Tier) => tokens !== undefined && (tier.monthlyPriceUsd ?? 0) > 0;
    const { tiers, grants, shared } = compared(listed);
    const recommended = ownTier === undefined ? tiers.find((tier) => (tier.monthlyPriceUsd ?? 0) > 0) : undefined;
    const onRequest = tiers.filter((tier) => tier.id !== ownTier && tier.monthlyPriceUsd !== 0 && !isSold(tier));
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
              isRecommended={tier === recommended}
            >
              <TierAction
                tier={tier}
                isSold={isSold(tier)}
                isRecommended={tier === recommended}
                {...{ ownTier, contact, hasAccounts }}
              />
            </TierCard>
          ))}
        </div>
        {tiers.some(isSold) && <HowToPay tokens={tokens!} />}
        {contact === undefined && onRequest.length > 0 && (
          <HowToAsk names={onRequest.map(({ name }) => name)} email={account?.email} />
        )}
      </>
    );
    const page = htmlDocument({ title: 'Pricing', section: 'Pricing', hasAccounts, children });
    return respond(set, page, publicPageHeaders());
  });
}

interface ActionContent extends Pick<WebDeps, 'contact'> {
  readonly tier: Tier;
  readonly isSold: boolean;
  readonly isRecommended: boolean;
  /** The tier of the signed-in account; undefined: nobody is signed in. */
  readonly ownTier: string | undefined;
  readonly hasAccounts: boolean;
}

function TierAction({ tier, isSold, isRecommended, ownTier, contact, hasAccounts }: ActionContent) {
  const link = (href: string, text: string, look = 'wide') => (
    <a class={`button ${look}`} href={href}>
      {text}
    </a>
  );
  if (tier.id === ownTier) return link('/account/keys/new', 'Create a key');
  if (isSold && hasAccounts) return link('/account/plan', `Buy ${tier.name}`, isRecommended ? 'primary wide' : 'wide');
  if (!hasAccounts || tier.monthlyPriceUsd !== 0) return <AskOperator contact={contact} />;
  return ownTier === undefined ? link('/account', 'Start free') : link('/account/plan', 'Change plan');
}
