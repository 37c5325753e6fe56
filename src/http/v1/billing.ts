import { Elysia, t } from 'elysia';
import { Type } from 'typebox';
import type { Billing } from '../../billing/billing.ts';
import { challengeOf, headerOf, paymentRequired, responseHeaderOf, signedPaymentIn } from '../../billing/x402.ts';
import { requirementsOf } from '../../chain/payment-requirements.ts';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant } from '../../domain/instant.ts';
import type { Payment } from '../../domain/payment.ts';
import type { Registry } from '../../store/registry.ts';
import { dataOf, described, orNull } from '../openapi/described.ts';
import { parameters } from '../parameters/parameter.ts';
import { PATH } from '../parameters/path.ts';
import { HISTORY_QUERY, HISTORY_ROUTE } from '../parameters/query.ts';
import type { AccessCheck } from '../plugins/access.ts';
import { type Negotiated, negotiate } from '../response/responder.ts';
import {
  ChainResource,
  chainResource,
  jsonBodyOf,
  PaymentResource,
  PriceQuoteResource,
  paymentHistory,
  paymentResource,
  paymentsOf,
  QuoteRequest,
  SettleRequest,
  UpgradeResource,
  upgradeResource,
} from './billing-resource.ts';
import type { ControllerDeps } from './controller.ts';

const X402 = '/v1/billing/x402';
const PENDING = { 200: 'The payment is mined, and the tier granted.', 202: 'Not mined yet: send the request again.' };
const ROUTE = { grant: 'any', query: parameters({}) } as const;
/** The routes read bodies themselves, with a bound. */
const POSTED = { ...ROUTE, parse: 'none' } as const;
const REFUSED = [
  ...(['BadRequest', 'Unauthorized', 'Forbidden', 'NotFound', 'PaymentConflict'] as const),
  ...(['TooManyRequests', 'InternalError', 'ServiceUnavailable'] as const),
];
const REFUSED_BODY = ['ContentTooLarge', 'UnsupportedMediaType'] as const;

const ChainList = dataOf(
  'ChainList',
  'The networks and tokens accepted for tiers.',
  Type.Array(ChainResource, { description: 'The networks.' }),
);
const PaymentList = Type.Object(
  {
    data: Type.Array(PaymentResource, { maxItems: 100, description: 'The payments, the latest first.' }),
    nextBefore: orNull(Type.String(), 'The parameter before of the next page; null on the last page.'),
  },
  { $id: 'PaymentList', description: 'A page of payments.' },
);

