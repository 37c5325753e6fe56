import { type Hex, hexToNumber, type Log, numberToHex, type PublicClient, parseEventLogs, toEventSelector } from 'viem';
import type { MinedTransfer } from './chain.ts';
import { TOKEN_ABI } from './eip3009.ts';

/** The first topics of the logs of a token. */
export const USED = toEventSelector('AuthorizationUsed(address,bytes32)');
export const CANCELLED = toEventSelector('AuthorizationCanceled(address,bytes32)');
export const TRANSFERRED = toEventSelector('Transfer(address,address,uint256)');

/** Nodes answer with the logs of at least this number of blocks at once. */
const LOG_BLOCKS = 2000;

interface LogQuery {
  readonly asset: string;
  readonly topics: (Hex | Hex[] | null)[];
  /** Both inclusive. */
  readonly fromBlock: number;
  readonly toBlock: number;
}

/** The logs of a token with these topics, in the order of the chain. */
export async function* logsOf(client: PublicClient, { asset, topics, fromBlock, toBlock }: LogQuery) {
  for (let from = fromBlock; from <= toBlock; from += LOG_BLOCKS) {
    const range = { fromBlock: numberToHex(from), toBlock: numberToHex(Math.min(from + LOG_BLOCKS - 1, toBlock)) };
    const logs = await client.request({ method: 'eth_getLogs', params: [{ address: asset as Hex, topics, ...range }] });
    for (const {
      topics: [topic],
      blockNumber,
      transactionHash,
    } of logs) {
      // Pending logs have no block.
      if (blockNumber !== null && transactionHash !== null) {
        yield { topic, block: hexToNumber(blockNumber), transaction: transactionHash };
      }
    }
  }
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
    return [{ payer: authorizer.toLowerCase(), nonce, payTo, amount: value, transaction: used.transactionHash! }];
  });
}
