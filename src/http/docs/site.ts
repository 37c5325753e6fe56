import { Elysia } from 'elysia';
import { type TSchema, Type } from 'typebox';
import { CoinCode } from '../../domain/coin.ts';
import { DomainError } from '../../domain/errors.ts';
import { grantsCoin, grantsRoute } from '../../domain/tier.ts';
import type { Archive } from '../../store/archive.ts';
import type { Registry } from '../../store/registry.ts';
import { described, orNull, PAGE_HEADERS, Text } from '../openapi/described.ts';
import { manualPath } from '../pages/manual-menu.tsx';
import { copyPageHeaders, personalPageHeaders } from '../pages/page-headers.ts';
import { originOf } from '../request-origin.ts';
import { prefersHtml } from '../response/accept.ts';
import { NO_STORE, type ResponseSettings, respond, respondJson } from '../response/response.ts';
import type { MarketPicture } from './market-picture.ts';
import { quickStartPage, type Recorded } from './quick-start.tsx';

export interface SiteDeps {
  readonly archive: Archive;
  readonly registry: Registry;
  readonly version: string;
  /** True if the server is stopping. */
  readonly isDraining: () => boolean;
  /** See NodeDeps. Left out: the databases are all that has to be ready. */
  readonly notReady?: (() => string | undefined) | undefined;
  /** The picture of the page of a service; undefined: the page has none. */
  readonly picture: MarketPicture | undefined;
  /** The page at `/`. Left out: the page of a service. */
  readonly home?: HomePage;
  readonly hasAccounts: boolean;
  /** As AppDeps has it. */
  readonly emailOf?: ((request: Request) => string | undefined) | undefined;
}

/** The answer at `/`: a page for people, JSON for programs. */
export interface HomePage {
  readonly answer: (request: Request, set: ResponseSettings) => Response;
  readonly schema: TSchema;
  /** True if the recorded example of `/` is an answer of this page. */
  readonly isExample?: true;
}

const Home = Type.Object(
  {
    name: Type.String({ description: 'bookreel.' }),
    version: Type.String({ description: 'The version of bookreel.' }),
    description: Type.String({ description: 'A description of the service.' }),
    coins: orNull(Type.Array(CoinCode), 'The recorded coins by name; null if the archive cannot be read.'),
    authentication: Type.String({ description: 'How to send a key.' }),
    links: Type.Record(Type.String(), Type.String(), { description: 'Paths by name.' }),
  },
  { $id: 'Home', description: 'An overview of the service.' },
);
const State = Type.Object(
  {
    status: Type.String({ description: 'ok, ready, draining, database unavailable or, of a node, what it waits for.' }),
  },
  { $id: 'State', description: 'The state of the service.' },
);

/** The paths outside /v1 that need no key. */
export function siteController(deps: SiteDeps) {
  const { archive, registry, isDraining, notReady, home, picture } = deps;
  const { answer, schema, isExample } = home ?? serviceHome(deps);
  const status = (set: ResponseSettings, state: string, code: number) =>
    respondJson(set, { status: state }, NO_STORE, code);
  return new Elysia({ name: 'site' })
    .use(picture?.site() ?? new Elysia())
    .get('/', ({ request, set }) => answer(request, set), {
      detail: described('home', {
        summary: 'Overview',
        description: 'As JSON; as a page with a quick start if Accept prefers HTML.',
        answer: schema,
        content: { 'text/html': Text },
        headers: ['Vary', ...PAGE_HEADERS],
        examples: isExample ? { home: '/' } : {},
      }),
    })
    .get('/healthz', ({ set }) => status(set, 'ok', 200), {
      detail: described('healthz', {
        summary: 'Liveness',
        description: 'The process is running.',
        answer: State,
        headers: ['Cache-Control'],
        examples: { alive: '/healthz' },
      }),
    })
    .get(
      '/readyz',
      ({ set }) => {
        if (isDraining()) return status(set, 'draining', 503);
        try {
          archive.database.read(() => archive.markets.afterKey(0));
          registry.database.read(() => {
            registry.tiers.list();
            registry.apiKeys.probe();
          });
          const reason = notReady?.();
          return status(set, reason ?? 'ready', reason === undefined ? 200 : 503);
        } catch {
          // Any error of the database means that it is not ready.
          return status(set, 'database unavailable', 503);
        }
      },
      {
        detail: described('readyz', {
          summary: 'Readiness',
          description: '200 if the database answers and the server is not stopping, else 503.',
          answer: State,
          headers: ['Cache-Control'],
          examples: { ready: '/readyz' },
          answers: { 200: 'Ready.', 503: 'Not ready.' },
        }),
      },
    );
}

/** The overview of a service. Has no coins if the database cannot answer. */
function serviceHome(deps: SiteDeps): HomePage {
  const { version, hasAccounts, emailOf } = deps;
  const answer = (request: Request, set: ResponseSettings) => {
    const vary = { vary: 'Accept' };
    const recorded = recordedIn(deps);
    if (!prefersHtml(request.headers.get('accept') ?? '')) return respondJson(set, about(version, recorded), vary);
    const email = emailOf?.(request);
    const page = quickStartPage({ version, origin: originOf(request), recorded, hasAccounts, email });
    return respond(set, page, { ...(email === undefined ? copyPageHeaders() : personalPageHeaders()), ...vary });
  };
  return { answer, schema: Home, isExample: true };
}

/** The example is a coin with order books, one of the reader's tier if it can be. Undefined if the database cannot answer. */
function recordedIn({ archive, registry, picture, hasAccounts }: SiteDeps): Recorded | undefined {
  const { database, recordedCoins } = archive;
  try {
    const all = database.readShared(() => recordedCoins.all());
    const { tiers, newTier } = registry.database.readShared(() => ({
      tiers: registry.tiers.list(),
      newTier: registry.tiers.named(registry.newAccountTier),
    }));
    const coins = all.filter(({ recordedMarkets }) => recordedMarkets > 0).map(({ symbol }) => symbol);
    const coin = (hasAccounts ? coins.find((one) => grantsCoin(newTier, one)) : undefined) ?? coins[0];
    const tier = tiers.find((one) => {
      return (
        coin !== undefined && grantsCoin(one, coin) && grantsRoute(one, 'markets') && grantsRoute(one, 'snapshots')
      );
    });
    const example =
      coin === undefined || tier === undefined ? undefined : { coin, tier, keyTier: hasAccounts ? newTier : tier };
    const shown = picture?.shown();
    const sample = shown && picture!.sample(shown);
    return { coins: all.map(({ symbol }) => symbol), example, picture: shown, sample };
  } catch (error) {
    if (error instanceof DomainError && error.kind === 'unavailable') return undefined;
    throw error;
  }
}

/** The overview for programs. */
function about(version: string, recorded: Recorded | undefined): object {
  return {
    name: 'bookreel',
    version,
    description: 'Recorded order books of short-horizon up-or-down prediction markets, read-only.',
    coins: recorded?.coins ?? null,
    authentication: "Every /v1 path needs the header 'Authorization: Bearer <API_KEY>'.",
    links: {
      quickStart: '/',
      docs: '/docs',
      manual: manualPath(),
      openapi: '/openapi.json',
      llms: '/llms.txt',
      tiers: '/v1/billing/tiers',
      coins: '/v1/coins',
      markets: '/v1/{coin}/markets',
      health: '/healthz',
      ready: '/readyz',
    },
  };
}
