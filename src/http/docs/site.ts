import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import { grantsCoin, grantsRoute } from '../../domain/tier.ts';
import type { Archive } from '../../store/archive.ts';
import { prefersHtml } from '../response/accept.ts';
import { NO_STORE, type ResponseSettings, respond, respondJson } from '../response/response.ts';
import { manualPath, ROUTES, routerPath } from '../routes.ts';
import { originOf, plainPageHeaders } from './page.ts';
import { quickStartPage, type Recorded } from './quick-start.ts';

export interface SiteDeps {
  readonly archive: Archive;
  readonly version: string;
  /** Whether the server is stopping. */
  readonly isDraining: () => boolean;
  /** Answers `/`; left out: as a service does. */
  readonly home?: (request: Request, set: ResponseSettings) => Response;
}

/** The paths outside /v1 that need no key. */
export function siteController({ archive, version, isDraining, home = serviceHome(archive, version) }: SiteDeps) {
  const status = (set: ResponseSettings, state: string, code: number) =>
    respondJson(set, { status: state }, NO_STORE, code);
  return new Elysia({ name: 'site' })
    .get(routerPath('home'), ({ request, set }) => home(request, set))
    .get(routerPath('healthz'), ({ set }) => status(set, 'ok', 200))
    .get(routerPath('readyz'), ({ set }) => {
      if (isDraining()) return status(set, 'draining', 503);
      try {
        archive.database.read(() => {
          archive.tiers.list();
          archive.apiKeys.probe();
        });
        return status(set, 'ready', 200);
      } catch {
        // Whatever the database threw: this path answers the question whether it can.
        return status(set, 'database unavailable', 503);
      }
    });
}

/** Without its coins while the database cannot answer. */
function serviceHome(archive: Archive, version: string) {
  return (request: Request, set: ResponseSettings): Response => {
    const vary = { vary: 'Accept' };
    const recorded = recordedIn(archive);
    if (!prefersHtml(request.headers.get('accept') ?? '')) return respondJson(set, about(version, recorded), vary);
    return respond(set, quickStartPage(version, originOf(request), recorded), { ...plainPageHeaders(), ...vary });
  };
}

/** A coin with order books is the example, and the first tier that grants reading them. Undefined while the database cannot answer. */
function recordedIn({ database, recordedCoins, tiers }: Archive): Recorded | undefined {
  try {
    return database.readShared(() => {
      const all = recordedCoins.all();
      const coin = all.find(({ recordedMarkets }) => recordedMarkets > 0)?.symbol;
      const granting = (symbol: string) =>
        tiers
          .list()
          .find((tier) => grantsCoin(tier, symbol) && grantsRoute(tier, 'markets') && grantsRoute(tier, 'snapshots'));
      const tier = coin === undefined ? undefined : granting(coin);
      const example = coin === undefined || tier === undefined ? undefined : { coin, tier: tier.id };
      return { coins: all.map(({ symbol }) => symbol), example };
    });
  } catch (error) {
    if (error instanceof DomainError && error.kind === 'unavailable') return undefined;
    throw error;
  }
}

/** What this is, for programs. */
function about(version: string, recorded: Recorded | undefined): object {
  return {
    name: 'bookreel',
    version,
    description: 'Recorded order books of short-horizon up-or-down prediction markets, read-only.',
    coins: recorded?.coins ?? null,
    authentication: "Every /v1 path needs the header 'Authorization: Bearer <API_KEY>'.",
    links: {
      quickStart: ROUTES.home.path,
      docs: ROUTES.docs.path,
      manual: manualPath(),
      openapi: ROUTES.openapi.path,
      llms: ROUTES.llms.path,
      tiers: ROUTES.tiers.path,
      coins: ROUTES.coins.path,
      markets: ROUTES.markets.path,
      health: ROUTES.healthz.path,
      ready: ROUTES.readyz.path,
    },
  };
}
