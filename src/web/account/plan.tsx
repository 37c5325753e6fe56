import { keysOf } from '../../account/account-keys.ts';
import type { Price } from '../../billing/billing.ts';
import { startOfTerm, termOfPayment } from '../../billing/paid-grants.ts';
import type { AccountGrant } from '../../domain/account.ts';
import type { InstantMs } from '../../domain/instant.ts';
import type { Tier } from '../../domain/tier.ts';
import { List } from '../list.tsx';
import type { Answer, PageRequest } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import { amountColumn, State, transactionColumn } from '../shown-payment.tsx';
import { Table } from '../table.tsx';
import { numberText } from '../texts.ts';
import { AskOperator, compared, TierCard } from '../tier-card.tsx';
import { tierName } from '../tier-texts.ts';
import { Time } from '../time.tsx';
import { BuyForm, PLAN_PATH } from './buy-form.tsx';
import { BuyerForm } from './invoice.tsx';
import { PinnedKeys } from './keys.tsx';

const SOURCES: Readonly<Record<AccountGrant['source'], string>> = { operator: 'the operator', payment: 'a payment' };

/** GET /account/plan. */
export function planPage(
  { registry, billing, service, contact, nowMs: clock }: WebDeps,
  person: Person,
  { query }: PageRequest,
): Answer {
  const { accountTiers, database, grants, tiers } = registry;
  const nowMs = clock();
  const { id } = person.account;
  const { present, endsMs, granted, catalog } = database.read(() => {
    const { tier, ...term } = accountTiers.at(id, nowMs);
    const listed = tiers.list();
    // It may be retired.
    const catalog = listed.some((one) => one.id === tier.id) ? listed : [tier, ...listed];
    return { ...term, present: tier, granted: grants.ofAccount(id), catalog };
  });
  const prices = new Map(catalog.map((tier) => [tier.id, pricesFor({ registry, billing }, id, tier, nowMs)]));
  const unexpired = granted.filter(({ startsMs, endsMs: end = Infinity }) => Math.max(nowMs, startsMs) < end);
  const noEnd = unexpired.length === 0 ? 'Every account without a grant has this tier.' : 'This tier has no end.';
  const differing = compared(catalog);
  const hasBuyable = catalog.some((tier) => prices.get(tier.id)!.length > 0);
  return personPage(
    person,
    { title: 'Plan', path: '/account/plan' },
    <>
      <div class="card">
        <h2>
          {present.name} <span class="badge accent">your tier</span>
        </h2>
        <p class="quiet">
          {endsMs === Infinity ? noEnd : ['Until ', <Time ms={endsMs} />, '.']} Each key may send{' '}
          {numberText(present.requestsPerMinute)} requests a minute.
        </p>
      </div>
      {billing !== undefined && <PinnedKeys keys={keysOf(registry, service.activity.usage, id)} registry={registry} />}
      <h2>Tiers</h2>
      <p class="quiet">{differing.shared}</p>
      <div class="cards tiers">
        {catalog.map((tier) => (
          <TierCard key={tier.id} tier={tier} grants={differing.grants} isPresent={tier.id === present.id}>
            <BuyForm prices={prices.get(tier.id)!} />
            {prices.get(tier.id)!.length === 0 && tier.id !== present.id && tier.monthlyPriceUsd !== 0 && (
              <AskOperator contact={contact} />
            )}
          </TierCard>
        ))}
      </div>
      {hasBuyable && (
        <p class="quiet">
          A tier that you buy lasts 30 days, and your keys have it from their next request on. Nothing is charged
          automatically: at the end, your account has the highest tier that is left. Buying a tier again adds 30 days;
          the days that are left of a lower tier follow after it.
        </p>
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
                  {tierName(registry, tier)} {startsMs > nowMs && <span class="badge">later</span>}
                </>
              ),
            },
            { heading: 'From', cell: ({ startsMs }) => <Time ms={startsMs} /> },
            { heading: 'Until', cell: ({ endsMs: untilMs }) => <Time ms={untilMs} or="no end" /> },
            { heading: 'By', cell: ({ source }) => SOURCES[source] },
          ]}
          rows={unexpired}
          empty=""
        />
      )}
      {billing?.settings.seller && <BuyerForm lines={database.read(() => registry.invoices.buyer(id))} />}
      <Receipts deps={{ registry, billing }} accountId={id} query={query} />
    </>,
  );
}

/** The prices at which an account may buy a tier now. */
function pricesFor({ registry, billing }: PaidDeps, accountId: number, tier: Tier, nowMs: InstantMs): readonly Price[] {
  if (billing === undefined || (tier.monthlyPriceUsd ?? 0) === 0) return [];
  const startsMs = registry.database.read(() => startOfTerm(registry, { accountId, tier: tier.id }, nowMs));
  return startsMs === Infinity ? [] : billing.prices(tier.id);
}

type PaidDeps = Pick<WebDeps, 'registry' | 'billing'>;

interface ReceiptsContent {
  readonly deps: PaidDeps;
  readonly accountId: number;
  readonly query: URLSearchParams;
}

/** The payments of an account, the latest first; also while payments are off. */
function Receipts({ deps: { registry, billing }, accountId, query }: ReceiptsContent) {
  const { payments, tiers, database } = registry;
  const find = (limit: number, beforeId?: string) =>
    database.read(() =>
      payments.list(limit, { accountId, beforeId }).map((payment) => ({
        ...payment,
        tier: tiers.named(payment.quote.tier).name,
        term: termOfPayment(registry, accountId, payment.id),
      })),
    );
  if (billing === undefined && find(1).length === 0) return null;
  return (
    <List
      label="Receipts"
      isTitled
      path={PLAN_PATH}
      query={query}
      cursor="before"
      size={10}
      find={find}
      columns={[
        {
          heading: 'Tier',
          class: 'nowrap',
          cell: ({ quote, tier }) => <a href={`${PLAN_PATH}/${quote.id}`}>{tier}</a>,
        },
        { heading: 'Date', cell: ({ createdMs }) => <Time ms={createdMs} /> },
        amountColumn(billing),
        { heading: 'State', cell: (payment) => <State payment={payment} /> },
        { heading: 'From', cell: ({ term }) => <Time ms={term?.startsMs} /> },
        { heading: 'Until', cell: ({ term }) => <Time ms={term?.endsMs} /> },
        transactionColumn(billing),
      ]}
      empty="You have bought nothing yet."
    />
  );
}
