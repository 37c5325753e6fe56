import { termOfPayment } from '../../billing/paid-grants.ts';
import { List } from '../list.tsx';
import type { WebDeps } from '../routes.ts';
import { amountColumn, State, transactionColumn } from '../shown-payment.tsx';
import { Time } from '../time.tsx';
import { PLAN_PATH } from './buy-form.tsx';

export type PaidDeps = Pick<WebDeps, 'registry' | 'billing'>;

interface ReceiptsContent {
  readonly deps: PaidDeps;
  readonly accountId: number;
  readonly query: URLSearchParams;
}

/** The payments of an account, the latest first; also while payments are off. */
export function Receipts({ deps: { registry, billing }, accountId, query }: ReceiptsContent) {
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
    <>
      <h2>Receipts</h2>
      <List
        label="Receipts"
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
    </>
  );
}
