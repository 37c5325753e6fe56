import type { Transfer } from '../chain/chain.ts';
import type { Payment } from '../domain/payment.ts';

/** A payment as its chain knows it. */
export function transferOf({ quote, payer, nonce, validBefore }: Payment): Transfer {
  const { asset, payTo, amount } = quote;
  return { asset, payTo, amount, payer, nonce, validBefore };
}
