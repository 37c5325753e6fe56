import {
  BaseError,
  type Hex,
  HttpRequestError,
  hexToNumber,
  type Log,
  numberToHex,
  type PublicClient,
  parseEventLogs,
  type RpcLog,
  RpcRequestError,
  toEventSelector,
} from 'viem';
import type { MinedTransfer } from './chain.ts';
import { TOKEN_ABI } from './eip3009.ts';

/** The first topics of the logs of a token. */
export const USED = toEventSelector('AuthorizationUsed(address,bytes32)');
export const CANCELLED = toEventSelector('AuthorizationCanceled(address,bytes32)');
export const TRANSFERRED = toEventSelector('Transfer(address,address,uint256)');

/** The logs of at most this number of blocks are asked for at once. Public nodes refuse more than 500, 10 or 5. */
const BLOCKS_MAX = 2000;
/** The length is doubled after this number of answers. */
const ANSWERS = 50;
/** Maximum number of requests of one search. */
const REQUESTS_MAX = 500;

interface LogQuery {
  readonly asset: string;
  readonly topics: (Hex | Hex[] | null)[];
  /** Both inclusive. */
  readonly fromBlock: number;
  readonly toBlock: number;
}

/** A log of a token, with the block up to which the logs were read before it. */
interface TokenLog {
  readonly topic: Hex | undefined;
  readonly block: number;
  readonly transaction: Hex;
}

/** Reads the logs of a node in ranges that its limit allows. */
export class TokenLogs {
  #blocks = BLOCKS_MAX;
  /** Answers since the length was last changed. */
  #answers = 0;

  /**
   * The logs of a token with these topics, in the order of the chain, in groups of the blocks before `nextBlock`; ends early after 500
   * requests. A range that the node refuses is halved; the next ones have that length too.
   */
  async *search(
    client: PublicClient,
    { asset, topics, fromBlock, toBlock }: LogQuery,
  ): AsyncGenerator<{ readonly logs: readonly TokenLog[]; readonly nextBlock: number }> {
    let requests = 0;
    for (let from = fromBlock; from <= toBlock && requests < REQUESTS_MAX; requests += 1) {
      const nextBlock = Math.min(from + this.#blocks, toBlock + 1);
      const range = { fromBlock: numberToHex(from), toBlock: numberToHex(nextBlock - 1) };
      const params = [{ address: asset as Hex, topics, ...range }] as const;
      try {
        const found = await client.request({ method: 'eth_getLogs', params: [...params] });
        yield { logs: found.flatMap(minedLog), nextBlock };
        this.#answers += 1;
        // Another node may allow more; one that does not costs a request in so many.
        if (this.#answers % ANSWERS === 0) this.#blocks = Math.min(this.#blocks * 2, BLOCKS_MAX);
      } catch (error) {
        if (nextBlock - from === 1 || !isTooLong(error)) throw error;
        this.#blocks = Math.ceil((nextBlock - from) / 2);
        this.#answers = 0;
        continue;
      }
      from = nextBlock;
    }
  }
}

/** Nodes refuse a range in many ways: with codes, with 400 or 413, in words. Only a node that does not answer, or has no time, says nothing of it. */
function isTooLong(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  const http = error.walk((cause) => cause instanceof HttpRequestError);
  if (http instanceof HttpRequestError) return http.status === 400 || http.status === 413;
  return error.walk((cause) => cause instanceof RpcRequestError) !== null;
}

/** Pending logs have no block. */
function minedLog({ topics: [topic], blockNumber, transactionHash }: RpcLog): TokenLog[] {
  if (blockNumber === null || transactionHash === null) return [];
  return [{ topic, block: hexToNumber(blockNumber), transaction: transactionHash }];
}

/** The transfers by authorization of a token among the logs of a transaction. */
export function minedTransfers(
  logs: Log<bigint, number, false>[],
  asset: string,
): (MinedTransfer & { readonly payTo: string })[] {
  const own = parseEventLogs({ abi: TOKEN_ABI, logs }).filter(({ address }) => address.toLowerCase() === asset);
  return own.flatMap((used, index) => {
    if (used.eventName !== 'AuthorizationUsed') return [];
    // EIP-3009: the transfer follows at once. Another one of the same transaction belongs to another authorization.
    const moved = own.slice(index + 1).find(({ eventName }) => eventName !== 'AuthorizationCanceled');
    if (moved?.eventName !== 'Transfer' || moved.args.from !== used.args.authorizer) return [];
    const { authorizer, nonce } = used.args;
    const { to, value } = moved.args;
    const payTo = to.toLowerCase();
    const { transactionHash: transaction, blockNumber } = used;
    const mined = { nonce, payTo, amount: value, transaction, block: Number(blockNumber) };
    return [{ payer: authorizer.toLowerCase(), ...mined }];
  });
}
