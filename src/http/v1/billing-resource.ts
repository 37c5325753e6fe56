import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Billing } from '../../billing/billing.ts';
import { termOfPayment } from '../../billing/paid-grants.ts';
import { Challenge } from '../../billing/x402.ts';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant, instantOrNull, instantText } from '../../domain/instant.ts';
import { PAYMENT_STATES, type Payment } from '../../domain/payment.ts';
import { parsedJson } from '../../record/fields.ts';
import type { Registry } from '../../store/registry.ts';
import { orNull } from '../openapi/described.ts';
import { bodyOf, mediaTypeOf } from '../request-body.ts';

const BODY_BYTES_MAX = 100 * 1024;

const Network = Type.String({ pattern: '^eip155:[1-9][0-9]{0,14}$', description: 'The network (CAIP-2).' });
const TierId = Type.String({ minLength: 1, maxLength: 100, description: 'Id of the tier.' });
const PaymentId = Type.String({ pattern: '^pay_[0-9a-f]{16}$', description: 'Id of the payment.' });

export const QuoteRequest = Type.Object(
  {
    tierId: TierId,
    network: Network,
    tokenSymbol: Type.String({ minLength: 1, maxLength: 100, description: 'Symbol of the token.' }),
  },
  { $id: 'QuoteRequest', additionalProperties: false, description: 'A tier, and how to pay for it.' },
);

export const SettleRequest = Type.Object(
  {
    xPaymentHeader: Type.String({
      minLength: 1,
      description: 'The signed payment: the JSON of the x402 payload as base64, as in the header PAYMENT-SIGNATURE.',
    }),
    challenge: Challenge,
  },
  { $id: 'SettleRequest', additionalProperties: false, description: 'A signed payment and its challenge.' },
);

export const ChainResource = Type.Object(
  {
    network: Network,
    name: Type.String({ description: 'Name of the network.' }),
    tokens: Type.Array(
      Type.Object({
        symbol: Type.String({ description: 'Symbol of the token.' }),
        asset: Type.String({ pattern: '^0x[0-9a-f]{40}$', description: 'Address of the token.' }),
        decimals: Type.Integer({ minimum: 2, maximum: 36, description: 'Decimals of its smallest unit.' }),
      }),
      { description: 'The tokens that are accepted on it.' },
    ),
  },
  { $id: 'Chain', description: 'A network that payments are accepted on.' },
);

const UsdPrice = Type.Number({ minimum: 0.01, description: 'Price of 30 days in USD.' });

export const PriceQuoteResource = Type.Object(
  {
    provider: Type.Literal('x402', { description: 'Always x402.' }),
    challenge: Challenge,
    priceUsd: UsdPrice,
    priceAmount: Type.String({ pattern: '^[1-9][0-9]*$', description: 'Price in the smallest unit of the token.' }),
    expiresAt: instantText('The quote is refused from then on.'),
  },
  { $id: 'PriceQuote', description: 'An offer of a tier to the account of the key.' },
);

export const UpgradeResource = Type.Object(
  {
    id: PaymentId,
    tierId: TierId,
    startsAt: orNull(instantText(''), 'Start of the tier; null while the payment is not mined.'),
    expiresAt: orNull(instantText(''), 'End of the tier, exclusive; null while the payment is not mined.'),
  },
  { $id: 'Upgrade', description: 'The tier that a payment bought.' },
);

