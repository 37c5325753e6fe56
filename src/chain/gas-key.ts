import { createWalletClient, defineChain, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { DomainError } from '../domain/errors.ts';
import type { Settler } from './chain.ts';
import { transferCall } from './eip3009.ts';

const KEY = /^(?:0x)?[0-9a-f]{64}$/i;
const TIMEOUT_MS = 10_000;

/** Sends transfers with a key that pays for gas. Throws 'invalid-parameter' for a key that is malformed. */
export function gasKeySettler(rpcUrl: string, chainId: number, name: string, key: string): Settler {
  if (!KEY.test(key)) {
    throw new DomainError(
      'invalid-parameter',
      `the gas key of ${name} is malformed: write 64 hex digits into its file`,
    );
  }
  const account = privateKeyToAccount(`0x${key.replace(/^0x/, '')}`);
  const chain = defineChain({
    id: chainId,
    name,
    nativeCurrency: { name, symbol: name, decimals: 18 },
    rpcUrls: { default: { http: [] } },
  });
  const transport = http(rpcUrl, { timeout: TIMEOUT_MS, retryCount: 0 });
  const client = createWalletClient({ account, chain, transport, cacheTime: 0 });
  // Sent one after the other, because the transactions of a key are numbered.
  let last: Promise<unknown> = Promise.resolve();
  return {
    settle: async (transfer) => {
      const sent = last.then(() => client.writeContract(transferCall(transfer)));
      last = sent.catch(() => undefined);
      await sent;
    },
  };
}
