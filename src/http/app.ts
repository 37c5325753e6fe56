import { randomUUID } from 'node:crypto';
import { Elysia } from 'elysia';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { RateWindows } from '../domain/rate-window.ts';
import { FairQueue } from '../replay/fair-queue.ts';
import type { Archive } from '../store/archive.ts';
import { docsController } from './docs/docs.ts';
import { openApiDocument } from './docs/openapi.ts';
import { siteController } from './docs/site.ts';
import {
  type AccessDeps,
  access,
  chargeAddress,
  describeAddress,
  keepWellFormedKey,
  pathOf,
  refuseMalformed,
  unrouted,
} from './plugins/access.ts';
import type { AccessLog } from './plugins/access-log.ts';
import { type AddressSource, ClientAddresses } from './plugins/client-address.ts';
import type { Cors } from './plugins/cors.ts';
import type { IpNetwork } from './plugins/ip-address.ts';
import { looksLikeKey, maskedTarget } from './plugins/secret-mask.ts';
import { refuseForeignOrigin } from './replay/foreign-origin.ts';
import { replayDocument } from './replay/openapi-replay.ts';
import { type ReplayDeps, replayPaths } from './replay/replay-paths.ts';
import { SOCKET_OPTIONS } from './replay/socket.ts';
import { isOurs, problemResponse } from './response/problem.ts';
import { Responder, withoutLength } from './response/responder.ts';
import { type ResponseHeaders, type ResponseSettings, respond } from './response/response.ts';
import { ResponseCache } from './response/response-cache.ts';
import { MountedPaths, ROUTES } from './routes.ts';
import { coverageController } from './v1/coverage.ts';
import { exportController } from './v1/export.ts';
import { Lookup } from './v1/lookup.ts';
import { marketsController } from './v1/markets.ts';
import { pricesController } from './v1/prices.ts';
import { quotesController } from './v1/quotes.ts';
import { snapshotsController } from './v1/snapshots.ts';
import { streamController } from './v1/stream.ts';
import { tiersController } from './v1/tiers.ts';

export interface AppDeps {
  readonly archive: Archive;
  readonly version: string;
  readonly clocks: AccessDeps['clocks'];
  readonly isDraining: () => boolean;
  /** For defects and faults: one line, without anything of the request's secrets. */
  readonly logError: (line: string) => void;
  readonly edge?: Edge;
  /** See AccessDeps; left out: there is no limit. */
  readonly knownUntil?: () => InstantMs | undefined;
  /** Of a process that replays: everything there is held to the clock of a replay. */
  readonly replay?: ReplayDeps;
}

/** What stands between the service and the world, where more is wanted than nothing. */
export interface Edge {
  readonly accessLog?: AccessLog;
  readonly cors?: Cors;
  /** Whose word on a client's address and on a request's id is taken. */
  readonly trustedProxies?: readonly IpNetwork[];
  /** In lower case, without port; any other Host is refused. */
  readonly allowedHosts?: ReadonlySet<string>;
}

/** Keys and addresses whose windows are counted apart; further ones share one window. */
const SUBJECTS_MAX = 65_536;

/** Answers held for being asked for again and again. */
const HELD_BYTES_MAX = 32 * 1024 * 1024;

/** Longer than what any proxy makes; our own are UUIDs. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Names of this machine, as a Host has them. */
const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

/** What watches over a server must always get through. */
const UNCOUNTED: ReadonlySet<string> = new Set([ROUTES.healthz.path, ROUTES.readyz.path]);

