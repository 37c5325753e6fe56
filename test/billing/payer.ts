import { randomBytes } from 'node:crypto';
import { ExactEvmScheme } from '@x402/evm';
import { wrapFetchWithPaymentFromConfig } from '@x402/fetch';
import { bytesToHex, type Hex } from 'viem';
import type { Challenge } from '../../src/billing/x402.ts';
import { CUSTOMER, NETWORK } from './anvil.ts';
import { TOKEN } from './paid-service.ts';
import type { SmartWallet } from './smart-wallet.ts';

const QUOTE = '/v1/billing/x402/quote';
const SETTLE = '/v1/billing/x402/settle';

/** The answer to a request, parsed. */
export interface Answer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

export interface QuoteAnswer {
  readonly provider: string;
  readonly challenge: Challenge;
  readonly priceUsd: number;
  readonly priceAmount: string;
  readonly expiresAt: string;
}

export interface UpgradeAnswer {
  readonly id: string;
  readonly tierId: string;
  readonly startsAt: string | null;
  readonly expiresAt: string | null;
  readonly detail?: string;
}

/** Changes of what is signed, for payments that must be refused. */
export interface Signing {
  readonly value?: string;
  readonly to?: string;
  readonly chainId?: number;
  readonly name?: string;
  readonly nonce?: Hex;
  readonly validAfter?: number;
  readonly validBefore?: number;
  readonly accepted?: object;
  /** Of the payment, as the extension payment-identifier has it; anything else is malformed. */
  readonly identifier?: unknown;
  readonly signer?: typeof CUSTOMER;
  /** A contract that pays; the signer owns it. */
  readonly wallet?: SmartWallet;
}

interface Client {
  readonly origin: string;
  readonly key: string;
}

export async function post<T>({ origin, key }: Client, path: string, body?: unknown, headers = {}): Promise<Answer<T>> {
  const response = await fetch(`${origin}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as T };
}

export async function get<T>({ origin, key }: Client, path: string): Promise<Answer<T>> {
  const response = await fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, headers: response.headers, body: (await response.json()) as T };
}

export async function quoteOf(client: Client, tierId = 'pro'): Promise<QuoteAnswer> {
  const answer = await post<QuoteAnswer>(client, QUOTE, { tierId, network: NETWORK, tokenSymbol: TOKEN.symbol });
  if (answer.status !== 200) throw new Error(`no quote: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Signs a challenge with viem alone: the payload of x402 as base64. */
export async function signed(
  { accepts: [accepted] }: Pick<Challenge, 'accepts'>,
  signing: Signing = {},
): Promise<string> {
  const { network, amount, payTo, asset, extra } = accepted!;
  const { signer = CUSTOMER, nonce = bytesToHex(randomBytes(32)) } = signing;
  const authorization = {
    from: signing.wallet?.address ?? signer.address,
    to: (signing.to ?? payTo) as Hex,
    value: signing.value ?? amount,
    validAfter: String(signing.validAfter ?? 0),
    validBefore: String(signing.validBefore ?? Math.floor(Date.now() / 1000) + accepted!.maxTimeoutSeconds),
    nonce,
  };
  const { value, validAfter, validBefore } = authorization;
  const ofSigner = await signer.signTypedData({
    domain: {
      name: signing.name ?? extra.name,
      version: extra.version,
      chainId: signing.chainId ?? Number(network.split(':')[1]),
      verifyingContract: asset as Hex,
    },
    types: {
      TransferWithAuthorization: [
        { name: 'from', type: 'address' },
        { name: 'to', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'validAfter', type: 'uint256' },
        { name: 'validBefore', type: 'uint256' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
    },
  });
  const signature = signing.wallet?.wrapped(ofSigner) ?? ofSigner;
  const payload = {
    x402Version: 2,
    accepted: { ...accepted, ...signing.accepted },
    payload: { signature, authorization },
    ...('identifier' in signing && {
      extensions: { 'payment-identifier': { info: { required: false, id: signing.identifier } } },
    }),
  };
  return Buffer.from(JSON.stringify(payload)).toString('base64');
}

export async function settle(
  client: Client,
  challenge: Challenge,
  xPaymentHeader: string,
): Promise<Answer<UpgradeAnswer>> {
  return await post(client, SETTLE, { xPaymentHeader, challenge });
}

/** Asks for a quote, signs it, and settles it. */
export async function buy(client: Client, tierId = 'pro', signing: Signing = {}): Promise<Answer<UpgradeAnswer>> {
  const { challenge } = await quoteOf(client, tierId);
  return await settle(client, challenge, await signed(challenge, signing));
}

/** The tier of the key's account. */
export async function tierOf(client: Client): Promise<string> {
  const { body } = await get<{ data: { tier: { id: string } } }>(client, '/v1/account');
  return body.data.tier.id;
}

/** fetch that pays, as @x402/fetch makes it, for a client that allows up to 100 TUSD a payment. */
export function payingFetch(
  asset: string,
  signer: ConstructorParameters<typeof ExactEvmScheme>[0] = CUSTOMER,
): typeof fetch {
  const schemes = [{ network: NETWORK as `${string}:${string}`, client: new ExactEvmScheme(signer) }];
  const allowed = { network: NETWORK as `${string}:${string}`, asset, maxAmountPerPayment: '100000000' };
  return wrapFetchWithPaymentFromConfig(fetch, {
    schemes,
    spendControls: { allowedAssets: [allowed] },
  }) as typeof fetch;
}
