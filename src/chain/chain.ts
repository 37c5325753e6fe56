import type { Payment, PaymentQuote } from '../domain/payment.ts';

/** A token with transfers by authorization (EIP-3009). */
export interface Token {
  readonly symbol: string;
  /** Its address: hex in lower case. */
  readonly asset: string;
  readonly decimals: number;
  /** The name and the version of its EIP-712 domain. */
  readonly name: string;
  readonly version: string;
}

/** A transfer to the service, as a chain knows it. */
export type Transfer = Pick<PaymentQuote, 'asset' | 'payTo' | 'amount'> &
  Pick<Payment, 'payer' | 'nonce' | 'validBefore'>;

export interface SignedTransfer extends Transfer {
  /** Unix seconds. Exclusive. */
  readonly validAfter: number;
  readonly signature: string;
}

/**
 * The outcome of a transfer at the block `head`. unused: it is not mined. transferred: exactly its amount, in `block`. void: it can
 * never be mined, since it has expired or the payer has cancelled it, so many blocks ago that this is final. unknown: it is used,
 * and the node has no log of it; nodes may have a block before they have its logs.
 */
export type Outcome =
  | { readonly state: 'unused' | 'void' | 'unknown'; readonly head: number }
  | { readonly state: 'transferred'; readonly head: number; readonly block: number; readonly transaction: string };

/** A transfer by authorization that a chain has mined. */
export interface MinedTransfer extends Pick<Transfer, 'payer' | 'nonce' | 'amount'> {
  readonly transaction: string;
}

/**
 * One network. Every method checks the chain's id first, and throws 'chain-unavailable' if the node does not answer, or belongs to
 * another chain.
 */
export interface Chain {
  /** CAIP-2: `eip155:137`. */
  readonly network: string;
  readonly name: string;
  readonly tokens: readonly Token[];
  /** The number of later blocks after which a block is final. */
  readonly confirmations: number;
  /** The number of the latest block. */
  head(): Promise<number>;
  /** The outcome of a transfer whose payer has signed it. Throws 'invalid-parameter' if it is not signed, or unused and cannot be mined. */
  verify(transfer: SignedTransfer, sinceBlock: number): Promise<Outcome>;
  /** Sends a transfer to the network. It may be mined even if this throws. */
  send(transfer: SignedTransfer): Promise<void>;
  outcome(transfer: Transfer, sinceBlock: number): Promise<Outcome>;
  /** All transfers by authorization of a token to an address, from a block on. */
  transfersTo(asset: string, payTo: string, sinceBlock: number): Promise<MinedTransfer[]>;
}

/** How transfers get into a block: with a key of our own that pays for gas, or through a facilitator. */
export interface Settler {
  /** Throws any error; its text is not shown, since it may have the node's or the facilitator's credentials. */
  settle(transfer: SignedTransfer, token: Token): Promise<void>;
}
