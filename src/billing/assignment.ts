import type { Chain, MinedTransfer, Transfer } from '../chain/chain.ts';
import { DomainError } from '../domain/errors.ts';
import type { Payment } from '../domain/payment.ts';
import type { Reconciliation, ReconciliationDeps } from './reconciliation.ts';

/** A transfer that has no payment, and the account and the tier that it pays for. */
export interface Assigned {
  readonly transaction: string;
  readonly accountId: number;
  readonly tier: string;
}

type Found = MinedTransfer & Pick<Transfer, 'asset'> & { readonly chain: Chain };

/**
 * Makes a payment of a transfer that a chain has and the service does not know, and grants its tier: after a restore, or for a transfer
 * that was sent without the service. Throws 'not-found' if no network of the settings has it, 'conflict' if it has a payment already or
 * is one of several, 'invalid-parameter' for an amount that is not in whole cents, 'chain-unavailable'.
 */
export async function assignTransfer(
  { registry, chains, payTo, clock }: ReconciliationDeps,
  reconciliation: Reconciliation,
  { transaction, accountId, tier }: Assigned,
): Promise<Payment> {
  const { chain, ...mined } = await findTransfer(chains, transaction, payTo);
  const { network } = chain;
  const { asset, payer, nonce, amount, block } = mined;
  const minedMs = await chain.timeOf(block);
  const { decimals } = chain.tokens.find((token) => token.asset === asset)!;
  const cent = 10n ** BigInt(decimals - 2);
  if (amount % cent !== 0n || amount === 0n) {
    throw new DomainError(
      'invalid-parameter',
      "the transfer is not of whole cents: grant the tier with 'bookreel account grant'",
    );
  }
  const head = await chain.head();
  const payment = registry.database.write(() => {
    const known = registry.payments.find({ network, asset, payer, nonce });
    if (known !== undefined) throw new DomainError('conflict', `the transfer has the payment ${known.id} already`);
    const { id: tierId } = registry.tiers.named(tier);
    const times = { createdMs: clock(), expiresMs: clock() };
    const terms = { accountId, tier: tierId, priceCents: Number(amount / cent), network, asset, payTo, amount };
    const quote = registry.payments.addQuote({ ...terms, sinceBlock: block - 1, ...times });
    const added = registry.payments.add({ quote, payer, nonce, validBefore: Math.floor(minedMs / 1000) }, clock());
    // After a crash in between, the next reconciliation grants it.
    registry.paymentSends.addTransaction(added, { hash: mined.transaction, own: undefined }, clock());
    return added;
  });
  return reconciliation.apply(payment, { state: 'transferred', head, block, transaction: mined.transaction });
}

async function findTransfer(chains: readonly Chain[], transaction: string, payTo: string): Promise<Found> {
  const found: Found[] = [];
  for (const chain of chains) {
    for (const one of await chain.transfersIn(transaction, payTo)) found.push({ ...one, chain });
  }
  const [first, second] = found;
  if (first === undefined) {
    throw new DomainError(
      'not-found',
      'no network of the payments file has a transfer to this service in this transaction: check its hash',
    );
  }
  if (second === undefined) return first;
  throw new DomainError(
    'conflict',
    "the transaction has several transfers to this service: grant the tiers with 'bookreel account grant'",
  );
}
