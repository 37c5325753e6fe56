import type { Billing } from '../billing/billing.ts';
import type { Payment } from '../domain/payment.ts';
import { tokenText } from './payment-texts.ts';
import type { Column } from './table.tsx';
import { usdText } from './texts.ts';

/** The price of payments, and the tokens that paid them. */
export function amountColumn(billing: Billing | undefined): Column<Payment> {
  return {
    heading: 'Amount',
    class: 'number',
    cell: ({ quote }) => (
      <>
        {usdText(quote.priceCents / 100)}
        <div class="quiet">{tokenText(billing, quote)}</div>
      </>
    ),
  };
}

export const TRANSACTION_COLUMN: Column<Payment> = {
  heading: 'Transaction',
  class: 'long',
  cell: ({ transaction }) => <code>{transaction}</code>,
};
