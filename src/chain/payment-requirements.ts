import { type Static, Type } from 'typebox';
import type { Token, Transfer } from './chain.ts';

/** How long a signed transfer is valid. */
const VALID_SECONDS = 300;

export const Address = (description: string) => Type.String({ pattern: '^0x[0-9a-fA-F]{40}$', description });
export const Digits = (description: string) => Type.String({ pattern: '^(0|[1-9][0-9]{0,77})$', description });

/** What a client must sign (x402 version 2, scheme "exact" on EVM networks). */
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