/** The whole service as one router. It owns its rate windows and nothing else. */
export function createApp(appDeps: AppDeps) {
  const { archive, version, clocks, isDraining, logError, edge = {}, knownUntil = () => undefined, replay } = appDeps;
  const { accessLog, cors, trustedProxies = [] } = edge;
  const isOpen = replay !== undefined && !replay.needsKeys;
  // Else a page could have its own name lead to this machine, and read what needs no key.
  const allowedHosts = isOpen ? new Set([...LOOPBACK_HOSTS, ...(edge.allowedHosts ?? [])]) : edge.allowedHosts;
  const addresses = new ClientAddresses(trustedProxies);
  const accessDeps: AccessDeps = {
    archive,
    isOpen,
    grantNeeded: replay === undefined ? undefined : 'replay',
    keyWindows: new RateWindows(SUBJECTS_MAX),
    addressWindows: new RateWindows(SUBJECTS_MAX),
    clocks,
    addresses,
    knownUntil: (id) => (replay === undefined ? knownUntil() : replay.replays.find(id).clock.nowMs),
    paths: new MountedPaths(() => app.routes),
    accessLog,
  };
  const gate = access(accessDeps);
  const logCut = (what: string) => (error: unknown, request: Request) =>
    logError(`${what} ${maskedTarget(pathOf(request))} broke off: ${causeOf(error)}`);
  const responder = new Responder(archive.archiveId, version, new ResponseCache(archive.database, HELD_BYTES_MAX));
  const queue = new FairQueue();
  const nextTurn = () => queue.next();
  const deps = { gate, archive, lookup: new Lookup(archive), responder, nextTurn };
  const v1 = new Elysia({ name: 'v1' })
    .use(gate)
    .use(tiersController(deps))
    .use(marketsController(deps))
    .use(snapshotsController(deps))
    .use(streamController({ ...deps, clocks, isDraining }, logCut('stream')))
    .use(coverageController(deps, () => clocks().wallMs))
    .use(pricesController(deps))
    .use(quotesController(deps))
    .use(exportController(deps, logCut('export')))
    // Whatever else is asked for under /v1 passes the gate too, which throws for all but OPTIONS.
    .all('/v1', ({ request, set }) => options(set, request, accessDeps))
    .all('/v1/*', ({ request, set }) => options(set, request, accessDeps));
  const replayed =
    replay === undefined
      ? undefined
      : replayPaths({
          ...replay,
          archive,
          accessDeps,
          v1,
          logCut: logCut('replay'),
          isDraining,
        });
  const app = new Elysia({ name: 'bookreel', handler: { standardHostname: false }, websocket: SOCKET_OPTIONS })
    .wrap((handle, request) => {
      const isHead = request.method === 'HEAD';
      if (!isHead && accessLog === undefined && cors === undefined) return handle;
      const finish = (answer: unknown) => {
        if (!(answer instanceof Response)) return answer;
        const finished = isHead ? withoutLength(answer) : answer;
        cors?.describe(finished, request);
        accessLog?.end(request, finished);
        return finished;
      };
      return (...given: unknown[]) => {
        const answer: unknown = handle(...given);
        return answer instanceof Promise ? answer.then(finish) : finish(answer);
      };
    })
    .onRequest(({ request, set, server }) => {
      const headers = set.headers as ResponseHeaders;
      const requestId = requestIdOf(request, server, addresses);
      headers['x-request-id'] = requestId;
      headers['x-content-type-options'] = 'nosniff';
      accessLog?.begin(request, requestId, addresses.of(request, server));
      refuseMalformed(request, allowedHosts);
      if (replay !== undefined) refuseForeignOrigin(request, (asked) => cors?.allows(asked) === true);
      if (cors?.isPreflight(request) === true) {
        // A browser asks before it sends the key.
        chargeAddress(headers, addresses.of(request, server), accessDeps);
        return cors.permission(set);
      }
      keepWellFormedKey(request);
      return undefined;
    })
    .onError(({ error, request, set, server }) => {
      const headers = set.headers as ResponseHeaders;
      const problem = problemOf(error, request, headers, addresses.of(request, server), accessDeps);
      if (problem === undefined) return options(set, request, accessDeps);
      const requestId = String(headers['x-request-id'] ?? '');
      if (isOurs(problem))
        logError(`${requestId} ${request.method} ${maskedTarget(pathOf(request))}: ${causeOf(problem)}`);
      return problemResponse(problem, requestId, set);
    })
    .use(v1)
    .use(replayed ?? new Elysia())
    // From here on: outside /v1, no key.
    .onBeforeHandle(({ request, set, server, route }) => {
      const headers = set.headers as ResponseHeaders;
      if (headers['x-ratelimit-limit'] !== undefined) return;
      const budget = UNCOUNTED.has(route) ? describeAddress : chargeAddress;
      budget(headers, addresses.of(request, server), accessDeps);
    })
    .use(siteController({ archive, version, isDraining }))
    .use(docsController(replay === undefined ? openApiDocument(version) : replayDocument(version)));
  return app;
}

/** A proxy's own id, so that its log and ours speak of the same request; any other client gets one that is new. */
function requestIdOf(request: Request, server: AddressSource | null, addresses: ClientAddresses): string {
  if (!addresses.isFromProxy(request, server)) return randomUUID();
  const brought = request.headers.get('x-request-id');
  return brought !== null && REQUEST_ID.test(brought) && !looksLikeKey(brought) ? brought : randomUUID();
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
  return isUnrouted(error) ? unrouted(request, headers, accessDeps.paths) : error;
}

/** The answer to OPTIONS on a path that exists. */
function options(set: ResponseSettings, request: Request, { paths }: Pick<AccessDeps, 'paths'>): Response {
  return respond(set, null, { allow: paths.methodsAt(pathOf(request))! }, 204);
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return error instanceof DomainError ? `${error.message}${inner}` : (error.stack ?? error.message);
}
