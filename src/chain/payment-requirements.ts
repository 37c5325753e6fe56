import { type Static, Type } from 'typebox';
import type { Token, Transfer } from './chain.ts';

/** How long a signed transfer is valid. */
const VALID_SECONDS = 300;

export const Address = (description: string) => Type.String({ pattern: '^0x[0-9a-fA-F]{40}$', description });
export const Digits = (description: string) => Type.String({ pattern: '^(0|[1-9][0-9]{0,77})$', description });

/** The transfer that a client must sign (x402 version 2, scheme "exact" on EVM networks). */
export const PaymentRequirements = Type.Object(
  {
    scheme: Type.Literal('exact', { description: 'Always exact: the payer transfers this amount.' }),
    network: Type.String({ pattern: '^eip155:[1-9][0-9]{0,14}$', description: 'The network (CAIP-2).' }),
    asset: Address('Address of the token.'),
    amount: Digits('In the smallest unit of the token.'),
    payTo: Address('Address that receives it.'),
    maxTimeoutSeconds: Type.Literal(VALID_SECONDS, { description: 'How long the signed transfer is valid.' }),
    extra: Type.Object(
      {
        name: Type.String({ description: 'Name in the EIP-712 domain of the token.' }),
        version: Type.String({ description: 'Version in the EIP-712 domain of the token.' }),
      },
      { description: 'The EIP-712 domain of the token.', additionalProperties: false },
    ),
  },
  { description: 'What the payer signs.', additionalProperties: false },
);

export type PaymentRequirements = Static<typeof PaymentRequirements>;

export function requirementsOf(
  network: string,
  { asset, amount, payTo }: Pick<Transfer, 'asset' | 'amount' | 'payTo'>,
  { name, version }: Token,
): PaymentRequirements {
  const terms = { network, asset, amount: String(amount), payTo, maxTimeoutSeconds: VALID_SECONDS } as const;
  return { scheme: 'exact', ...terms, extra: { name, version } };
}

export const AUTHORIZATION_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

const DOMAIN_TYPE = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
] as const;

/** The message that a wallet signs (EIP-712), as eth_signTypedData_v4 takes it, without `from` and `validBefore`. */
export function transferToSign({ network, asset, amount, payTo, extra }: PaymentRequirements, nonce: string) {
  return {
    domain: { ...extra, chainId: Number(network.slice('eip155:'.length)), verifyingContract: asset },
    types: { EIP712Domain: DOMAIN_TYPE, ...AUTHORIZATION_TYPES },
    primaryType: 'TransferWithAuthorization',
    message: { to: payTo, value: amount, validAfter: '0', nonce },
  };
}
