import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Payment } from '../domain/payment.ts';
import type { Registry } from '../store/registry.ts';
import { revokePaid } from './paid-grants.ts';

interface RefundDeps {
  readonly registry: Registry;
  readonly nowMs: InstantMs;
  readonly operatingUser?: string | undefined;
}

/** Records that a transaction paid a payment back, and ends its tier if wanted. Returns the payment. Throws 'not-found', or 'conflict' if it is not mined or was paid back before. */
export function refundPayment(
  { registry, nowMs, operatingUser }: RefundDeps,
  id: string,
  transaction: string,
  endsTier: boolean,
): Payment {
  const { payments, audit, database } = registry;
  return database.write(() => {
    const payment = payments.named(id);
    const { quote } = payment;
    if (payment.settledMs === undefined)
      throw new DomainError('conflict', `nothing was received for the payment ${id}`);
    if (payment.refund !== undefined) throw new DomainError('conflict', `the payment ${id} was refunded already`);
    payments.refund(id, transaction, nowMs);
    if (endsTier) revokePaid(registry, quote.accountId, id, nowMs);
    const detail = { payment: id, tier: quote.tier, transaction, endsTier };
    const entry = { action: 'payment.refund', accountId: quote.accountId, detail };
    audit.append({ atMs: nowMs, by: { operatingUser }, ...entry });
    return payments.named(id);
  });
}
