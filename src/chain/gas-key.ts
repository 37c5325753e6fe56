import {
  BaseError,
  createWalletClient,
  defineChain,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  publicActions,
} from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { DomainError } from '../domain/errors.ts';
import type { Carriers, Settler, SignedTransfer } from './chain.ts';
import { GAS_MAX, isOfContract, transferCall } from './eip3009.ts';

const KEY = /^(?:0x)?[0-9a-f]{64}$/i;
const TIMEOUT_MS = 10_000;
/** Nodes replace a transaction by one of the same nonce if its fee is at least 10 % higher. */
const RAISED_PERCENT = 125n;
/** The balances that a transfer meets may need more gas than those of the latest block. */
const GAS_PERCENT = 120n;
/** A node that is too busy for a transaction is asked again this often. */
const RETRIES = 3;

/** The account of the key that pays for gas on the network `name`. Throws 'invalid-parameter' for a key that is malformed. */
export function gasAccountOf(key: string, name: string): PrivateKeyAccount {
  if (KEY.test(key)) return privateKeyToAccount(`0x${key.replace(/^0x/, '')}`);
  throw new DomainError('invalid-parameter', `the gas key of ${name} is malformed: write 64 hex digits into its file`);
}

/** Sends transfers with a key that pays for gas. Throws as `gasAccountOf` does. */
export function gasKeySettler(rpcUrl: string, chainId: number, name: string, key: string): Settler {
  const account = gasAccountOf(key, name);
  const chain = defineChain({
    id: chainId,
    name,
    nativeCurrency: { name, symbol: name, decimals: 18 },
    rpcUrls: { default: { http: [] } },
  });
  const transport = http(rpcUrl, { timeout: TIMEOUT_MS });
  const client = createWalletClient({ account, chain, transport, cacheTime: 0 }).extend(publicActions);
  const send = async (transfer: SignedTransfer, carriers: Carriers) => {
    const { timestamp } = await client.getBlock({ blockTag: 'latest' });
    const mined = await client.getTransactionCount({ address: account.address, blockTag: 'latest' });
    // A wallet can pass every check before, and fail when it is mined: it costs gas once.
    if (isOfContract(transfer) && carriers.last !== undefined && carriers.last < mined) {
      throw new Error('a transaction of this transfer of a contract was mined, and did not transfer');
    }
    const stored = carriers.from(mined, Number(timestamp));
    const nonce = freeNonce(mined, carriers.last, stored);
    const { address: to, ...call } = transferCall(transfer);
    const { abi, functionName, args } = call;
    const data = encodeFunctionData({ abi, functionName, args });
    // At the latest block: at the pending one, an earlier transaction of this transfer would make it fail.
    const estimate = ((await client.estimateGas({ to, data, blockTag: 'latest', gas: GAS_MAX })) * GAS_PERCENT) / 100n;
    const gas = estimate < GAS_MAX ? estimate : GAS_MAX;
    const parameters = ['fees', 'type', 'chainId'] as const;
    const prepared = await client.prepareTransactionRequest({ to, data, nonce, gas, parameters });
    const replaced = stored.filter((one) => one.nonce === nonce);
    const fee = raised(prepared.maxFeePerGas ?? prepared.gasPrice!, replaced, 'fee');
    const tip = raised(prepared.maxPriorityFeePerGas ?? 0n, replaced, 'tip');
    const fees =
      prepared.maxFeePerGas === undefined ? { gasPrice: fee } : { maxFeePerGas: fee, maxPriorityFeePerGas: tip };
    // The type of the prepared request has both kinds of fees; the chain has one.
    const serializedTransaction = (await account.signTransaction({ ...prepared, ...fees } as never)) as Hex;
    // Stored first: after a crash, or if the answer is lost, its receipt shows what became of it.
    carriers.store({ hash: keccak256(serializedTransaction), own: { nonce, fee, tip } });
    try {
      const [method, params] = ['eth_sendRawTransaction', [serializedTransaction]] as const;
      await client.request({ method, params: [...params] }, { retryCount: RETRIES });
    } catch (error) {
      // The answer to an earlier try was lost.
      if (!(error instanceof BaseError) || !/already (?:known|imported)/i.test(error.details)) throw error;
    }
  };
  // One after the other, so that two transfers do not choose the same nonce.
  let last: Promise<unknown> = Promise.resolve();
  return {
    check: async () => undefined,
    settle: async (transfer, _, carriers) => {
      const sent = last.then(() => send(transfer, carriers));
      last = sent.catch(() => undefined);
      await sent;
    },
  };
}

/** An estimated fee or tip, or a higher one that replaces those of earlier transactions. */
function raised(estimate: bigint, earlier: ReturnType<Carriers['from']>, field: 'fee' | 'tip'): bigint {
  const least = earlier.map((one) => (one[field] * RAISED_PERCENT) / 100n + 1n);
  return [estimate, ...least].reduce((high, one) => (high > one ? high : one));
}

/**
 * The first nonce that no other open transfer has: a transfer that is over gives its nonce to the next one, which replaces it, so that
 * no gap and no stuck transaction blocks those after it. A transfer keeps its own nonce as long as that leaves no gap.
 */
function freeNonce(mined: number, own: number | undefined, stored: ReturnType<Carriers['from']>): number {
  const taken = new Set(stored.filter(({ isTaken }) => isTaken).map(({ nonce }) => nonce));
  let nonce = mined;
  while (taken.has(nonce) && nonce !== own) nonce += 1;
  return nonce;
}
