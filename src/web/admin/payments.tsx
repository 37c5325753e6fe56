import type { Billing } from '../../billing/billing.ts';
import type { GasReading } from '../../chain/gas-watch.ts';
import type { Payment } from '../../domain/payment.ts';
import type { Revenue } from '../../store/payments.ts';
import type { Registry } from '../../store/registry.ts';
import { List } from '../list.tsx';
import type { Answer, PageRequest } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import { errorSentence } from '../posted-form.ts';
import { amountColumn, State, tokenText, transactionColumn } from '../shown-payment.tsx';
import { type Column, Table } from '../table.tsx';
import { numberText, usdText } from '../texts.ts';
import { tierName } from '../tier-texts.ts';
import { Time } from '../time.tsx';
import { ACCOUNT_FILTER, AccountLink, filteredAccount } from './shown-account.tsx';

export const PAYMENTS_PATH = '/admin/payments';
/** The number of sums, each of a month and a token, that the page lists. */
const SUMS_MAX = 24;

/** GET /admin/payments?account={address or id}&before. */
export function paymentList({ registry, billing }: WebDeps, person: Person, { query }: PageRequest): Answer {
  const { payments, database } = registry;
  const { accountId, unknown } = filteredAccount(registry, query);
  const gas = billing?.gas.readings ?? [];
  return personPage(
    person,
    { title: 'Payments', path: PAYMENTS_PATH },
    <>
      <GasKeys readings={gas.filter(({ warning }) => warning !== undefined)} />
      <h2>Revenue</h2>
      <Table
        label="Revenue by month and token"
        columns={revenueColumns(billing)}
        rows={database.read(() => payments.revenue(SUMS_MAX))}
        empty="No payment was mined yet."
      />
      <GasKeys readings={gas.filter(({ warning }) => warning === undefined)} />
      <h2>All payments</h2>
      <List
        label="Payments"
        path={PAYMENTS_PATH}
        query={query}
        filters={[ACCOUNT_FILTER]}
        cursor="before"
        find={(limit, beforeId) =>
          unknown === undefined ? database.read(() => payments.list(limit, { accountId, beforeId })) : []
        }
        columns={paymentColumns(registry, billing)}
        empty={unknown === undefined ? 'There are no payments.' : `There is no account '${unknown}'.`}
      />
    </>,
  );
}

/** A line for each gas key; a warning if it needs more. */
function GasKeys({ readings }: { readonly readings: readonly GasReading[] }) {
  return readings.map(({ network, name, address, balance, transfers, warning }) => (
    <p key={network} class={warning === undefined ? 'quiet small long' : 'notice warn long'} role="status">
      {warning === undefined
        ? `Gas on ${name}: enough for about ${numberText(transfers ?? 0)} transfers (${balance} at ${address}).`
        : errorSentence({ message: warning })}
    </p>
  ));
}

function revenueColumns(billing: Billing | undefined): Column<Revenue>[] {
  return [
    { heading: 'Month', class: 'nowrap', cell: ({ month }) => month },
    { heading: 'Token', class: 'long', cell: (token) => tokenText(billing, token) },
    { heading: 'Payments', class: 'number', cell: ({ payments }) => numberText(payments) },
    { heading: 'Amount', class: 'number', cell: ({ cents }) => usdText(cents / 100) },
  ];
}

function paymentColumns(registry: Registry, billing: Billing | undefined): Column<Payment>[] {
  return [
    {
      heading: 'Account',
      class: 'long',
      cell: ({ id, quote, createdMs, invoice }) => (
        <>
          <AccountLink
            id={quote.accountId}
            email={registry.database.read(() => registry.accounts.find(quote.accountId)!.email)}
          />
          <div class="quiet">
            <Time ms={createdMs} /> · {id}
            {invoice !== undefined && (
              <>
                {' '}
                · <a href={`${PAYMENTS_PATH}/${quote.id}/invoice`}>Invoice {invoice}</a>
              </>
            )}
          </div>
        </>
      ),
    },
    { heading: 'Tier', cell: ({ quote }) => tierName(registry, quote.tier) },
    amountColumn(billing),
    { heading: 'State', cell: (payment) => <State payment={payment} isExact /> },
    transactionColumn(billing),
  ];
}
