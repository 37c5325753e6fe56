import { randomUUID } from 'node:crypto';
import { Elysia } from 'elysia';
import { DomainError } from '../domain/errors.ts';
import { RateWindows } from '../domain/rate-window.ts';
import type { Archive } from '../store/archive.ts';
import {
  type AccessDeps,
  access,
  addressOf,
  chargeAddress,
  describeAddress,
  normaliseScheme,
  pathOf,
  type ResponseHeaders,
  refuseMalformed,
} from './access.ts';
import { coverageController } from './coverage.ts';
import { docsController } from './docs.ts';
import { exportController } from './export.ts';
import { HeldAnswers } from './held-answers.ts';
import { Lookup } from './lookup.ts';
import { marketsController } from './markets.ts';
import { pricesController } from './prices.ts';
import { isOurs, problemResponse } from './problem.ts';
import { quotesController } from './quotes.ts';
import { Responder, withoutLength } from './respond.ts';
import { ALLOWED_METHODS, isKnownPath, ROUTES } from './routes.ts';
import { siteController } from './site.ts';
import { snapshotsController } from './snapshots.ts';
import { tiersController } from './tiers.ts';

export interface AppDeps {
  readonly archive: Archive;
  readonly version: string;
  readonly clocks: AccessDeps['clocks'];
  readonly isDraining: () => boolean;
  /** For defects and faults: one line, without anything of the request's secrets. */
  readonly logError: (line: string) => void;
}

/** Keys and addresses whose windows are counted apart; further ones share one window. */
const SUBJECTS_MAX = 65_536;

/** Answers held for being asked for again and again. */
const HELD_BYTES_MAX = 32 * 1024 * 1024;

/** What watches over a server must always get through. */
const UNCOUNTED: ReadonlySet<string> = new Set([ROUTES.healthz.path, ROUTES.readyz.path]);

/** The whole service as one router. It owns its rate windows and nothing else. */
export function createApp({ archive, version, clocks, isDraining, logError }: AppDeps) {
  const accessDeps: AccessDeps = {
    archive,
    keyWindows: new RateWindows(SUBJECTS_MAX),
    addressWindows: new RateWindows(SUBJECTS_MAX),
    clocks,
  };
  const responder = new Responder(archive.archiveId, version, new HeldAnswers(archive.database, HELD_BYTES_MAX));
  const deps = { archive, lookup: new Lookup(archive), responder };
  const v1 = new Elysia({ name: 'v1' })
    .use(access(accessDeps))
    .use(tiersController(deps))
    .use(marketsController(deps))
    .use(snapshotsController(deps))
    .use(coverageController(deps, () => clocks().wallMs))
    .use(pricesController(deps))
    .use(quotesController(deps))
    .use(exportController(deps, (error, request) => logError(`export ${pathOf(request)} broke off: ${causeOf(error)}`)))
    // Whatever else is asked for under /v1 passes the gate too, which throws for all but OPTIONS.
    .all('/v1', () => options())
    .all('/v1/*', () => options());
  return (
    new Elysia({ name: 'bookreel', handler: { standardHostname: false } })
      .wrap((handle, request) => {
        if (request.method !== 'HEAD') return handle;
        return async (...given: unknown[]) => {
          const answer: unknown = await handle(...given);
          return answer instanceof Response ? withoutLength(answer) : answer;
        };
      })
      .onRequest(({ request, set }) => {
        set.headers['x-request-id'] = randomUUID();
        set.headers['x-content-type-options'] = 'nosniff';
        refuseMalformed(request);
        normaliseScheme(request);
      })
      .onError(({ error, request, set, server }) => {
        const headers = set.headers as ResponseHeaders;
        const problem = problemOf(error, request, headers, addressOf(request, server), accessDeps);
        if (problem === undefined) return options();
        const requestId = String(headers['x-request-id'] ?? '');
        if (isOurs(problem)) logError(`${requestId} ${request.method} ${pathOf(request)}: ${causeOf(problem)}`);
        return problemResponse(problem, requestId);
      })
      .use(v1)
      // From here on: outside /v1, no key.
      .onBeforeHandle(({ request, set, server, route }) => {
        const headers = set.headers as ResponseHeaders;
        if (headers['x-ratelimit-limit'] !== undefined) return;
        const budget = UNCOUNTED.has(route) ? describeAddress : chargeAddress;
        budget(headers, addressOf(request, server), accessDeps);
      })
      .use(siteController({ archive, version, isDraining }))
      .use(docsController(version))
  );
}

/** What the router says when no route of its own matched; only paths outside /v1 get there. */
function isUnrouted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'NOT_FOUND' && !(error instanceof DomainError);
}

/**
 * What an error is answered with; undefined for OPTIONS on a path that exists. Requests that never came to a key are
 * counted against their address here, whatever is wrong with them.
 */
function problemOf(
  error: unknown,
  request: Request,
  headers: ResponseHeaders,
  address: string,
  accessDeps: AccessDeps,
): unknown {
  if (headers['x-ratelimit-limit'] === undefined) {
    try {
      chargeAddress(headers, address, accessDeps);
    } catch (limited) {
      // A malformed request stays one, over the limit or not: that is found out first.
      if (isUnrouted(error)) return limited;
    }
  }
  if (!isUnrouted(error)) return error;
  if (!isKnownPath(pathOf(request))) {
    return new DomainError('not-found', 'there is no such path: /openapi.json lists those that exist');
  }
  if (request.method === 'OPTIONS') return undefined;
  headers.allow = ALLOWED_METHODS;
  return new DomainError('method-not-allowed', `this path can only be read: use one of ${ALLOWED_METHODS}`);
}

function options(): Response {
  return new Response(null, { status: 204, headers: { allow: ALLOWED_METHODS } });
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return error instanceof DomainError ? `${error.message}${inner}` : (error.stack ?? error.message);
}
