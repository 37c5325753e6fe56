import type { Billing } from '../../billing/billing.ts';
import type { GasReading } from '../../chain/gas-watch.ts';
import { csvCells } from '../../domain/csv-cells.ts';
import { formatInstant } from '../../domain/instant.ts';
import type { Payment } from '../../domain/payment.ts';
import { COPY_SCRIPT } from '../../http/pages/assets.ts';
import { Hash } from '../../http/pages/copyable.tsx';
import { chosenPayments, chosenState } from '../../store/chosen-payments.ts';
import type { Registry } from '../../store/registry.ts';
import { type Revenue, revenueOf } from '../../store/revenue.ts';
import { linkTo } from '../link-to.ts';
import { DAY_FILTERS, List, SIZE } from '../list.tsx';
import type { Answer, PageRequest } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import { errorSentence } from '../posted-form.ts';
import { amountColumn, onlyToken, STATE_OPTIONS, State, tokenText, transactionColumn } from '../shown-payment.tsx';
import { type Column, Table } from '../table.tsx';
import { cutDecimal, numberText, usdText } from '../texts.ts';
import { tierName } from '../tier-texts.ts';
import { timeColumn } from '../time.tsx';
import { csvFile, LINES_MAX } from '../usage/usage-csv.ts';
import { chosenDays } from '../usage/usage-range.tsx';
import { Figure } from '../usage/usage-tables.tsx';
import { ACCOUNT_FILTER, AccountLink, filteredAccount } from './shown-account.tsx';

export const PAYMENTS_PATH = '/admin/payments';
/** The number of sums, each of a month and a token, that the page lists. */
const SUMS_MAX = 24;
const CSV_COLUMNS = 'payment,created,account,tier,usd,token,state,invoice,transaction,refund'.split(',');

/** The payments that a query chooses: at most `limit`. */
async function wanted({ registry }: WebDeps, query: URLSearchParams, limit: number) {
  const { accountId, unknown } = filteredAccount(registry, query);
  const choice = { accountId, state: query.get('state') || undefined, ...chosenDays(query) };
  const beforeId = query.get('before') || undefined;
  return {
    unknown,
    found: unknown === undefined ? await chosenPayments(registry, limit, { ...choice, beforeId }) : [],
  };
}

/** GET /admin/payments/csv, with the query of the page. */
export async function paymentFile(deps: WebDeps, _: Person, { query }: PageRequest): Promise<Answer> {
  const { registry, billing } = deps;
  const { found } = await wanted(deps, query, LINES_MAX + 1);
  const lines = found.map((payment) => {
    const { id, createdMs, quote, invoice = '', transaction = '', refund = '' } = payment;
    return csvCells(
      ...[id, formatInstant(createdMs), registry.accounts.find(quote.accountId)!.email, quote.tier],
      ...[(quote.priceCents / 100).toFixed(2), tokenText(billing, quote), chosenState(payment)],
      ...[String(invoice), transaction, refund],
    );
  });
  return csvFile('payments', CSV_COLUMNS, lines);
}

