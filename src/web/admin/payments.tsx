import type { Billing } from '../../billing/billing.ts';
import type { GasReading } from '../../chain/gas-watch.ts';
import type { Payment } from '../../domain/payment.ts';
import { COPY_SCRIPT } from '../../http/pages/assets.ts';
import { Hash } from '../../http/pages/copyable.tsx';
import type { Registry } from '../../store/registry.ts';
import { type Revenue, revenueOf } from '../../store/revenue.ts';
import { List } from '../list.tsx';
import type { Answer, PageRequest } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import { errorSentence } from '../posted-form.ts';
import { amountColumn, State, tokenText, transactionColumn } from '../shown-payment.tsx';
import { type Column, Table } from '../table.tsx';
import { numberText, usdText } from '../texts.ts';
import { tierName } from '../tier-texts.ts';
import { Time } from '../time.tsx';
import { Figure } from '../usage/usage-tables.tsx';
import { ACCOUNT_FILTER, AccountLink, filteredAccount } from './shown-account.tsx';

export const PAYMENTS_PATH = '/admin/payments';
/** The number of sums, each of a month and a token, that the page lists. */
const SUMS_MAX = 24;

/** GET /admin/payments?account={address or id}&before. */
export async function paymentList(
  { registry, billing }: WebDeps,
  person: Person,
  { query }: PageRequest,
): Promise<Answer> {
  const { payments, database } = registry;
  const { accountId, unknown } = filteredAccount(registry, query);
  const gas = billing?.gas.readings ?? [];
  const sums = await revenueOf(registry);
  const sumOf = (field: 'payments' | 'cents') => sums.reduce((sum, one) => sum + one[field], 0);
  return personPage(
    person,
    { title: 'Payments', path: PAYMENTS_PATH, scripts: [COPY_SCRIPT] },
    <>
      {gas.map(
        ({ network, warning }) =>
          warning !== undefined && (
            <p key={network} class="notice warn long" role="status">
              {errorSentence({ message: warning })}
            </p>
          ),
      )}
      <div class="cards">
        <Figure name="Revenue" value={usdText(sumOf('cents') / 100)} note="of all time" />
        <Figure name="Payments" value={numberText(sumOf('payments'))} note="without refunds" />
      </div>
      <Table
        label="Revenue by month and token"
        isTitled
        columns={revenueColumns(billing)}
        rows={sums.slice(0, SUMS_MAX)}
        empty="No payment was mined yet."
      />
      {gas.length > 0 && <Table label="Gas" isTitled columns={GAS_COLUMNS} rows={gas} empty="" />}
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

/** The balance that is left for gas, exactly. */
const GAS_COLUMNS: readonly Column<GasReading>[] = [
  { heading: 'Network', class: 'nowrap', cell: ({ name }) => name },
  { heading: 'Enough for about', class: 'nowrap', cell: ({ transfers = 0 }) => `${numberText(transfers)} transfers` },
  { heading: 'Balance', cell: ({ balance }) => balance },
  {
    heading: 'Address',
    class: 'nowrap',
    cell: ({ network, address }) => <Hash id={`gas-${network.replace(':', '-')}`} text={address} noun="address" />,
  },
];

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
      cell: ({ id, quote }) => (
        <>
          <AccountLink
            id={quote.accountId}
            email={registry.database.read(() => registry.accounts.find(quote.accountId)!.email)}
          />
          <div class="quiet">{id}</div>
        </>
      ),
    },
    { heading: 'Date', cell: ({ createdMs }) => <Time ms={createdMs} /> },
    { heading: 'Tier', cell: ({ quote }) => tierName(registry, quote.tier) },
    amountColumn(billing),
    { heading: 'State', cell: (payment) => <State payment={payment} isExact /> },
    {
      heading: 'Invoice',
      cell: ({ quote, invoice }) =>
        invoice !== undefined && <a href={`${PAYMENTS_PATH}/${quote.id}/invoice`}>Invoice {invoice}</a>,
    },
    transactionColumn(billing),
  ];
}
