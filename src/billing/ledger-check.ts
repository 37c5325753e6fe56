import type { Chain } from '../chain/chain.ts';
import type { Payment } from '../domain/payment.ts';
import { termOfPayment } from './paid-grants.ts';
import { type Reconciliation, type ReconciliationDeps, transferOf } from './reconciliation.ts';

/** A difference between the payments and a chain. */
interface LedgerDifference {
  /** Undefined: the chain has a transfer without a payment. */
  readonly payment: string | undefined;
  readonly transaction: string | undefined;
  /** The difference in one sentence, without a full stop. */
  readonly what: string;
}

export interface LedgerReport {
  readonly payments: number;
  readonly transfers: number;
  readonly differences: readonly LedgerDifference[];
}

interface LedgerDeps extends ReconciliationDeps {
  /** Address that receives payments: hex in lower case. */
  readonly payTo: string;
}

const GROUP = 100;

/**
 * Compares all payments with their chains, and all transfers by authorization to the service since its first payment with the
 * payments. Changes nothing. Throws 'chain-unavailable' when a chain does not answer.
 */
export async function checkLedger(
  { registry, chains, payTo }: LedgerDeps,
  reconciliation: Reconciliation,
): Promise<LedgerReport> {
  const differences: LedgerDifference[] = [];
  /** The first block to look for transfers, by network and token. */
  const since = new Map<string, number>();
  let payments = 0;
  for (let beforeId: string | undefined; ; ) {
    const group = registry.payments.list(GROUP, { beforeId });
    for (const payment of group) {
      const { quote, id, transaction } = payment;
      const token = `${quote.network} ${quote.asset}`;
      since.set(token, Math.min(since.get(token) ?? Infinity, quote.sinceBlock));
      const chain = reconciliation.chainOf(quote);
      const { state } = await chain.outcome(transferOf(payment), quote.sinceBlock);
      const isGranted = termOfPayment(registry, quote.accountId, id) !== undefined;
      const what = differenceOf(payment, state, isGranted);
      if (what !== undefined) differences.push({ payment: id, transaction, what });
    }
    payments += group.length;
    beforeId = group.at(-1)?.id;
    if (beforeId === undefined) break;
  }
  let transfers = 0;
  for (const chain of chains) {
    for (const { asset } of chain.tokens) {
      const fromBlock = since.get(`${chain.network} ${asset}`);
      if (fromBlock === undefined) continue;
      const mined = await chain.transfersTo(asset, payTo, fromBlock + 1);
      transfers += mined.length;
      for (const { transaction, ...transfer } of mined) {
        if (registry.payments.find({ ...transfer, asset, network: chain.network }) !== undefined) continue;
        differences.push({ payment: undefined, transaction, what: `${chain.name} has a transfer without a payment` });
      }
    }
  }
  return { payments, transfers, differences };
}

function differenceOf({ state }: Payment, outcome: Awaited<ReturnType<Chain['outcome']>>['state'], isGranted: boolean) {
  const isPaid = state === 'settled' || state === 'final';
  if (isPaid && outcome !== 'transferred') return 'granted, but the chain has no transfer';
  if (!isPaid && outcome === 'transferred')
    return `${state}, but the chain has its transfer: run 'bookreel billing reconcile'`;
  return isPaid && !isGranted ? 'settled, but nothing is granted' : undefined;
}