export const PaymentResource = Type.Object(
  {
    id: PaymentId,
    provider: Type.Literal('x402', { description: 'Always x402.' }),
    providerRef: orNull(Type.String(), 'Hash of the transaction; null while the payment is not mined.'),
    amountUsd: Type.Number({ minimum: 0.01, description: 'Price of the tier in USD.' }),
    purpose: Type.Literal('upgrade', { description: 'Always upgrade: 30 days of a tier.' }),
    confirmedAt: orNull(instantText(''), 'When it was mined; null before.'),
    createdAt: instantText('When the service received it.'),
    metadata: Type.Object(
      {
        state: Type.String({
          enum: [...PAYMENT_STATES],
          description: 'pending: not mined yet; settled: mined; final: in a block that stays; failed: never mined.',
        }),
        tierId: TierId,
        startsAt: orNull(instantText(''), 'Start of the tier.'),
        expiresAt: orNull(instantText(''), 'End of the tier, exclusive.'),
        network: Network,
        asset: Type.String({ description: 'Address of the token.' }),
        amount: Type.String({ description: 'In the smallest unit of the token.' }),
        payer: Type.String({ description: 'Address of the payer.' }),
        refund: orNull(Type.String(), 'Hash of the transaction that paid it back; null if none was recorded.'),
      },
      { description: 'Details of the provider.' },
    ),
  },
  { $id: 'Payment', description: 'A payment of the account.' },
);

type Stores = Pick<Registry, 'grants' | 'tiers'>;

export function chainResource({ network, name, tokens }: Billing['chains'][number]): Static<typeof ChainResource> {
  return { network, name, tokens: tokens.map(({ symbol, asset, decimals }) => ({ symbol, asset, decimals })) };
}

export function upgradeResource(stores: Stores, { id, quote, settledMs }: Payment): Static<typeof UpgradeResource> {
  const term = settledMs === undefined ? undefined : termOfPayment(stores, quote.accountId, id);
  const times = { startsAt: instantOrNull(term?.startsMs), expiresAt: instantOrNull(term?.endsMs) };
  return { id, tierId: quote.tier, ...times };
}

export function paymentResource(stores: Stores, payment: Payment): Static<typeof PaymentResource> {
  const { id, quote, state, payer, transaction = null, refund = null, settledMs, createdMs } = payment;
  const { network, asset, amount, priceCents } = quote;
  const { id: _, ...upgrade } = upgradeResource(stores, payment);
  return {
    id,
    provider: 'x402',
    providerRef: transaction,
    amountUsd: priceCents / 100,
    purpose: 'upgrade',
    confirmedAt: instantOrNull(settledMs),
    createdAt: formatInstant(createdMs),
    metadata: { state, ...upgrade, network, asset, amount: String(amount), payer, refund },
  };
}

/**
 * At most `limit` payments of an account before its payment `beforeId`, the latest first, also while payments are off. Throws 'not-found'
 * if there is no such payment.
 */
export function paymentHistory({ payments, database }: Registry, accountId: number, limit: number, beforeId?: string) {
  return database.read(() => {
    if (beforeId !== undefined && payments.get(beforeId)?.quote.accountId !== accountId) {
      throw new DomainError('not-found', 'this account has no such payment: start without before');
    }
    return payments.list(limit, { accountId, beforeId });
  });
}

/** Throws 'not-found' if payments are off. */
export function paymentsOf(billing: Billing | undefined): Billing {
  if (billing !== undefined) return billing;
  throw new DomainError('not-found', 'payments are off: ask the operator of this service for an upgrade');
}

/** Reads a JSON body. Throws 'unsupported-media-type', 'too-large' or 'invalid-parameter'. */
export async function jsonBodyOf<T extends TSchema>(schema: T, request: Request): Promise<Static<T>> {
  if (mediaTypeOf(request) !== 'application/json') {
    throw new DomainError('unsupported-media-type', 'the body must be JSON: send it as application/json');
  }
  const bytes = await bodyOf(request, BODY_BYTES_MAX);
  if (bytes === undefined) throw new DomainError('too-large', 'the body is too large: send at most 100 KiB');
  const body = parsedJson(bytes.toString());
  if (Value.Check(schema, body)) return body;
  const where = Value.Errors(schema, body).First()?.path.slice(1).replaceAll('/', '.') || 'the body';
  // The path may have a name that the client chose, which may be a key.
  const known = /^[a-zA-Z0-9_.]{1,60}$/.test(where) ? `'${where}'` : 'a field';
  throw new DomainError('invalid-parameter', `${known} is missing, unknown or malformed: /docs describes the body`);
}
