import type { Chain, MinedTransfer } from '../chain/chain.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Payment } from '../domain/payment.ts';
import { termOfPayment } from './paid-grants.ts';
import type { Reconciliation, ReconciliationDeps } from './reconciliation.ts';

/** A difference between the payments and a chain. */
interface LedgerDifference {
  /** Undefined: the chain has a transfer without a payment. */
  readonly payment: string | undefined;
  readonly transaction: string | undefined;
  readonly network: string;
  readonly payer: string;
  /** In the token of the symbol, exact. */
  readonly amount: string;
  /** The time of the block; undefined for a payment that the chain has no block of. */
  readonly minedMs: InstantMs | undefined;
  /** The difference in one sentence, without a full stop. */
  readonly what: string;
}

export interface LedgerReport {
  readonly payments: number;
  readonly transfers: number;
  readonly differences: readonly LedgerDifference[];
  /** Networks that did not answer, each with the reason: their payments and transfers were not compared. */
  readonly unreachable: readonly { readonly network: string; readonly why: string }[];
}

const GROUP = 100;

/**
 * Compares all payments with their chains, and all transfers by authorization to the service since its first quote with the payments.
 * Changes nothing. A network that does not answer is reported, and the others are compared.
 */
export async function checkLedger(deps: ReconciliationDeps, reconciliation: Reconciliation): Promise<LedgerReport> {
  const { registry, chains, payTo } = deps;
  const differences: LedgerDifference[] = [];
  const unreachable = new Map<string, string>();
  const counts = { payments: 0, transfers: 0 };
  const reach = async (network: string, work: () => Promise<void>) => {
    if (unreachable.has(network)) return;
    await work().catch((error: unknown) => {
      if (!(error instanceof DomainError) || error.kind !== 'chain-unavailable') throw error;
      unreachable.set(network, error.message);
    });
  };
  for (let beforeId: string | undefined; ; ) {
    const group = registry.payments.list(GROUP, { beforeId });
    for (const payment of group) {
      await reach(payment.quote.network, async () => {
        const { state } = await reconciliation.outcomeOf(payment);
        const what = differenceOf(
          payment,
          state,
          termOfPayment(registry, payment.quote.accountId, payment.id) !== undefined,
        );
        if (what !== undefined) differences.push(await paymentDifference(reconciliation, payment, what));
        counts.payments += 1;
      });
    }
    beforeId = group.at(-1)?.id;
    if (beforeId === undefined) break;
  }
  for (const chain of chains) {
    const { network, name } = chain;
    for (const token of chain.tokens) {
      const first = registry.payments.firstBlock(network, token.asset);
      if (first === undefined) continue;
      await reach(network, async () => {
        const mined = await chain.transfersTo(token.asset, payTo, first + 1);
        counts.transfers += mined.length;
        for (const transfer of mined) {
          const { payer, transaction } = transfer;
          if (registry.payments.find({ ...transfer, asset: token.asset, network }) !== undefined) continue;
          const what = `${name} has a transfer without a payment: 'bookreel billing assign' gives it to an account`;
          const shown = {
            payer,
            amount: amountText(chain, token.asset, transfer.amount),
            minedMs: await chain.timeOf(transfer.block),
          };
          differences.push({ payment: undefined, transaction, network, ...shown, what });
        }
      });
    }
  }
  const reasons = [...unreachable].map(([network, why]) => ({ network, why }));
  return { ...counts, differences, unreachable: reasons };
}

async function paymentDifference(
  reconciliation: Reconciliation,
  { id, quote, payer, transaction, block }: Payment,
  what: string,
): Promise<LedgerDifference> {
  const chain = reconciliation.chainOf(quote);
  const minedMs = block === undefined ? undefined : await chain.timeOf(block).catch(() => undefined);
  const amount = amountText(chain, quote.asset, quote.amount);
  return { payment: id, transaction, network: quote.network, payer, amount, minedMs, what };
}

/** An amount in a token, exact, with the token's symbol; in its smallest unit if the settings do not have the token. */
function amountText({ tokens }: Chain, asset: string, amount: MinedTransfer['amount']): string {
  const token = tokens.find((one) => one.asset === asset);
  if (token === undefined) return String(amount);
  const digits = String(amount).padStart(token.decimals + 1, '0');
  const fraction = digits.slice(-token.decimals).replace(/0+$/, '');
  return `${digits.slice(0, -token.decimals)}${fraction === '' ? '' : `.${fraction}`} ${token.symbol}`;
}

function differenceOf({ state }: Payment, outcome: Awaited<ReturnType<Chain['outcome']>>['state'], isGranted: boolean) {
  const isPaid = state === 'settled' || state === 'final';
  if (isPaid && outcome !== 'transferred') return 'granted, but the chain has no transfer';
  if (!isPaid && outcome === 'transferred')
    return `${state}, but the chain has its transfer: run 'bookreel billing reconcile'`;
  return isPaid && !isGranted ? 'settled, but nothing is granted' : undefined;
}
