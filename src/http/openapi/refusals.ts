import { REPLAYS_MAX } from '../../replay/replays.ts';
import { examplesOf } from './examples.ts';
import { headersNamed } from './headers.ts';
import type { JsonObject } from './schema.ts';

const PROBLEM_TYPE = 'application/problem+json';

/** A refusal that several routes share. */
interface Refusal {
  readonly status: number;
  readonly description: string;
  /** In addition to those of every answer. */
  readonly headers: readonly string[];
  /** Requests that get it, by name; the test that sends them has the other conditions. */
  readonly examples: Readonly<Record<string, string>>;
}

const MARKET = '/v1/btc/markets/0x51301a7ed09337c50fa1c946ad8013953f71f5dd6e51b7bc5621f86409cb52c1';
/** Of refusals that may come after parameters were read. */
const WARNED = ['X-Bookreel-Warning'];

export const REFUSALS = {
  NotModified: {
    status: 304,
    description: 'The copy that If-None-Match names is current. Only about resolved markets.',
    headers: ['ETag', 'Vary', 'Cache-Control', 'X-Bookreel-Warning'],
    examples: {},
  },
  MalformedRequest: problem(400, 'A malformed URL or Host.', [], { malformedEscape: '/?%ZZ' }),
  BadRequest: problem(
    400,
    'A malformed URL or Host, or parameters that were refused: each is named, 32 at the most.',
    WARNED,
    {
      outOfBounds: '/v1/btc/markets?limit=0&tf=2h',
      unknownParameter: '/v1/btc/markets?timeframe=5m',
      windowTurnedRound: `${MARKET}/quotes?from=2026-01-08T10:35:00Z&to=2026-01-08T10:30:00Z`,
      foreignCursor: '/v1/btc/prices?cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAA',
      malformedEscape: '/v1/btc/markets?tf=%ZZ',
    },
  ),
  Unauthorized: problem(
    401,
    'No key, or none that is valid: unknown, revoked and mistyped keys get the same answer.',
    ['WWW-Authenticate'],
    { noKey: '/v1/btc/markets' },
  ),
  Forbidden: problem(403, 'The key’s tier does not grant this route or coin.', [], {
    route: `${MARKET}/snapshots`,
    coin: '/v1/eth/markets',
  }),
  NotFound: problem(404, 'No such coin or market.', WARNED, {
    coin: '/v1/nosuchcoin/markets',
    market: '/v1/btc/markets/0x99',
    path: '/v1/nothing',
  }),
  Conflict: problem(409, `There are ${REPLAYS_MAX} replays already.`, [], {}),
  TooManyRequests: problem(
    429,
    'The window is used up, or the key has too many streams open; requests without a valid key share the window of their address.',
    ['Retry-After'],
    { keyUsedUp: '/v1/btc/markets' },
  ),
  InternalError: problem(500, 'A defect here.', WARNED, { defect: '/readyz' }),
  ServiceUnavailable: problem(503, 'The archive cannot answer, or too many exports or streams are under way.', WARNED, {
    archiveCannotAnswer: '/v1/billing/tiers',
  }),
} as const satisfies Readonly<Record<string, Refusal>>;

/** A refusal that says why; nobody may keep it. `headers`: those that others do not have. */
function problem(
  status: number,
  description: string,
  headers: readonly string[],
  examples: Refusal['examples'],
): Refusal {
  return { status, description, headers: ['Cache-Control', ...headers], examples };
}

export type RefusalName = keyof typeof REFUSALS;

/** The refusals of a route that states none: `path` as the document writes it. */
export function refusalsOf(path: string, needsGrant: boolean): readonly RefusalName[] {
  // Health checks are not counted.
  if (path === '/healthz' || path === '/readyz') return ['MalformedRequest', 'InternalError'];
  if (path === '/docs/{page}') return ['MalformedRequest', 'NotFound', 'TooManyRequests', 'InternalError'];
  if (!path.startsWith('/v1/')) return ['MalformedRequest', 'TooManyRequests', 'InternalError'];
  return [
    ...(path.includes('{conditionId}') && !path.endsWith('/stream') ? (['NotModified'] as const) : []),
    ...(['BadRequest', 'Unauthorized'] as const),
    ...(needsGrant ? (['Forbidden'] as const) : []),
    ...(path.includes('{coin}') ? (['NotFound'] as const) : []),
    ...(['TooManyRequests', 'InternalError', 'ServiceUnavailable'] as const),
  ];
}

/** The refusals of these names as components. */
export function refusalComponents(names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(
    Object.entries<Refusal>(REFUSALS)
      .filter(([name]) => names.has(name))
      .map(([name, { status, description, headers, examples }]) => {
        const said = { description, headers: headersNamed(headers) };
        if (status === 304) return [name, said];
        const shown = examplesOf(status, examples);
        const media = {
          schema: { $ref: '#/components/schemas/Problem' },
          ...(Object.keys(shown).length === 0 ? {} : { examples: shown }),
        };
        return [name, { ...said, content: { [PROBLEM_TYPE]: media } }];
      }),
  );
}
