import { ExactEvmScheme } from '@x402/evm';
import { wrapFetchWithPaymentFromConfig } from '@x402/fetch';
import type { Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

/** What a page buys with, and where. */
export interface Purchase {
  readonly url: string;
  readonly key: string;
  readonly privateKey: Hex;
  readonly network: `${string}:${string}`;
  readonly asset: string;
}

/** A script of a page that buys a tier with @x402/fetch as it is published. */
async function buy({ url, key, privateKey, network, asset }: Purchase): Promise<object> {
  const pay = wrapFetchWithPaymentFromConfig(fetch, {
    schemes: [{ network, client: new ExactEvmScheme(privateKeyToAccount(privateKey)) }],
    spendControls: { allowedAssets: [{ network, asset, maxAmountPerPayment: '100000000' }] },
  });
  try {
    const answer = await pay(url, { method: 'POST', headers: { authorization: `Bearer ${key}` } });
    return { status: answer.status, response: answer.headers.get('payment-response') };
  } catch (error) {
    return { error: `${error}` };
  }
}

Object.assign(globalThis, { buy });
