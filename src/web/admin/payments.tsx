import { linkTo, Paging } from '../paging.tsx';
import { STATES, tokenText } from '../payment-texts.ts';
import { personPage } from '../person-page.tsx';
import type { Person, WebDeps } from '../routes.ts';
import { Table } from '../table.tsx';
import { numberText, usdText } from '../texts.ts';
import { Time } from '../time.tsx';
import type { Answer, Visit } from '../visit.ts';
import { accountIdOf } from './audit.tsx';

export const PAYMENTS_PATH = '/admin/payments';
const LIMIT = 50;
/** Sums of months and tokens. */
const SUMS_MAX = 24;

/** GET /admin/payments?account={address or id}&before. */
export function paymentList({ registry, billing }: WebDeps, person: Person, { query }: Visit): Answer {
  const { accounts, payments, database } = registry;
  const named = query.get('account')?.trim() ?? '';
  const beforeId = query.get('before') ?? undefined;
  const accountId = named === '' ? undefined : accountIdOf(registry, named);
  const isUnknown = named !== '' && accountId === undefined;
  const { found, revenue } = database.read(() => ({
    found: (isUnknown ? [] : payments.list(LIMIT + 1, { accountId, beforeId })).map((payment) => ({
      ...payment,
      email: accounts.find(payment.quote.accountId)!.email,
    })),
    revenue: payments.revenue(SUMS_MAX),
  }));
  const shown = found.slice(0, LIMIT);
  const path = (before?: string) => linkTo(PAYMENTS_PATH, { account: named, before });
  return personPage(person, {
    title: 'Payments',
    path: PAYMENTS_PATH,
    children: (
      <>
        <h2>Revenue</h2>
        <Table
          label="Revenue by month and token"
          headings={['Month', 'Token', 'Payments', 'Amount']}
          numbers={['Payments', 'Amount']}
          empty="No payment was mined yet."
        >
          {revenue.map(({ month, payments: count, cents, ...token }) => (
            <tr key={`${month} ${token.network} ${token.asset}`}>
              <td class="nowrap">{month}</td>
              <td class="long">{tokenText(billing, token)}</td>
              <td class="number">{numberText(count)}</td>
              <td class="number">{usdText(cents / 100)}</td>
            </tr>
          ))}
        </Table>
        <h2>All payments</h2>
        <form class="row filter" method="get" action={PAYMENTS_PATH}>
          <input class="input" name="account" value={named} placeholder="Address of an account" aria-label="Account" />
          <button class="button" type="submit">
            Filter
          </button>
          {named !== '' && <a href={PAYMENTS_PATH}>Show all</a>}
        </form>
        <Table
          label="Payments"
          headings={['Account', 'Tier', 'Amount', 'State', 'Transaction']}
          numbers={['Amount']}
          empty={isUnknown ? `There is no account '${named}'.` : 'There are no payments.'}
        >
          {shown.map(({ id, quote, email, state, transaction, createdMs }) => (
            <tr key={id}>
              <td class="long">
                <a href={`/admin/accounts/${quote.accountId}`}>{email}</a>
                <div class="quiet">
                  <Time ms={createdMs} /> · {id}
                </div>
              </td>
              <td>{quote.tier}</td>
              <td class="number">
                {usdText(quote.priceCents / 100)}
                <div class="quiet">{tokenText(billing, quote)}</div>
              </td>
              <td>
                <span class={STATES[state].badge}>{state}</span>
              </td>
              <td class="long">
                <code>{transaction}</code>
              </td>
            </tr>
          ))}
        </Table>
        <Paging
          first={beforeId === undefined ? undefined : path()}
          next={found.length > LIMIT ? path(shown.at(-1)?.id) : undefined}
        />
      </>
    ),
  });
}
