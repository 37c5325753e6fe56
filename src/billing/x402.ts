import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { SignedTransfer, Token } from '../chain/chain.ts';
import { Address, Digits, PaymentRequirements, requirementsOf } from '../chain/payment-requirements.ts';
import { DomainError, type ErrorKind } from '../domain/errors.ts';
import { type Payment, type PaymentQuote, PaymentRefused } from '../domain/payment.ts';
import { parsedJson } from '../record/fields.ts';

/** x402 version 2, https://github.com/coinbase/x402/blob/main/specs/x402-specification-v2.md, with its scheme "exact" on EVM networks. */
const VERSION = 2;

const Seconds = Type.String({ pattern: '^(0|[1-9][0-9]{0,14})$' });

export const Challenge = Type.Object(
  {
    x402Version: Type.Literal(VERSION, { description: 'Always 2.' }),
    resource: Type.Object(
      {
        url: Type.String({ description: 'Address of the upgrade.' }),
        description: Type.String({ description: 'What is bought.' }),
        mimeType: Type.String({ description: 'Type of the answer.' }),
      },
      { description: 'What is bought.', additionalProperties: false },
    ),
    accepts: Type.Array(PaymentRequirements, { minItems: 1, maxItems: 1, description: 'One way to pay.' }),
    tier_id: Type.String({ description: 'Id of the tier.' }),
    quote_id: Type.String({ pattern: '^quote_[0-9a-f]{16}$', description: 'Id of the quote.' }),
  },
  { $id: 'Challenge', description: 'An x402 challenge of a quote.', additionalProperties: false },
);
export type Challenge = Static<typeof Challenge>;

/** The extension by which clients name a purchase, so that it is made once: specs/extensions/payment_identifier.md in the same repository. */
const IDENTIFIER = 'payment-identifier';
const Identifier = Type.Object({
  required: Type.Optional(Type.Boolean()),
  id: Type.Optional(Type.String({ minLength: 16, maxLength: 128, pattern: '^[A-Za-z0-9_-]*$' })),
});
const EXTENSIONS = {
  [IDENTIFIER]: {
    info: { required: false },
    schema: { $schema: 'https://json-schema.org/draft/2020-12/schema', ...Identifier },
  },
};

/** Clients may add fields. */
const SignedPayment = Type.Object({
  x402Version: Type.Literal(VERSION),
  accepted: Type.Object({
    scheme: Type.Literal('exact'),
    network: Type.String(),
    asset: Address(''),
    amount: Digits(''),
    payTo: Address(''),
  }),
  payload: Type.Object({
    signature: Type.String({ pattern: '^0x([0-9a-fA-F]{2})*$', maxLength: 10_000 }),
    authorization: Type.Object({
      from: Address(''),
      to: Address(''),
      value: Digits(''),
      validAfter: Seconds,
      validBefore: Seconds,
      nonce: Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' }),
    }),
  }),
  extensions: Type.Optional(
    Type.Union([Type.Null(), Type.Object({ [IDENTIFIER]: Type.Optional(Type.Object({ info: Identifier })) })]),
  ),
});

/** A transfer that a payer has signed, with its network. `identifier`: of the purchase, by its client. */
export type SignedPayment = SignedTransfer &
  Pick<PaymentQuote, 'network'> & { readonly identifier?: string | undefined };

/** The header PAYMENT-REQUIRED of quotes for one tier. `error`: why the payment before it was refused. */
export function requiredHeaderOf(url: string, tierName: string, accepts: PaymentRequirements[], error?: string) {
  const why = error === undefined ? {} : { error };
  return headerOf({
    x402Version: VERSION,
    ...why,
    resource: resourceOf(url, tierName),
    accepts,
    extensions: EXTENSIONS,
  });
}

function resourceOf(url: string, tierName: string) {
  return { url, description: `${tierName} for 30 days`, mimeType: 'application/json' };
}

export function challengeOf(quote: PaymentQuote, token: Token, url: string, tierName: string): Challenge {
  const { network, tier, id } = quote;
  const accepts = [requirementsOf(network, quote, token)];
  return { x402Version: VERSION, resource: resourceOf(url, tierName), accepts, tier_id: tier, quote_id: id };
}

/** A value as a header of x402. */
function headerOf(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}

/** The header PAYMENT-RESPONSE of a payment. `lastHash`: of the transaction that was sent last. */
export function responseHeaderOf({ state, transaction, payer, quote }: Payment, lastHash = ''): string {
  const { network } = quote;
  if (state !== 'pending')
    return headerOf({ success: true, transaction, network, payer, amount: String(quote.amount) });
  return headerOf({ success: false, errorReason: 'settlement_pending', transaction: lastHash, network, payer });
}

/** The codes of the specification for errors that have none of their own. */
const REASONS: Partial<Record<ErrorKind, string>> = {
  conflict: 'invalid_transaction_state',
  gone: 'invalid_payment_requirements',
  'chain-unavailable': 'unexpected_verify_error',
};

/** The header PAYMENT-RESPONSE of a payment that is refused. */
export function refusalHeaderOf({ network, payer }: SignedPayment, error: DomainError): string {
  const errorReason = error instanceof PaymentRefused ? error.reason : (REASONS[error.kind] ?? 'invalid_payload');
  return headerOf({ success: false, errorReason, transaction: '', network, payer });
}

/** The content of a header PAYMENT-SIGNATURE. Throws 'invalid-parameter' if it is malformed. */
export function signedPaymentIn(header: string): SignedPayment {
  const signed = parsedJson(Buffer.from(header, 'base64').toString());
  if (!Value.Check(SignedPayment, signed)) {
    const where = Value.Errors(SignedPayment, signed).First()?.path || 'it';
    throw new DomainError(
      'invalid-parameter',
      `the signed payment is malformed (${where}): send the payload of x402 version 2 as base64`,
    );
  }
  const { accepted, payload, extensions } = signed;
  const { from, to, value, validAfter, validBefore, nonce } = payload.authorization;
  return {
    network: accepted.network,
    asset: accepted.asset.toLowerCase(),
    payTo: to.toLowerCase(),
    amount: BigInt(value),
    payer: from.toLowerCase(),
    nonce: nonce.toLowerCase(),
    validAfter: Number(validAfter),
    validBefore: Number(validBefore),
    signature: payload.signature.toLowerCase(),
    identifier: extensions?.[IDENTIFIER]?.info.id,
  };
}

/** Throws PaymentRefused unless a signed transfer is exactly what a quote asks for. */
export function refuseOther(signed: SignedPayment, quote: PaymentQuote): void {
  const { network, asset, payTo, amount } = quote;
  const refuse = (reason: string, what: string) => {
    throw new PaymentRefused(reason, `the signed transfer has another ${what} than the quote: sign its challenge`);
  };
  if (signed.network !== network || signed.asset !== asset) refuse('invalid_network', 'network or token');
  if (signed.payTo !== payTo) refuse('invalid_exact_evm_payload_recipient_mismatch', 'receiver');
  if (signed.amount !== amount) refuse('invalid_exact_evm_payload_authorization_value_mismatch', 'amount');
}
