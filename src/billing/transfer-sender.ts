import type { Chain, Traces, Transfer } from '../chain/chain.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Payment } from '../domain/payment.ts';
import type { Registry } from '../store/registry.ts';

export interface TransferSenderDeps {
  readonly registry: Registry;
  readonly clock: () => InstantMs;
  /** Logs an error. Its lines never contain signatures or URLs. */
  readonly logError: (line: string) => void;
}

/** The part of a signed transfer that the payment itself does not have. */
interface SignedPart {
  readonly validAfter: number;
  readonly signature: string;
}

/** A transfer that is not mined is sent again after this time, with a higher fee. */
const RESEND_MS = 45_000;

/** Sends the transfers of pending payments to their chains, until a chain has mined them or never can. */
export class TransferSender {
  readonly #deps: TransferSenderDeps;
  /** The instants at which this process tried to send pending payments, by id. */
  readonly #triedMs = new Map<string, InstantMs>();

  constructor(deps: TransferSenderDeps) {
    this.#deps = deps;
  }

  /** Keeps what the payer has signed, encrypted, until the chain has decided the payment. Within the write that adds the payment. */
  keep(payment: Payment, { validAfter, signature }: SignedPart): void {
    this.#deps.registry.paymentSends.keep(payment, JSON.stringify({ validAfter, signature }));
  }

  /** As `keep`, for a payment that was stored by an earlier version. */
  keepAgain(payment: Payment, signed: SignedPart): void {
    const { paymentSends, database } = this.#deps.registry;
    if (database.read(() => paymentSends.signed(payment)) === undefined)
      database.write(() => this.keep(payment, signed));
  }

  tracesOf(payment: Payment): Traces {
    const { paymentSends, database } = this.#deps.registry;
    return database.read(() => paymentSends.traces(payment));
  }

  /**
   * Sends the transfer of a pending payment if this process has not sent it lately: a process that was killed may have stored a transaction
   * that it did not send. Returns false if sending certainly failed, or if there is nothing to send any more; never throws.
   */
  async sendDue(chain: Chain, payment: Payment): Promise<boolean> {
    const { registry, clock, logError } = this.#deps;
    const { paymentSends, database } = registry;
    const nowMs = clock();
    for (const [id, triedMs] of this.#triedMs) if (triedMs + RESEND_MS < nowMs) this.#triedMs.delete(id);
    if (this.#triedMs.has(payment.id)) return true;
    try {
      const text = database.read(() => paymentSends.signed(payment));
      if (text === undefined) return false;
      this.#triedMs.set(payment.id, nowMs);
      await chain.send(
        { ...transferOf(payment), ...(JSON.parse(text) as SignedPart) },
        {
          last: database.read(() => paymentSends.lastNonce(payment)),
          from: (nonce, nowSeconds) =>
            database.read(() => paymentSends.ownFrom(payment, { nonce, nowSeconds, recentMs: nowMs - RESEND_MS })),
          store: (carrier) => database.write(() => paymentSends.addTransaction(payment, carrier, clock())),
        },
      );
      return true;
    } catch (error) {
      // The transfer may still have reached the network: its outcome shows it. It is sent again at the next look.
      this.#triedMs.delete(payment.id);
      logError(`payment ${payment.id} was not sent to ${chain.name}: ${kindOf(error)}`);
      return false;
    }
  }
}

/** A payment as its chain knows it. */
export function transferOf({ quote, payer, nonce, validBefore }: Payment): Transfer {
  const { asset, payTo, amount } = quote;
  return { asset, payTo, amount, payer, nonce, validBefore };
}

/** The first sentence of an error that has no URL and no credentials. */
function kindOf(error: unknown): string {
  if (error instanceof Error && 'shortMessage' in error) return String(error.shortMessage).split('\n', 1)[0]!;
  return error instanceof Error ? `${error.name}: ${error.message}` : 'unknown';
}
