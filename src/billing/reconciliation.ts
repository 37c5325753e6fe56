import type { Chain, Outcome } from '../chain/chain.ts';
import type { PaymentSettings } from '../chain/payment-settings.ts';
import { DomainError } from '../domain/errors.ts';
import type { Payment, PaymentQuote } from '../domain/payment.ts';
import type { AuditActor } from '../store/audit.ts';
import { grantPaid, revokePaid } from './paid-grants.ts';
import { TransferSender, type TransferSenderDeps, transferOf } from './transfer-sender.ts';

export interface ReconciliationDeps extends TransferSenderDeps {
  readonly chains: readonly Chain[];
  readonly settings: PaymentSettings;
  /** Address that receives payments: hex in lower case. */
  readonly payTo: string;
  /** The user of a command; left out by a server. */
  readonly operatingUser?: string | undefined;
}

/** The numbers of payments that a reconciliation looked at and changed. */
export interface Reconciled {
  readonly checked: number;
  readonly changed: number;
  /** Payments whose chain did not answer, or is not in the settings. */
  readonly unknown: number;
}

/** Payments are read in groups of this size. */
const GROUP = 100;

/** The action that the audit records when a payment gets a state. */
const ACTIONS: Readonly<Record<Payment['state'], string>> = {
  pending: 'payment.revoke',
  settled: 'payment.settle',
  final: 'payment.finish',
  failed: 'payment.fail',
};

/** Brings payments to the state that their chains show, and their grants with them; sends pending ones until they are mined. */
export class Reconciliation {
  readonly sender: TransferSender;
  readonly #deps: ReconciliationDeps;
  #running: Promise<Reconciled> | undefined;

  constructor(deps: ReconciliationDeps) {
    this.#deps = deps;
    this.sender = new TransferSender(deps);
  }

  /** Throws 'chain-unavailable' for a network that is not in the settings. */
  chainOf({ network }: Pick<PaymentQuote, 'network'>): Chain {
    const chain = this.#deps.chains.find((one) => one.network === network);
    if (chain !== undefined) return chain;
    throw new DomainError('chain-unavailable', `the payments file has no network ${network} any more: add it again`);
  }

  /** The outcome of a payment on its chain. Throws 'chain-unavailable'. */
  async outcomeOf(payment: Payment): Promise<Outcome> {
    return await this.chainOf(payment.quote).outcome(transferOf(payment), this.sender.tracesOf(payment));
  }

  /** All payments that may change, and those that failed if wanted. A second call while one is running gets its result. */
  run(withFailed: boolean): Promise<Reconciled> {
    this.#running ??= this.#run(withFailed).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /**
   * Applies what a chain shows to a payment, in one transaction with its grant and the audit, and returns it. `buyer`: the account that has
   * asked for it; left out by commands and by the job of a server.
   */
  apply({ id }: Payment, outcome: Outcome, buyer?: AuditActor['account']): Payment {
    const { registry, clock, operatingUser } = this.#deps;
    return registry.database.write(() => {
      // Another process may have changed it.
      const payment = registry.payments.get(id)!;
      const changed = this.#applied(payment, outcome);
      if (changed.state === payment.state) return changed;
      const { quote, transaction = payment.transaction ?? null, refund } = changed;
      const detail = {
        ...{ payment: id, tier: quote.tier, transaction },
        ...(refund === undefined ? {} : { refund }),
        ...(buyer === undefined && operatingUser === undefined ? { job: 'reconciliation' } : {}),
      };
      const by = { account: buyer, operatingUser };
      registry.audit.append({ atMs: clock(), by, action: ACTIONS[changed.state], accountId: quote.accountId, detail });
      return changed;
    });
  }

  #applied(payment: Payment, outcome: Outcome): Payment {
    if (outcome.state === 'unknown') this.#deps.registry.paymentSends.setNextBlock(payment, outcome.nextBlock);
    if (outcome.state === 'unknown') return payment;
    if (outcome.state === 'transferred') return this.#transferred(payment, outcome);
    if (payment.state === 'pending' && outcome.state === 'void') return this.#changed(payment, { state: 'failed' });
    // Before that, a node may be further back than the one that saw the transfer.
    const isGone =
      payment.block !== undefined && outcome.head >= payment.block + this.chainOf(payment.quote).confirmations;
    return payment.state === 'settled' && isGone ? this.#revoked(payment) : payment;
  }

  async #run(withFailed: boolean): Promise<Reconciled> {
    const { registry, logError } = this.#deps;
    const counts = { checked: 0, changed: 0, unknown: 0 };
    /** Messages by network. The other payments of a network that did not answer are skipped. */
    const faults = new Map<string, string>();
    const unused: Payment[] = [];
    const groupAfter = (id?: string) => registry.payments.open(GROUP, id, withFailed);
    for (let group = groupAfter(); group.length > 0; group = groupAfter(group.at(-1)!.id)) {
      for (const payment of group) {
        counts.checked += 1;
        const { outcome, seen = payment } = (await this.#compared(payment, faults)) ?? {};
        if (outcome === undefined || outcome.state === 'unknown') counts.unknown += 1;
        if (seen.state !== payment.state) counts.changed += 1;
        if (seen.state === 'pending' && outcome?.state === 'unused') unused.push(seen);
      }
    }
    // Each network's in their order, which is that of their nonces; a network that hangs does not delay the others.
    const networks = Map.groupBy(unused, ({ quote }) => quote.network);
    await Promise.all([...networks.values()].map((payments) => this.#send(payments)));
    for (const fault of faults.values()) logError(`payments were not compared: ${fault}`);
    return counts;
  }

  /** The outcome of a payment, and the payment after it; undefined if its network has not answered, which is then in `faults`. */
  async #compared(payment: Payment, faults: Map<string, string>) {
    const { network } = payment.quote;
    if (faults.has(network)) return undefined;
    try {
      const outcome = await this.outcomeOf(payment);
      return { outcome, seen: this.apply(payment, outcome) };
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      faults.set(network, error.message);
      return undefined;
    }
  }

  async #send(payments: readonly Payment[]): Promise<void> {
    for (const payment of payments) await this.sender.sendDue(this.chainOf(payment.quote), payment);
  }

  #transferred(payment: Payment, mined: Outcome & { readonly state: 'transferred' }): Payment {
    const { registry, settings, clock } = this.#deps;
    if (payment.state === 'final') return payment;
    const { transaction, block, head } = mined;
    const isFinal = head >= block + this.chainOf(payment.quote).confirmations;
    const settledMs = payment.settledMs ?? clock();
    // This includes failed payments: the chain may have been reorganised more deeply than expected.
    if (payment.state !== 'settled') {
      if (payment.refund === undefined) grantPaid(registry, payment.quote, payment.id, clock());
      if (settings.seller !== undefined) registry.invoices.issue(payment, settings.seller, clock());
    }
    const state = isFinal ? 'final' : 'settled';
    if (payment.state === state && payment.transaction === transaction && payment.block === block) return payment;
    return this.#changed(payment, { state, transaction, block, settledMs });
  }

  #revoked(payment: Payment): Payment {
    const { registry, clock } = this.#deps;
    revokePaid(registry, payment.quote.accountId, payment.id, clock());
    return this.#changed(payment, { state: 'pending', transaction: undefined, block: undefined, settledMs: undefined });
  }

  #changed(payment: Payment, change: Partial<Payment>): Payment {
    const { registry } = this.#deps;
    const changed = { ...payment, ...change };
    registry.payments.update(changed);
    if (changed.state === 'final' || changed.state === 'failed') registry.paymentSends.forget(payment);
    return changed;
  }
}
