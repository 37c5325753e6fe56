import { refuseUnprintableName } from '../../account/printable-name.ts';
import { Facts } from '../../http/pages/facts.tsx';
import { Field, Form } from '../form.tsx';
import { List } from '../list.tsx';
import { type Answer, type PageRequest, redirect } from '../page-request.ts';
import { type Person, personPage, posted, type WebDeps } from '../person-page.tsx';
import { amountColumn, State } from '../shown-payment.tsx';
import { daysLeftText, priceText } from '../tier-texts.ts';
import { Time, timeColumn } from '../time.tsx';
import { PLAN_PATH } from './buy-form.tsx';

/** The way back from receipts and invoices. */
export const BILLING = { href: '/account/billing', name: 'Billing' } as const;
/** The parts of a buyer on invoices, in the order of its lines, each with its name and what browsers fill in. */
const BUYER = [
  ['name', 'Name or company', 'organization'],
  ['street', 'Street and number', 'address-line1'],
  ['more', 'Address line 2', 'address-line2'],
  ['city', 'Postal code and city', 'off'],
  ['country', 'Country', 'country-name'],
  ['tax', 'Tax number', 'off'],
] as const;

/** GET /account/billing: the payments of an account, the latest first, and the address on its invoices. Also while payments are off. */
export function billingPage({ registry, billing, nowMs }: WebDeps, person: Person, { query }: PageRequest): Answer {
  const { accountTiers, database, invoices, payments, tiers } = registry;
  const { id: accountId } = person.account;
  const plan = database.read(() => accountTiers.at(accountId, nowMs()));
  return personPage(
    person,
    {
      title: BILLING.name,
      path: BILLING.href,
      action: (
        <a class="button primary" href={PLAN_PATH}>
          {plan.endsMs === Infinity ? 'Change plan' : 'Extend or change plan'}
        </a>
      ),
    },
    <>
      <Facts
        facts={{
          'Your plan': `${plan.tier.name}, ${priceText(plan.tier)}`,
          Until:
            plan.endsMs === Infinity
              ? 'no end'
              : [<Time ms={plan.endsMs} />, ', ', <b>{daysLeftText(plan.endsMs - nowMs())}</b>],
        }}
      />
      <List
        label="Receipts"
        isTitled
        path={BILLING.href}
        query={query}
        cursor="before"
        size={10}
        find={(limit, beforeId) =>
          database.read(() =>
            payments.list(limit, { accountId, beforeId }).map((payment) => ({
              ...payment,
              tier: tiers.named(payment.quote.tier).name,
            })),
          )
        }
        columns={[
          {
            heading: 'Receipt',
            class: 'nowrap',
            cell: ({ quote, tier }) => <a href={`${PLAN_PATH}/${quote.id}`}>{tier}, 30 days</a>,
          },
          timeColumn('Date', 'createdMs'),
          amountColumn(billing),
          { heading: 'State', cell: (payment) => <State payment={payment} /> },
          {
            heading: 'Invoice',
            class: 'nowrap',
            cell: ({ quote, invoice }) =>
              invoice !== undefined && <a href={`${PLAN_PATH}/${quote.id}/invoice`}>Invoice {invoice}</a>,
          },
        ]}
        empty="You have bought nothing yet."
      />
      {billing?.settings.seller && <BuyerForm lines={database.read(() => invoices.buyer(accountId))} />}
    </>,
  );
}

/** The name and the address of a buyer on invoices. */
function BuyerForm({ lines }: { readonly lines: string }) {
  const parts = lines.split('\n');
  const last = BUYER.length - 1;
  return (
    <>
      <h2>Invoice address</h2>
      <Form id="buyer" class="card" action={`${BILLING.href}/buyer`} button="Save">
        <p class="quiet">Your next invoices show this address, and so do earlier ones that show none yet.</p>
        <div class="fields">
          {BUYER.map(([name, label, autocomplete], at) => (
            <Field
              {...{ name, label, autocomplete }}
              maxLength={100}
              value={at < last ? parts[at] : parts.slice(last).join(', ')}
            />
          ))}
        </div>
      </Form>
    </>
  );
}

/** POST /account/billing/buyer. */
export const saveBuyer = posted(({ registry, person, field }) => {
  const parts = BUYER.map(([name]) => {
    const part = field(name).trim();
    refuseUnprintableName(part || undefined, 'line');
    return part;
  });
  // A part that is left out keeps its line, so that the others are found again.
  registry.database.write(() => registry.invoices.setBuyer(person.account.id, parts.join('\n').trimEnd()));
  return redirect(BILLING.href);
});
