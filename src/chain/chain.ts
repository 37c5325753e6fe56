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

/** A transaction that carries a transfer. */
interface Carrier {
  readonly hash: string;
  /** The nonce of the gas key, and the fee and the tip for each unit of gas; undefined: a facilitator has sent it. */
  readonly own: { readonly nonce: number; readonly fee: bigint; readonly tip: bigint } | undefined;
}

/** The stored transactions of a network, for the one that sends the next. */
export interface Carriers {
  /**
   * Our own transactions from a nonce on. `isTaken`: it carries another transfer, which can be mined at `nowSeconds`, the chain's time, and
   * which we can send again or have just sent.
   */
  from(nonce: number, nowSeconds: number): readonly (NonNullable<Carrier['own']> & { readonly isTaken: boolean })[];
  /** The nonce of the last transaction of this transfer. */
  readonly last: number | undefined;
  /** Stores a transaction: our own before the network gets it. */
  store(carrier: Carrier): void;
}

/** The traces of a transfer that are known before its chain is asked. */
export interface Traces {
  /** The last block before its quote. */
  readonly sinceBlock: number;
  /** Hashes of transactions that may have carried it. */
  readonly hashes: readonly string[];
  /** An earlier search of the logs ended before this block. */
  readonly nextBlock: number | undefined;
}

/**
 * The outcome of a transfer at the block `head`. unused: it is not mined. transferred: exactly its amount, in `block`. void: it can
 * never be mined, since it has expired or the payer has cancelled it, so many blocks ago that this is final. unknown: it is used,
 * and no receipt and no log shows how: nodes may have a block before they have its logs. `nextBlock`: the next search begins there.
 */
export type Outcome =
  | { readonly state: 'unused' | 'void'; readonly head: number }
  | { readonly state: 'unknown'; readonly head: number; readonly nextBlock: number | undefined }
  | { readonly state: 'transferred'; readonly head: number; readonly block: number; readonly transaction: string };

/** A transfer by authorization that a chain has mined. */
export interface MinedTransfer extends Pick<Transfer, 'payer' | 'nonce' | 'amount'> {
  readonly transaction: string;
  readonly block: number;
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
  /** Sends a transfer to the network, or again with a higher fee. It may be mined even if this throws. */
  send(transfer: SignedTransfer, carriers: Carriers): Promise<void>;
  /** A receipt of one of the hashes is the witness; logs are searched where there is none. */
  outcome(transfer: Transfer, traces: Traces): Promise<Outcome>;
  /** The time of a block: Unix milliseconds. */
  timeOf(block: number): Promise<number>;
  /** The transfers by authorization of its tokens to an address in one transaction; none if it is not mined. */
  transfersIn(transaction: string, payTo: string): Promise<(MinedTransfer & Pick<Transfer, 'asset'>)[]>;
  /** All transfers by authorization of a token to an address, from a block on. */
  transfersTo(asset: string, payTo: string, sinceBlock: number): Promise<MinedTransfer[]>;
}

/** How transfers get into a block: with a key of our own that pays for gas, or through a facilitator. */
export interface Settler {
  /** Throws 'invalid-parameter' if it does not serve the network, 'chain-unavailable' if it does not answer. */
  check(): Promise<void>;
  /** Throws any error; its text is not shown, since it may have the node's or the facilitator's credentials. */
  settle(transfer: SignedTransfer, token: Token, carriers: Carriers): Promise<void>;
}
