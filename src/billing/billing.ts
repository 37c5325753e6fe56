import type { Chain, Outcome, SignedTransfer, Token } from '../chain/chain.ts';
import type { GasWatch } from '../chain/gas-watch.ts';
import type { PaymentSettings } from '../chain/payment-settings.ts';
import { hasOneOwner } from '../domain/account.ts';
import { DomainError } from '../domain/errors.ts';
import { type Payment, type PaymentQuote, PaymentRefused, VALID_BEFORE } from '../domain/payment.ts';
import type { Tier } from '../domain/tier.ts';
import { type Assigned, assignTransfer } from './assignment.ts';
import { checkLedger, type LedgerReport } from './ledger-check.ts';
import { startOfTerm } from './paid-grants.ts';
import { type Reconciled, Reconciliation, type ReconciliationDeps } from './reconciliation.ts';
import { refuseOther, type SignedPayment } from './x402.ts';

export interface BillingDeps extends ReconciliationDeps {
  /** Address of the service in browsers, without a slash at its end; undefined for that of the request. */
  readonly publicUrl: string | undefined;
  readonly gas: GasWatch;
  readonly wait: (ms: number) => Promise<void>;
}

/** A tier and its price in a token. */
export interface Price {
  readonly tier: Tier;
  readonly chain: Chain;
  readonly token: Token;
  readonly priceCents: number;
  /** The price in the smallest unit of the token. */
  readonly amount: bigint;
  readonly asset: string;
  /** The address that receives it. */
  readonly payTo: string;
}

const QUOTE_MS = 10 * 60_000;
/** An account gets its last quote again if that is still valid for this time. */
const REUSED_MS = 5 * 60_000;
/** Unpaid quotes are kept for this long after their end, so that a late client learns why it is refused. */
const OLD_QUOTE_MS = 24 * 3_600_000;
/** Maximum validity of a signed transfer: until it ends, the chain is asked about the transfer. */
const VALID_SECONDS_MAX = 24 * 3600;
/** How long a settlement waits: for the transfer to be sent, for a block, and between two look-ups. */
const SEND_MS = 5000;
const WAIT_MS = 10_000;
const LOOK_MS = 250;
/** The time to wait for a block if sending failed, because the transfer may still have reached the network. */
const LOST_MS = 1000;
/** A client that was told that a payment is pending gets that payment for this time after it is mined, in place of a new offer. */
const TOLD_MS = 10 * 60_000;

/** Two requests with the same identifier are for the same. */
const BOUGHT = ['tier', 'network', 'asset', 'amount', 'payTo'] as const;

/** Quotes for tiers, and their payments on chains. */
export class Billing {
  readonly chains: readonly Chain[];
  readonly settings: PaymentSettings;
  readonly gas: GasWatch;
  readonly #deps: BillingDeps;
  readonly #reconciliation: Reconciliation;
  /** Settlements under way, so that repetitions send nothing. */
  readonly #settling = new Map<string, Promise<Payment>>();

  constructor(deps: BillingDeps) {
    this.#deps = deps;
    this.chains = deps.chains;
    this.settings = deps.settings;
    this.gas = deps.gas;
    this.#reconciliation = new Reconciliation(deps);
  }

  /** The address that sells a tier. `requestUrl`: the URL of the request. */
  urlOf(tierId: string, requestUrl: string): string {
    return `${this.#deps.publicUrl ?? new URL(requestUrl).origin}/v1/billing/x402/upgrade/${tierId}`;
  }

  /** The price of a tier in every token. Throws 'not-found' for an unknown tier, 'conflict' for one that is retired or has no price. */
  prices(tierId: string): Price[] {
    const { tiers, database } = this.#deps.registry;
    const tier = database.read(() => tiers.find(tierId));
    if (tier === undefined) throw new DomainError('not-found', 'there is no such tier: /v1/billing/tiers lists all');
    if (tier.retiredMs !== undefined) {
      throw new DomainError('conflict', `the tier '${tier.id}' is retired: choose another one`);
    }
    const priceCents = centsOf(tier.monthlyPriceUsd ?? 0);
    if (priceCents === 0) {
      throw new DomainError('conflict', `the tier '${tier.id}' has no price: ask the operator of this service for it`);
    }
    const { payTo } = this.#deps;
    return this.chains.flatMap((chain) =>
      chain.tokens.map((token) => {
        return { tier, chain, token, priceCents, amount: amountOf(priceCents, token), asset: token.asset, payTo };
      }),
    );
  }

  /**
   * The payment that an account has under way for a tier: one that is pending, or that a client was told is pending and that was mined in
   * the last 10 minutes. A client that asks again gets it in place of an offer: x402 clients pay every offer.
   */
  underway(accountId: number, tierId: string): Payment | undefined {
    const { registry, clock } = this.#deps;
    return registry.database.read(() => registry.payments.underway(accountId, tierId, clock() - TOLD_MS));
  }

