import { DomainError } from './errors.ts';
import type { InstantMs } from './instant.ts';

/** The time for which a tier is granted for its price. */
export const TERM_MS = 30 * 24 * 3_600_000;

/** An offer of a tier to an account. Networks are CAIP-2 (`eip155:137`), addresses hex in lower case. */
export interface PaymentQuote {
  readonly id: string;
  readonly accountId: number;
  readonly tier: string;
  readonly priceCents: number;
  readonly network: string;
  /** Address of the token. */
  readonly asset: string;
  readonly payTo: string;
  /** In the smallest unit of the token. */
  readonly amount: bigint;
  /** The last block before the quote was made: the transfer that pays it is in a later one. */
  readonly sinceBlock: number;
  readonly createdMs: InstantMs;
  /** Exclusive. */
  readonly expiresMs: InstantMs;
}

/** The seller on invoices. */
export interface Seller {
  readonly name: string;
  /** Lines. */
  readonly address: readonly string[];
  readonly taxId?: string;
  /** A tax that prices include. */
  readonly tax?: { readonly label: string; readonly percent: number };
}

/**
 * pending: the chain may still mine it. settled: mined and granted. final: mined so many blocks ago that it cannot be undone.
 * failed: it can never be mined.
 */
export const PAYMENT_STATES = ['pending', 'settled', 'final', 'failed'] as const;

/** A transfer to the service that a payer has signed for a quote. */
export interface Payment {
  readonly id: string;
  readonly quote: PaymentQuote;
  readonly payer: string;
  /** With the payer it names the transfer (EIP-3009). */
  readonly nonce: string;
  /** Unix seconds. Exclusive. */
  readonly validBefore: number;
  readonly state: (typeof PAYMENT_STATES)[number];
  /** Hash of the transaction that transferred it; undefined if it is not mined. */
  readonly transaction: string | undefined;
  readonly block: number | undefined;
  readonly settledMs: InstantMs | undefined;
  /** Hash of the transaction that paid it back; undefined: it was not refunded. */
  readonly refund: string | undefined;
  /** The number of its invoice. */
  readonly invoice: number | undefined;
  readonly createdMs: InstantMs;
}

/** The reason for a signed transfer that expires too early or too late. */
export const VALID_BEFORE = 'invalid_exact_evm_payload_authorization_valid_before';

/** A signed payment that is refused; nothing is stored. `reason`: the code of the x402 specification for it. */
export class PaymentRefused extends DomainError {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super('payment-required', message);
    this.reason = reason;
  }
}
