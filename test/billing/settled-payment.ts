import { grantPaid } from '../../src/billing/paid-grants.ts';
import type { Payment } from '../../src/domain/payment.ts';
import type { Registry } from '../../src/store/registry.ts';

interface Bought {
  readonly email: string;
  readonly tier?: string;
  readonly nowMs: number;
}

let transfers = 0;

/** A payment of $49.50 that is mined and granted, without a chain. The account is created if it is missing. */
export function settledPayment(registry: Registry, { email, tier = 'pro', nowMs }: Bought): Payment {
  const { accounts, database, payments } = registry;
  transfers += 1;
  const hex = transfers.toString(16);
  return database.write(() => {
    const account = accounts.findByEmail(email) ?? accounts.create({ email }, nowMs);
    const token = { network: 'eip155:1', asset: `0x${'a'.repeat(40)}`, payTo: `0x${'b'.repeat(40)}` };
    const terms = { accountId: account.id, tier, priceCents: 4950, ...token, amount: 49_500_000n };
    const quote = payments.addQuote({ ...terms, sinceBlock: 1, createdMs: nowMs, expiresMs: nowMs + 1000 });
    const nonce = `0x${hex.padStart(64, '0')}`;
    const payer = `0x${'c'.repeat(40)}`;
    const payment = payments.add({ quote, payer, nonce, validBefore: 1 }, nowMs);
    grantPaid(registry, quote, payment.id, nowMs);
    payments.update({ ...payment, state: 'settled', transaction: nonce, block: 2, settledMs: nowMs });
    return payments.get(payment.id)!;
  });
}