  /** Stores that a client is told that a payment is pending. Returns the hash of its last transaction, if one was sent. */
  tell(payment: Payment): string | undefined {
    const { paymentSends, database } = this.#deps.registry;
    return database.write(() => {
      paymentSends.setPending(payment);
      return paymentSends.traces(payment).hashes.at(-1);
    });
  }

  /** An offer of a tier to an account; its last offer again if that is still valid for some minutes. Throws 'forbidden', 'conflict' or 'chain-unavailable'. */
  async quote(accountId: number, { tier, chain, priceCents, amount, asset, payTo }: Price): Promise<PaymentQuote> {
    const { registry, clock } = this.#deps;
    const { payments, accounts, database } = registry;
    const terms = { accountId, tier: tier.id, priceCents, network: chain.network, asset, payTo, amount };
    const open = database.read(() => {
      if (!hasOneOwner(accounts.find(accountId)!.email)) {
        throw new DomainError('forbidden', 'this key belongs to no account: ask the operator for a key of an account');
      }
      return payments.openQuote(terms, clock() + REUSED_MS);
    });
    if (open?.amount === amount && open.payTo === payTo) return open;
    const sinceBlock = await chain.head();
    return database.write(() => {
      const createdMs = clock();
      const quote = { ...terms, sinceBlock, createdMs, expiresMs: createdMs + QUOTE_MS };
      if (startOfTerm(registry, quote, createdMs) === Infinity) {
        throw new DomainError('conflict', `the account has the tier '${tier.id}' or a higher one without an end`);
      }
      payments.deleteOldQuotes(createdMs - OLD_QUOTE_MS);
      return payments.addQuote(quote);
    });
  }

  /** A quote for each of `prices`. A network that does not answer is left out; throws as `quote` does if none answers. */
  async quotes(accountId: number, prices: readonly Price[]): Promise<{ quote: PaymentQuote; token: Token }[]> {
    const results = await Promise.allSettled(prices.map((price) => this.quote(accountId, price)));
    for (const one of results) if (one.status === 'rejected' && !isUnavailable(one.reason)) throw one.reason;
    const quotes = results.flatMap((one, index) =>
      one.status === 'fulfilled' ? [{ quote: one.value, token: prices[index]!.token }] : [],
    );
    if (quotes.length === 0) throw (results[0] as PromiseRejectedResult).reason;
    return quotes;
  }

  /** A quote of an account. Throws 'not-found'. */
  quoteNamed(accountId: number, id: string): PaymentQuote {
    const { payments, database } = this.#deps.registry;
    const quote = database.read(() => payments.findQuote(id));
    if (quote?.accountId === accountId) return quote;
    throw new DomainError('not-found', 'this account has no such quote: ask for another one');
  }

