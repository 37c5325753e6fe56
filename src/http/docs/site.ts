import { Elysia } from 'elysia';
import type { Archive } from '../../store/archive.ts';
import { prefersHtml } from '../response/accept.ts';
import { NO_STORE, type ResponseSettings, respond, respondJson } from '../response/response.ts';
import { manualPath, ROUTES, routerPath } from '../routes.ts';
import { originOf, plainPageHeaders } from './page.ts';
import { quickStartPage } from './quick-start.ts';

export interface SiteDeps {
  readonly archive: Archive;
  readonly version: string;
  /** Whether the server is stopping. */
  readonly isDraining: () => boolean;
}

/** The paths outside /v1 that need no key. */
export function siteController({ archive, version, isDraining }: SiteDeps) {
  const status = (set: ResponseSettings, state: string, code: number) =>
    respondJson(set, { status: state }, NO_STORE, code);
  return new Elysia({ name: 'site' })
    .get(routerPath('home'), ({ request, set }) => {
      const vary = { vary: 'Accept' };
      if (!prefersHtml(request.headers.get('accept') ?? '')) return respondJson(set, about(version), vary);
      return respond(set, quickStartPage(version, originOf(request)), { ...plainPageHeaders(), ...vary });
    })
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

/** What this is, for programs. */
function about(version: string): object {
  return {
    name: 'bookreel',
    version,
    description: 'Recorded order books of short-horizon up-or-down prediction markets, read-only.',
    authentication: "Every /v1 path needs the header 'Authorization: Bearer <API_KEY>'.",
    links: {
      quickStart: ROUTES.home.path,
      docs: ROUTES.docs.path,
      manual: manualPath(),
      openapi: ROUTES.openapi.path,
      llms: ROUTES.llms.path,
      tiers: ROUTES.tiers.path,
      markets: ROUTES.markets.path,
      health: ROUTES.healthz.path,
      ready: ROUTES.readyz.path,
    },
  };
}
