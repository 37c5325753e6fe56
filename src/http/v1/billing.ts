import { Elysia, t } from 'elysia';
import { Type } from 'typebox';
import type { Billing, Price } from '../../billing/billing.ts';
import {
  challengeOf,
  refusalHeaderOf,
  requiredHeaderOf,
  responseHeaderOf,
  type SignedPayment,
  signedPaymentIn,
} from '../../billing/x402.ts';
import { type PaymentRequirements, requirementsOf } from '../../chain/payment-requirements.ts';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant } from '../../domain/instant.ts';
import { type Payment, type PaymentQuote, PaymentRefused } from '../../domain/payment.ts';
import type { Registry } from '../../store/registry.ts';
import { dataOf, described, orNull } from '../openapi/described.ts';
import { KEYED_REFUSALS } from '../openapi/refusals.ts';
import { parameters } from '../parameters/parameter.ts';
import { PATH } from '../parameters/path.ts';
import { HISTORY_QUERY, HISTORY_ROUTE } from '../parameters/query.ts';
import type { AccessCheck } from '../plugins/access.ts';
import type { RequestContext } from '../plugins/rate-limit.ts';
import { type Negotiated, negotiate } from '../response/responder.ts';
import type { Exchange } from '../response/response.ts';
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
const UPGRADE = `${X402}/upgrade/:tierId`;
const PENDING = { 200: 'The payment is mined, and the tier granted.', 202: 'Not mined yet: send the request again.' };
const ROUTE = { grant: 'any', query: parameters({}) } as const;
/** The routes read bodies themselves, with a bound. */
const POSTED = { ...ROUTE, parse: 'none' } as const;
const REFUSED = [...KEYED_REFUSALS, 'NotFound', 'PaymentConflict'] as const;
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

/**
 * Refuses the purchase of a visitor without a key with the price of the tier (402): stores no quote, and asks no chain. Returns for any
 * other request, for a tier that cannot be bought, and for a payment, which needs a key.
 */
export function offerToVisitor(service: Billing, { request, set, route, params }: RequestContext): void {
  const tierId = params?.tierId;
  if (route !== UPGRADE || tierId === undefined || request.headers.has('payment-signature')) return;
  let prices: Price[];
  try {
    prices = service.prices(tierId);
  } catch (error) {
    if (error instanceof DomainError) return;
    throw error;
  }
  const accepts = prices.map((price) => requirementsOf(price.chain.network, price, price.token));
  setChallenge(service, { request, set }, prices, accepts);
  throw new DomainError(
    'payment-required',
    "PAYMENT-REQUIRED has the price: to buy it, send the header 'Authorization: Bearer <API_KEY>' with a key of an account",
  );
}

function setChallenge(
  service: Billing,
  { request, set }: Pick<Exchange, 'request' | 'set'>,
  [price]: readonly Price[],
  accepts: PaymentRequirements[],
  error?: string,
): void {
  const { id, name } = price!.tier;
  set.headers['payment-required'] = requiredHeaderOf(service.urlOf(id, request.url), name, accepts, error);
}

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
    negotiated.set.headers['payment-response'] = responseHeaderOf(payment, isPending ? on().tell(payment) : undefined);
    return responder.document(upgradeResource(registry, payment), negotiated, undefined, isPending ? 202 : 200);
  };
  /** Sets PAYMENT-REQUIRED: the offers of a tier. `error`: why the payment before them was refused. */
  const offer = async (exchange: Exchange, accountId: number, tierId: string, error?: string) => {
    const prices = on().prices(tierId);
    const quotes = await on().quotes(accountId, prices);
    const accepts = quotes.map(({ quote, token }) => requirementsOf(quote.network, quote, token));
    setChallenge(on(), exchange, prices, accepts, error);
  };
  /** Settles the quote that `find` returns. A refusal is answered in the words of x402 too, with other offers after a 402. */
  const pay = async (
    exchange: Exchange,
    { accountId, tier }: Pick<PaymentQuote, 'accountId' | 'tier'>,
    signed: SignedPayment,
    find: () => PaymentQuote,
  ) => {
    try {
      return settled(await on().settle(find(), signed), negotiate(exchange));
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      exchange.set.headers['payment-response'] = refusalHeaderOf(signed, error);
      // The answer has the refusal even if there are no more offers.
      if (error instanceof PaymentRefused) await offer(exchange, accountId, tier, error.reason).catch(() => undefined);
      throw error;
    }
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
          headers: ['Payment-Response'],
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
        return await pay(exchange, quote, signedPaymentIn(xPaymentHeader), () => quote);
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
          refusals: [...REFUSED, ...REFUSED_BODY, 'PaymentRequired', 'Gone'],
        }),
      },
    )
    .post(
      UPGRADE,
      async ({ exchange, accessCheck, params: { tierId } }) => {
        const service = on();
        const accountId = accountOf(accessCheck);
        const header = exchange.request.headers.get('payment-signature');
        if (header !== null) {
          const signed = signedPaymentIn(header);
          const find = () => service.quotePaidBy(accountId, tierId, signed);
          return await pay(exchange, { accountId, tier: tierId }, signed, find);
        }
        const underway = service.underway(accountId, tierId);
        if (underway !== undefined) return settled(underway, negotiate(exchange));
        await offer(exchange, accountId, tierId);
        throw new DomainError('payment-required', 'sign one of the transfers in PAYMENT-REQUIRED, and send it again');
      },
      {
        ...POSTED,
        params: t.Object({ tierId: PATH.tierId }),
        detail: described('upgrade', {
          summary: 'Buy a tier',
          description:
            'For x402 clients: without PAYMENT-SIGNATURE the answer is 402 with the quotes for all tokens in PAYMENT-REQUIRED; with it the tier is granted when the transfer is mined. Without a key the answer is 402 with the prices only. Without a body.',
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
