import { keysOf } from '../../account/account-keys.ts';
import type { Price } from '../../billing/billing.ts';
import { startOfTerm } from '../../billing/paid-grants.ts';
import type { AccountGrant } from '../../domain/account.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { TERM_MS } from '../../domain/payment.ts';
import type { Tier } from '../../domain/tier.ts';
import type { Answer } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import { Table } from '../table.tsx';
import { numberText } from '../texts.ts';
import { AskOperator, compared, HowToAsk, HowToPay, TierCard } from '../tier-card.tsx';
import { daysLeftText, priceText, tierName } from '../tier-texts.ts';
import { Time, timeColumn } from '../time.tsx';
import { BILLING } from './billing.tsx';
import { BuyForm, PLAN_PATH, priceToken } from './buy-form.tsx';
import { PinnedKeys } from './keys.tsx';

const SOURCES: Readonly<Record<AccountGrant['source'], string>> = { operator: 'the operator', payment: 'a payment' };

/** GET /account/plan. */
export function planPage({ registry, billing, service, contact, nowMs: clock }: WebDeps, person: Person): Answer {
  const { accountTiers, database, grants, payments, tiers } = registry;
  const nowMs = clock();
  const { id, email } = person.account;
  const { present, endsMs, granted, catalog, hasPaid } = database.read(() => {
    const { tier, ...term } = accountTiers.at(id, nowMs);
    const listed = tiers.list();
    // It may be retired.
    const catalog = listed.some((one) => one.id === tier.id) ? listed : [tier, ...listed];
    const hasPaid = payments.list(1, { accountId: id }).length > 0;
    return { ...term, present: tier, granted: grants.ofAccount(id), catalog, hasPaid };
  });
  const offers = new Map(catalog.map((tier) => [tier.id, offerOf({ registry, billing }, id, tier, nowMs)]));
  const tokens = new Set([...offers.values()].flatMap(({ prices }) => prices.map(priceToken)));
  const unexpired = granted.filter(({ startsMs, endsMs: end = Infinity }) => Math.max(nowMs, startsMs) < end);
  const noEnd =
    unexpired.length === 0 ? 'Every account has this tier as long as it has no other.' : 'This tier has no end.';
  const { tiers: shown, grants: differing, shared } = compared(catalog);
  const isOnRequest = (tier: Tier) =>
    offers.get(tier.id)!.prices.length === 0 && tier.id !== present.id && tier.monthlyPriceUsd !== 0;
  const onRequest = shown.filter(isOnRequest);
  return personPage(
    person,
    {
      title: 'Plan',
      path: PLAN_PATH,
      action: (billing !== undefined || hasPaid) && (
        <a class="button" href={BILLING.href}>
          Receipts and invoices
        </a>
      ),
    },
    <>
      <div class="card present-plan">
        <div>
          <h2>{present.name}</h2>
          <div class="price">{priceText(present)}</div>
          <p>
            {endsMs === Infinity
              ? noEnd
              : [<b>{daysLeftText(endsMs - nowMs)}</b>, ', until ', <Time ms={endsMs} />, '.']}{' '}
            Each key may send {numberText(present.requestsPerMinute)} requests a minute.
          </p>
          {billing !== undefined && (
            <PinnedKeys keys={keysOf(registry, service.activity.usage, id)} registry={registry} />
          )}
        </div>
        <BuyForm {...offers.get(present.id)!} isPresent nowMs={nowMs} />
      </div>
      <h2>Tiers</h2>
      <p class="quiet">{shared}</p>
      <div class="cards tiers">
        {shown.map((tier) => (
          <TierCard key={tier.id} tier={tier} grants={differing} isPresent={tier.id === present.id}>
            {tier.id === present.id && <p class="quiet">You have this tier.</p>}
            {tier.id !== present.id && <BuyForm {...offers.get(tier.id)!} nowMs={nowMs} />}
            {tier.id !== present.id && tier.id === accountTiers.ungranted && <p class="quiet">For everybody.</p>}
            {isOnRequest(tier) && <AskOperator contact={contact} />}
          </TierCard>
        ))}
      </div>
      {tokens.size > 0 && <HowToPay tokens={[...tokens]} />}
      {contact === undefined && onRequest.length > 0 && (
        <HowToAsk names={onRequest.map(({ name }) => name)} email={email} />
      )}
      {unexpired.length > 0 && (
        <Table
          label="Periods"
          isTitled
          columns={[
            {
              heading: 'Tier',
              cell: ({ tier, startsMs }) => (
                <>
                  {tierName(registry, tier)}{' '}
                  {startsMs > nowMs ? <span class="badge">later</span> : <span class="badge accent">now</span>}
                </>
              ),
            },
            timeColumn('From', 'startsMs'),
            timeColumn('Until', 'endsMs', 'no end'),
            { heading: 'By', cell: ({ source }) => SOURCES[source] },
          ]}
          rows={unexpired.toSorted((a, b) => a.startsMs - b.startsMs)}
          empty=""
        />
      )}
    </>,
  );
}

interface Offer {
  /** Empty: the account cannot buy the tier. */
  readonly prices: readonly Price[];
  /** The term if it is bought now. */
  readonly startsMs: InstantMs;
  readonly endsMs: InstantMs;
}

function offerOf(
  { registry, billing }: Pick<WebDeps, 'registry' | 'billing'>,
  accountId: number,
  { id, monthlyPriceUsd = 0 }: Tier,
  nowMs: InstantMs,
): Offer {
  const startsMs = registry.database.read(() => startOfTerm(registry, { accountId, tier: id }, nowMs));
  const isSold = billing !== undefined && monthlyPriceUsd > 0 && startsMs !== Infinity;
  return { prices: isSold ? billing.prices(id) : [], startsMs, endsMs: startsMs + TERM_MS };
}