/** Upgrades that are paid on chain, with x402. `billing`: undefined if payments are off. */
export function billingController(
  { access, responder }: ControllerDeps,
  registry: Registry,
  billing: Billing | undefined,
) {
  const on = () => paymentsOf(billing);
  /** The key was valid when the request began. */
  const accountOf = ({ keyId }: AccessCheck) =>
    registry.database.readShared(() => registry.apiKeys.find(keyId!)!.accountId);
  const settled = (payment: Payment, negotiated: Negotiated) => {
    const isPending = payment.state === 'pending';
    if (isPending) on().tell(payment);
    if (!isPending) negotiated.set.headers['payment-response'] = responseHeaderOf(payment);
    return responder.document(upgradeResource(registry, payment), negotiated, undefined, isPending ? 202 : 200);
  };
  return new Elysia({ name: 'billing' })
    .use(access)
    .get(
      `${X402}/chains`,
      ({ exchange }) => responder.document({ data: on().chains.map(chainResource) }, negotiate(exchange)),
      {
        ...ROUTE,
        detail: described('chains', {
          summary: 'Networks and tokens',
          description: 'The networks and tokens accepted for tiers.',
          answer: ChainList,
          examples: { chains: `${X402}/chains` },
        }),
      },
    )
    .post(
      `${X402}/quote`,
      async ({ exchange, accessCheck }) => {
        const service = on();
        const { tierId, network, tokenSymbol } = await jsonBodyOf(QuoteRequest, exchange.request);
        const price = service
          .prices(tierId)
          .find(({ chain, token }) => chain.network === network && token.symbol === tokenSymbol);
        if (price === undefined) {
          throw new DomainError('invalid-parameter', `this network or token is not accepted: see ${X402}/chains`);
        }
        const underway = service.underway(accountOf(accessCheck), tierId);
        if (underway?.state === 'pending') return settled(underway, negotiate(exchange));
        const quote = await service.quote(accountOf(accessCheck), price);
        const answer = {
          provider: 'x402',
          challenge: challengeOf(quote, price.token, service.urlOf(tierId, exchange.request.url), price.tier.name),
          priceUsd: quote.priceCents / 100,
          priceAmount: String(quote.amount),
          expiresAt: formatInstant(quote.expiresMs),
        };
        return responder.document(answer, negotiate(exchange));
      },
      {
        ...POSTED,
        detail: described('quote', {
          summary: 'Price of a tier',
          description:
            'An offer of 30 days of a tier to the account of the key, for one token. Sign its challenge, and send it to settle before it expires.',
          body: { required: true, schema: QuoteRequest },
          answer: PriceQuoteResource,
          answers: { 200: 'The offer.', 202: 'A payment for this tier is not mined yet: wait for it.' },
          otherAnswers: { 202: UpgradeResource },
          examples: { quote: `POST ${X402}/quote` },
          refusals: [...REFUSED, ...REFUSED_BODY],
        }),
      },
    )
    .post(
      `${X402}/settle`,
      async ({ exchange, accessCheck }) => {
        const service = on();
        const { xPaymentHeader, challenge } = await jsonBodyOf(SettleRequest, exchange.request);
        const quote = service.quoteNamed(accountOf(accessCheck), challenge.quote_id);
        return settled(await service.settle(quote, signedPaymentIn(xPaymentHeader)), negotiate(exchange));
      },
      {
        ...POSTED,
        detail: described('settle', {
          summary: 'Pay a quote',
          description:
            'Sends the signed transfer to the network, and grants the tier when it is mined. A repeated request has the same result.',
          body: { required: true, schema: SettleRequest },
          answer: UpgradeResource,
          answers: PENDING,
          headers: ['Payment-Response'],
          examples: { settled: `POST ${X402}/settle` },
          refusals: [...REFUSED, ...REFUSED_BODY, 'Gone'],
        }),
      },
    )
    .post(
      `${X402}/upgrade/:tierId`,
      async ({ exchange, accessCheck, params: { tierId } }) => {
        const service = on();
        const { request, set } = exchange;
        const accountId = accountOf(accessCheck);
        const header = request.headers.get('payment-signature');
        if (header !== null) {
          const signed = signedPaymentIn(header);
          const quote = service.quotePaidBy(accountId, tierId, signed);
          return settled(await service.settle(quote, signed), negotiate(exchange));
        }
        const underway = service.underway(accountId, tierId);
        if (underway !== undefined) return settled(underway, negotiate(exchange));
        const prices = service.prices(tierId);
        const quotes = await service.quotes(accountId, prices);
        const accepts = quotes.map(({ quote, token }) => requirementsOf(quote.network, quote, token));
        const challenge = paymentRequired(service.urlOf(tierId, request.url), prices[0]!.tier.name, accepts);
        set.headers['payment-required'] = headerOf(challenge);
        throw new DomainError('payment-required', 'sign one of the transfers in PAYMENT-REQUIRED, and send it again');
      },
      {
        ...POSTED,
        params: t.Object({ tierId: PATH.tierId }),
        detail: described('upgrade', {
          summary: 'Buy a tier',
          description:
            'For x402 clients: without PAYMENT-SIGNATURE the answer is 402 with the quotes for all tokens in PAYMENT-REQUIRED; with it the tier is granted when the transfer is mined. Without a body.',
          answer: UpgradeResource,
          answers: PENDING,
          headers: ['Payment-Response'],
          examples: { upgraded: `POST ${X402}/upgrade/pro` },
          refusals: [...REFUSED, 'PaymentRequired', 'Gone'],
        }),
      },
    )
    .get(
      HISTORY_ROUTE,
      ({ exchange, accessCheck, query: { before, limit } }) => {
        const found = paymentHistory(registry, accountOf(accessCheck), limit + 1, before);
        const page = found.slice(0, limit);
        const nextBefore = found.length > limit ? page.at(-1)!.id : null;
        const data = page.map((payment) => paymentResource(registry, payment));
        return responder.document({ data, nextBefore }, negotiate(exchange));
      },
      {
        grant: 'any',
        query: parameters(HISTORY_QUERY),
        detail: described('history', {
          summary: 'Payments of the account',
          description: 'The payments of the account of the key, the latest first, also while payments are off.',
          answer: PaymentList,
          examples: { payments: HISTORY_ROUTE },
        }),
      },
    );
}
