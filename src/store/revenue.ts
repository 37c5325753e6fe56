import { setImmediate } from 'node:timers/promises';
import type { PaymentQuote } from '../domain/payment.ts';
import type { Registry } from './registry.ts';

/** Payments that are summed in one turn of the event loop: these take about two milliseconds. */
const PAYMENTS_A_TURN = 400;

export const LAST_PAYMENT_OF_TURN = `SELECT MAX(sequence) AS last
  FROM (SELECT sequence FROM payments WHERE sequence > ? ORDER BY sequence LIMIT ?)`;

const SUM_PAYMENTS = `SELECT strftime('%Y-%m', settled_ms / 1000, 'unixepoch') AS month, p.network, p.asset,
  COUNT(*) AS payments, SUM(price_cents) AS cents
  FROM payments AS p JOIN payment_quotes AS q USING (quote_id) LEFT JOIN refunds USING (payment_id)
  WHERE sequence > ? AND sequence <= ? AND state IN ('settled', 'final') AND refund_hash IS NULL
  GROUP BY month, p.network, p.asset`;

/** The sum of the payments that were mined and not refunded in a month of UTC, in one token of one network. */
export interface Revenue extends Pick<PaymentQuote, 'network' | 'asset'> {
  /** `2026-11`. */
  readonly month: string;
  readonly payments: number;
  readonly cents: number;
}

/** The sums of all payments: the latest month first, and of a month the largest sum. Reads `paymentsATurn` in a turn of the event loop. */
export async function revenueOf(
  { database }: Pick<Registry, 'database'>,
  paymentsATurn = PAYMENTS_A_TURN,
): Promise<Revenue[]> {
  const lastOf = database.query<{ last: number | null }, [number, number]>(LAST_PAYMENT_OF_TURN);
  const sumOf = database.query<Revenue, [number, number]>(SUM_PAYMENTS);
  const sums = new Map<string, Revenue>();
  for (let after = 0; ; ) {
    const { last, turn } = database.read(() => {
      const { last } = lastOf.get(after, paymentsATurn)!;
      return { last, turn: last === null ? [] : sumOf.all(after, last) };
    });
    if (last === null) break;
    for (const sum of turn) {
      const key = `${sum.month} ${sum.network} ${sum.asset}`;
      const { payments = 0, cents = 0 } = sums.get(key) ?? {};
      sums.set(key, { ...sum, payments: payments + sum.payments, cents: cents + sum.cents });
    }
    after = last;
    await setImmediate();
  }
  return [...sums.values()].sort((a, b) => b.month.localeCompare(a.month) || b.cents - a.cents);
}
