import {
  BaseError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  createPublicClient,
  http,
  type PublicClient,
} from 'viem';
import { DomainError } from '../domain/errors.ts';

/** An RPC node that has not answered after this time counts as unavailable. */
const TIMEOUT_MS = 10_000;

/** Returns true if a contract has refused the call, or does not have the function. */
export function isRefusal(cause: unknown): boolean {
  return cause instanceof ContractFunctionRevertedError || cause instanceof ContractFunctionZeroDataError;
}

/** A call that a contract refuses. `isBare`: without any data, as it refuses a function that it does not have. */
export class ContractRefusal extends DomainError {
  readonly isBare: boolean;

  constructor({ reason = 'without a reason', raw = '0x' }: Pick<ContractFunctionRevertedError, 'reason' | 'raw'>) {
    super('invalid-parameter', `the token's contract refuses it (${reason})`);
    this.isBare = raw === '0x';
  }
}

/** An RPC node of one network. */
export class Rpc {
  readonly client: PublicClient;
  readonly chainId: number;
  readonly #name: string;

  /** `name`: the name of the network. `url` may have credentials. */
  constructor(url: string, chainId: number, name: string) {
    // Public nodes answer with 429 now and then: a call is tried four times, at growing intervals.
    const transport = http(url, { timeout: TIMEOUT_MS });
    // A remembered block number would hide payments.
    this.client = createPublicClient({ transport, cacheTime: 0 });
    this.chainId = chainId;
    this.#name = name;
  }

  /** Asks the node, after its chain's id. Throws 'chain-unavailable', or 'invalid-parameter' with the reason if a contract refuses a call. */
  async ask<T>(question: (client: PublicClient) => Promise<T>): Promise<T> {
    try {
      const chainId = await this.client.getChainId();
      if (chainId === this.chainId) return await question(this.client);
    } catch (error) {
      throw this.#explained(error);
    }
    throw new DomainError('chain-unavailable', this.#otherChain);
  }

  /** Throws 'invalid-parameter' if the node belongs to another chain, 'chain-unavailable' if it does not answer. */
  async check(): Promise<void> {
    const chainId = await this.client.getChainId().catch((error: unknown) => {
      throw this.#explained(error);
    });
    if (chainId !== this.chainId) throw new DomainError('invalid-parameter', this.#otherChain);
  }

  get #otherChain(): string {
    return `the RPC node of ${this.#name} belongs to another chain: correct its URL, or the network in the payments file`;
  }

  /** An error to show, with only the kind of `error`: its text contains the node's URL, which may have credentials. */
  #explained(error: unknown): unknown {
    if (!(error instanceof BaseError)) return error;
    const refused = error.walk(isRefusal);
    if (refused !== null) {
      return new ContractRefusal(refused instanceof ContractFunctionRevertedError ? refused : {});
    }
    const kind = error.walk() instanceof Error ? (error.walk() as Error).name : error.name;
    return new DomainError(
      'chain-unavailable',
      `the RPC node of ${this.#name} does not answer (${kind}): try again later`,
    );
  }
}