  /** The quote of an account that a signed transfer for a tier pays. Throws 'gone' if there is none any more. */
  quotePaidBy(accountId: number, tierId: string, signed: SignedPayment): PaymentQuote {
    const { payments, database } = this.#deps.registry;
    const found = database.read(() => {
      const paid = payments.find(signed)?.quote;
      if (paid?.accountId === accountId && paid.tier === tierId) return paid;
      return payments.openQuote({ ...signed, accountId, tier: tierId }, this.#deps.clock());
    });
    if (found !== undefined) return found;
    throw new DomainError(
      'gone',
      'no quote fits this payment any more: ask again without it, and sign the new challenge',
    );
  }

  /**
   * Settles a quote with a signed transfer: the payment is pending if the chain has not mined it yet. Repetitions have the same
   * result. Throws PaymentRefused for a transfer that is not what the quote asks for or cannot be mined, 'conflict' if the
   * quote or the transfer was already used, 'gone' if one has expired, 'chain-unavailable' before anything is stored.
   */
  settle(quote: PaymentQuote, signed: SignedPayment): Promise<Payment> {
    refuseOther(signed, quote);
    const key = [quote.id, signed.payer, signed.nonce].join(' ');
    const running = this.#settling.get(key);
    if (running !== undefined) return running;
    const started = this.#settle(quote, signed).finally(() => this.#settling.delete(key));
    this.#settling.set(key, started);
    return started;
  }

  /** Returns true while a payment is not mined. */
  isAwaiting(): boolean {
    const { payments, database } = this.#deps.registry;
    return database.read(() => payments.pendingCount()) > 0;
  }

  /** As `assignTransfer`. */
  async assign(assigned: Assigned): Promise<Payment> {
    return await assignTransfer(this.#deps, this.#reconciliation, assigned);
  }

  /** Compares all payments with their chains, and changes nothing. */
  async check(): Promise<LedgerReport> {
    return await checkLedger(this.#deps, this.#reconciliation);
  }

  /** Compares all payments that may change with their chains; `withFailed`: and those that failed, which a deep reorganisation may change. */
  async reconcile({ withFailed = false } = {}): Promise<Reconciled> {
    return await this.#reconciliation.run(withFailed);
  }

  async #settle(quote: PaymentQuote, signed: SignedPayment): Promise<Payment> {
    const { registry, clock, wait } = this.#deps;
    const chain = this.#reconciliation.chainOf(quote);
    const { sender } = this.#reconciliation;
    const found = registry.database.read(() => registry.payments.find(signed));
    if (found !== undefined && found.quote.id !== quote.id) {
      throw new DomainError('conflict', 'this signed transfer has paid another quote: sign a new challenge');
    }
    let payment = found ?? registry.database.read(() => this.#identified(quote, signed));
    if (payment === undefined) {
      this.#refuseTimes(quote, signed);
      const outcome = await chain.verify(signed, quote.sinceBlock);
      refuseUsed(outcome, quote);
      // Stored before it is sent: after a crash the chain shows its outcome.
      const { added, isOther } = registry.database.write(() => {
        const { payments } = registry;
        const other = this.#identified(quote, signed) ?? payments.underway(quote.accountId, quote.tier, Infinity);
        const one = other ?? payments.add({ ...signed, quote }, clock());
        if (signed.identifier !== undefined) payments.identify(one, signed.identifier);
        if (other === undefined) sender.keep(one, signed);
        return { added: one, isOther: other !== undefined };
      });
      // A second transfer for the tier, signed while the first one is pending, is not sent: it would be paid twice.
      if (isOther) return added;
      payment = this.#reconciliation.apply(added, outcome, { id: quote.accountId });
    }
    if (payment.state === 'failed') {
      throw new DomainError('gone', 'the signed transfer has expired and was never mined: ask for another quote');
    }
    if (payment.state !== 'pending') return payment;
    if (found !== undefined) sender.keepAgain(found, signed);
    // A facilitator may never answer, although it has settled.
    const isOnItsWay = await Promise.race([sender.sendDue(chain, payment), wait(SEND_MS).then(() => true)]);
    return await this.#mined(payment, isOnItsWay ? WAIT_MS : LOST_MS);
  }

  /**
   * The payment of an earlier request with the same identifier: a client that has lost the answer signs another transfer. Undefined if it has
   * failed. Throws 'conflict' if that request was for something else.
   */
  #identified(quote: PaymentQuote, { identifier }: SignedPayment): Payment | undefined {
    if (identifier === undefined) return undefined;
    const known = this.#deps.registry.payments.identified(quote.accountId, identifier);
    if (known === undefined || known.state === 'failed') return undefined;
    if (BOUGHT.every((field) => known.quote[field] === quote[field])) return known;
    throw new DomainError('conflict', 'this payment-identifier belongs to another purchase: send a new one');
  }

  #refuseTimes({ expiresMs }: PaymentQuote, { validBefore }: SignedTransfer): void {
    const nowMs = this.#deps.clock();
    if (expiresMs <= nowMs) throw new DomainError('gone', 'the quote has expired: ask for another one');
    if (validBefore <= nowMs / 1000 + VALID_SECONDS_MAX) return;
    throw new PaymentRefused(VALID_BEFORE, 'the signed transfer is valid for too long: sign one for 5 minutes');
  }

  /** The payment once the chain has mined it, or as it is after `waitMs`. */
  async #mined(payment: Payment, waitMs: number): Promise<Payment> {
    const { wait, logError } = this.#deps;
    for (let waitedMs = 0; ; await wait(LOOK_MS)) {
      const outcome = await this.#reconciliation.outcomeOf(payment).catch((error: unknown) => {
        if (isUnavailable(error)) return error;
        throw error;
      });
      const isLost = outcome instanceof DomainError;
      const seen = isLost ? payment : this.#reconciliation.apply(payment, outcome, { id: payment.quote.accountId });
      // A look-up takes long if the node does not answer.
      waitedMs += isLost ? WAIT_MS / 2 : LOOK_MS;
      if (seen.state === 'pending' && waitedMs < waitMs) continue;
      if (isLost) logError(`payment ${payment.id} waits: ${outcome.message}`);
      return seen;
    }
  }
}

function isUnavailable(error: unknown): error is DomainError {
  return error instanceof DomainError && error.kind === 'chain-unavailable';
}

/** The digits of a price of the catalog, which has at most two decimals: a product would not be exact. */
function centsOf(usd: number): number {
  return Number(usd.toFixed(2).replace('.', ''));
}

/** A price in a token. Tokens of payments are worth a dollar each. */
function amountOf(priceCents: number, { decimals }: Token): bigint {
  return BigInt(priceCents) * 10n ** BigInt(decimals - 2);
}

/** Anybody can read earlier transfers, with their signatures, on the chain. */
function refuseUsed(outcome: Outcome, { sinceBlock }: PaymentQuote): void {
  if (outcome.state === 'unknown') {
    throw new DomainError('chain-unavailable', 'the node has no log of this transfer yet: try again later');
  }
  const isEarlier = outcome.state === 'transferred' && outcome.block <= sinceBlock;
  if (outcome.state !== 'void' && !isEarlier) return;
  throw new DomainError(
    'conflict',
    'the signed transfer was used before, has expired or is cancelled: sign a new challenge',
  );
}
