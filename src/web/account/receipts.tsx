import { termOfPayment } from '../../billing/paid-grants.ts';
import { linkTo, Paging } from '../paging.tsx';
import { STATES, tokenText } from '../payment-texts.ts';
import type { WebDeps } from '../routes.ts';
import { Table } from '../table.tsx';
import { usdText } from '../texts.ts';
import { Time } from '../time.tsx';
import { PLAN_PATH } from './buy-form.tsx';

export type PaidDeps = Pick<WebDeps, 'registry' | 'billing'>;

interface ReceiptsContent {
  readonly deps: PaidDeps;
  readonly accountId: number;
  /** The last payment of the page before. */
  readonly beforeId: string | undefined;
}

const LIMIT = 10;

/** The payments of an account, the latest first; also while payments are off. */
export function Receipts({ deps: { registry, billing }, accountId, beforeId }: ReceiptsContent) {
  const { payments, tiers, database } = registry;
  const found = database.read(() =>
    payments.list(LIMIT + 1, { accountId, beforeId }).map((payment) => ({
      ...payment,
      tier: tiers.named(payment.quote.tier).name,
      term: termOfPayment(registry, accountId, payment.id),
    })),
  );
  if (found.length === 0 && billing === undefined) return null;
  const shown = found.slice(0, LIMIT);
  return (
    <>
      <h2>Receipts</h2>
      <Table
        label="Receipts"
        headings={['Tier', 'Amount', 'State', 'From', 'Until', 'Transaction']}
        numbers={['Amount']}
        empty="Nothing was bought yet."
      >
        {shown.map(({ id, quote, tier, state, term, transaction }) => (
          <tr key={id}>
            <td class="nowrap">
              <a href={`${PLAN_PATH}/${quote.id}`}>{tier}</a>
            </td>
            <td class="number">
              {usdText(quote.priceCents / 100)}
              <div class="quiet">{tokenText(billing, quote)}</div>
            </td>
            <td>
              <span class={STATES[state].badge}>{STATES[state].name}</span>
            </td>
            <td>{term && <Time ms={term.startsMs} />}</td>
            <td>{term && <Time ms={term.endsMs} />}</td>
            <td class="long">
              <code>{transaction}</code>
            </td>
          </tr>
        ))}
      </Table>
      <Paging
        first={beforeId === undefined ? undefined : PLAN_PATH}
        next={found.length > LIMIT ? linkTo(PLAN_PATH, { before: shown.at(-1)?.id }) : undefined}
      />
    </>
  );
}