/** GET /admin/payments?account={address or id}&state&from&to&before. */
export async function paymentList(deps: WebDeps, person: Person, { query }: PageRequest): Promise<Answer> {
  const { registry, billing } = deps;
  const { unknown, found } = await wanted(deps, query, SIZE + 1);
  const gas = billing?.gas.readings ?? [];
  const sums = await revenueOf(registry);
  // One that all of them have is named once.
  const token = onlyToken(billing, sums);
  const shared =
    onlyToken(
      billing,
      found.map(({ quote }) => quote),
    ) === token
      ? token
      : undefined;
  const month = formatInstant(deps.nowMs()).slice(0, 7);
  const sumOf = (field: 'payments' | 'cents', of = '') =>
    sums.filter((one) => one.month.startsWith(of)).reduce((sum, one) => sum + one[field], 0);
  return personPage(
    person,
    {
      title: 'Payments',
      path: PAYMENTS_PATH,
      scripts: [COPY_SCRIPT],
      action: found.length > 0 && (
        <a class="button" href={linkTo(`${PAYMENTS_PATH}/csv`, { ...Object.fromEntries(query), before: undefined })}>
          Download CSV
        </a>
      ),
    },
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
        <Figure name={`Revenue in ${month}`} value={usdText(sumOf('cents', month) / 100)} note="this month, in UTC" />
        <Figure name="Revenue in total" value={usdText(sumOf('cents') / 100)} note="refunds are left out" />
        <Figure name="Payments in total" value={numberText(sumOf('payments'))} note="paid and not refunded" />
      </div>
      {sums.length > 1 && (
        <Table
          label={token === undefined ? 'Revenue by month and token' : `Revenue by month, in ${token}`}
          isTitled
          columns={revenueColumns(billing, sums, token)}
          rows={sums.slice(0, SUMS_MAX)}
          empty=""
        />
      )}
      <h2>{shared === undefined ? 'All payments' : `All payments, in ${shared}`}</h2>
      <List
        label="Payments"
        path={PAYMENTS_PATH}
        query={query}
        filters={[ACCOUNT_FILTER, { name: 'state', label: 'State', options: STATE_OPTIONS }, ...DAY_FILTERS]}
        cursor="before"
        find={() => found}
        columns={paymentColumns(registry, billing, shared)}
        empty={unknown === undefined ? 'There are no such payments.' : `There is no account '${unknown}'.`}
      />
      {gas.length > 0 && <Table label="Balances for network fees" isTitled columns={GAS_COLUMNS} rows={gas} empty="" />}
    </>,
  );
}

/** The balance that is left for gas; its title is exact. */
const GAS_COLUMNS: readonly Column<GasReading>[] = [
  { heading: 'Network', class: 'nowrap', cell: ({ name }) => name },
  { heading: 'Enough for about', class: 'nowrap', cell: ({ transfers = 0 }) => `${numberText(transfers)} transfers` },
  {
    heading: 'Balance',
    class: 'nowrap',
    cell: ({ balance = '', currency }) => (
      <span title={[balance, currency].join(' ')}>{[cutDecimal(String(balance)), currency].join(' ')}</span>
    ),
  },
  {
    heading: 'Address',
    class: 'nowrap',
    cell: ({ network, address }) => <Hash id={`gas-${network.replace(':', '-')}`} text={address} noun="address" />,
  },
];

/** Columns for these sums, which a bar compares. */
function revenueColumns(billing: Billing | undefined, sums: readonly Revenue[], token?: string): Column<Revenue>[] {
  const most = Math.max(...sums.map(({ cents }) => cents));
  const compared: Column<Revenue> = {
    heading: 'Compared',
    class: 'most',
    cell: ({ cents }) => <meter max={most} value={cents} aria-label="Amount" />,
  };
  const named: Column<Revenue> = { heading: 'Token', class: 'nowrap', cell: (sum) => tokenText(billing, sum) };
  return [
    { heading: 'Month', class: 'nowrap', cell: ({ month }) => month },
    ...(token === undefined ? [named] : []),
    compared,
    { heading: 'Payments', class: 'number', cell: ({ payments }) => numberText(payments) },
    { heading: 'Amount', class: 'number', cell: ({ cents }) => usdText(cents / 100) },
  ];
}

function paymentColumns(registry: Registry, billing: Billing | undefined, token?: string): Column<Payment>[] {
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
    timeColumn('Date', 'createdMs'),
    { heading: 'Tier', cell: ({ quote }) => tierName(registry, quote.tier) },
    amountColumn(billing, token),
    { heading: 'State', cell: (payment) => <State payment={payment} /> },
    {
      heading: 'Invoice',
      cell: ({ quote, invoice }) =>
        invoice !== undefined && <a href={`${PAYMENTS_PATH}/${quote.id}/invoice`}>{invoice}</a>,
    },
    transactionColumn(billing),
  ];
}
