import { REPLAYS_MAX } from '../../replay/replays.ts';
import { USAGE_ROUTE } from '../parameters/query.ts';
import { EXAMPLE_MARKET, examplesOf } from './examples.ts';
import { headersNamed } from './headers.ts';
import type { JsonObject } from './schema.ts';

/** A refusal that several routes share. */
interface Refusal {
  readonly status: number;
  readonly description: string;
  /** Headers in addition to Cache-Control and those of every answer. */
  readonly headers?: readonly string[];
  /** Requests that are refused with it, by name; the test that sends them creates the other conditions. */
  readonly examples: Readonly<Record<string, string>>;
}

/** For refusals that can come after the times of a request were read. */
const WARNED = ['X-Bookreel-Warning'];

export const REFUSALS = {
  NotModified: {
    status: 304,
    description: 'If-None-Match names the current answer. Only for resolved markets.',
    headers: ['ETag', 'Vary', 'Cache-Control', ...WARNED],
    examples: {},
  },
  MalformedRequest: {
    status: 400,
    description: 'The URL or the Host header is malformed.',
    examples: { malformedEscape: '/?%ZZ' },
  },
  BadRequest: {
    status: 400,
    description: 'The URL or the Host header is malformed, or parameters are invalid: issues lists up to 32 of them.',
    headers: WARNED,
    examples: {
      outOfBounds: '/v1/btc/markets?limit=0&tf=2h',
      unknownParameter: '/v1/btc/markets?timeframe=5m',
      windowTurnedRound: `${EXAMPLE_MARKET}/quotes?from=2026-01-08T10:35:00Z&to=2026-01-08T10:30:00Z`,
      foreignCursor: '/v1/btc/prices?cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAA',
      malformedEscape: '/v1/btc/markets?tf=%ZZ',
    },
  },
  Unauthorized: {
    status: 401,
    description: 'The request has no valid key. Unknown, revoked and mistyped keys get the same answer.',
    headers: ['WWW-Authenticate'],
    examples: { noKey: '/v1/btc/markets' },
  },
  Forbidden: {
    status: 403,
    description: 'The key’s tier does not grant this route or coin.',
    examples: { route: `${EXAMPLE_MARKET}/snapshots`, coin: '/v1/eth/markets' },
  },
  NotFound: {
    status: 404,
    description: 'No such coin or market, the account has no such key or quote, or payments are off.',
    headers: WARNED,
    examples: {
      coin: '/v1/nosuchcoin/markets',
      market: '/v1/btc/markets/0x99',
      path: '/v1/nothing',
      key: `${USAGE_ROUTE}?keyId=key_aaaaaaaaaa`,
    },
  },
  Conflict: { status: 409, description: `This process already has ${REPLAYS_MAX} replays.`, examples: {} },
  PaymentRequired: {
    status: 402,
    description:
      'The request has no signed payment, or PAYMENT-RESPONSE has the errorReason of the one that it has: sign one of the transfers in PAYMENT-REQUIRED.',
    headers: ['Payment-Required', 'Payment-Response'],
    examples: { unpaid: 'POST /v1/billing/x402/upgrade/pro' },
  },
  PaymentConflict: {
    status: 409,
    description:
      'The tier has no price, the account has it already, or the quote, the transfer or the payment-identifier is used.',
    headers: ['Payment-Response'],
    examples: { noPrice: 'POST /v1/billing/x402/upgrade/enterprise' },
  },
  Gone: {
    status: 410,
    description: 'The quote or the signed transfer has expired.',
    headers: ['Payment-Response'],
    examples: {},
  },
  ContentTooLarge: { status: 413, description: 'The body has more than 100 KiB.', examples: {} },
  UnsupportedMediaType: { status: 415, description: 'The body is not application/json.', examples: {} },
  TooManyRequests: {
    status: 429,
    description:
      'The limit of requests per minute is reached, or the key has too many open streams or replays. Requests without a valid key share the limits of their address and its network.',
    headers: ['Retry-After'],
    examples: { keyUsedUp: '/v1/btc/markets' },
  },
  InternalError: {
    status: 500,
    description: 'A defect in bookreel.',
    headers: WARNED,
    examples: { defect: '/readyz' },
  },
  ServiceUnavailable: {
    status: 503,
    description: 'The archive or the network of a payment cannot answer, or too many exports or streams are open.',
    headers: WARNED,
    examples: { archiveCannotAnswer: '/v1/billing/tiers' },
  },
} as const satisfies Readonly<Record<string, Refusal>>;

export type RefusalName = keyof typeof REFUSALS;

/** Those of every route with a key whose tier may lack its grant. */
export const KEYED_REFUSALS = [
  ...(['BadRequest', 'Unauthorized', 'Forbidden'] as const),
  ...(['TooManyRequests', 'InternalError', 'ServiceUnavailable'] as const),
];

const MAY_BE_MISSING = /\{coin\}|^\/v1\/account\/usage$|^\/v1\/billing\/(?!tiers$)/;

/** The refusals of a route that states none. `path` is written as in the document. */
export function refusalsOf(path: string, needsGrant: boolean): readonly RefusalName[] {
  // Health checks are not counted.
  if (path === '/healthz' || path === '/readyz') return ['MalformedRequest', 'InternalError'];
  if (path === '/docs/{page}') return ['MalformedRequest', 'NotFound', 'TooManyRequests', 'InternalError'];
  if (!path.startsWith('/v1/')) return ['MalformedRequest', 'TooManyRequests', 'InternalError'];
  return [
    ...(path.includes('{conditionId}') && !path.endsWith('/stream') ? (['NotModified'] as const) : []),
    ...(['BadRequest', 'Unauthorized'] as const),
    ...(needsGrant ? (['Forbidden'] as const) : []),
    ...(MAY_BE_MISSING.test(path) ? (['NotFound'] as const) : []),
    ...(['TooManyRequests', 'InternalError', 'ServiceUnavailable'] as const),
  ];
}

/** The refusals of these names as components. */
export function refusalComponents(names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(
    Object.entries<Refusal>(REFUSALS)
      .filter(([name]) => names.has(name))
      .map(([name, { status, description, headers = [], examples }]) => {
        if (status === 304) return [name, { description, headers: headersNamed(headers) }];
        const shown = examplesOf(status, examples);
        const media = { schema: { $ref: '#/components/schemas/Problem' }, ...shown };
        const content = { 'application/problem+json': media };
        return [name, { description, headers: headersNamed(['Cache-Control', ...headers]), content }];
      }),
  );
}
