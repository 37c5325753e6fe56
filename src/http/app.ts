import { Elysia } from 'elysia';
import type { Billing } from '../billing/billing.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { ClockReading, CommonWindows } from '../domain/rate-window.ts';
import { FairQueue } from '../replay/fair-queue.ts';
import type { Archive } from '../store/archive.ts';
import type { Registry } from '../store/registry.ts';
import type { SampleMarkets } from '../store/sample-markets.ts';
import type { Usage } from '../store/usage.ts';
import { docsController } from './docs/docs.ts';
import { MarketPicture } from './docs/market-picture.ts';
import { siteController } from './docs/site.ts';
import type { McpDeps } from './mcp/mcp-route.ts';
import { type Metrics, summed } from './metrics/metrics.ts';
import { RequestMetrics } from './metrics/request-metrics.ts';
import type { NodeRoutesHost } from './node/node-routes.ts';
import { assetsController, COPY_SCRIPT, FRAME_STYLE, LOGO, REPLAY_SCRIPT, STYLE } from './pages/assets.ts';
import { type AccessDeps, access, askAhead, UNCOUNTED } from './plugins/access.ts';
import type { Admissions } from './plugins/admission.ts';
import { Arrivals, type Edge } from './plugins/arrivals.ts';
import { callAtOnce, callHooksAtOnce } from './plugins/at-once.ts';
import { cacheMetrics } from './plugins/cache-metrics.ts';
import { ClientAddresses } from './plugins/client-address.ts';
import { causeOf, errorResponse } from './plugins/errors.ts';
import { MountedPaths } from './plugins/mounted-paths.ts';
import { RateLimit, type RequestContext } from './plugins/rate-limit.ts';
import { COUNTS_IN_MEMORY, type RequestCounts } from './plugins/request-counts.ts';
import { maskedTarget } from './plugins/secret-mask.ts';
import type { ViewTokens } from './plugins/view-tokens.ts';
import { refuseForeignOrigin } from './replay/foreign-origin.ts';
import { replayHome } from './replay/replay-home.ts';
import { type ReplayDeps, replayPaths } from './replay/replay-paths.ts';
import { refuseMissingSocket, SOCKET_OPTIONS } from './replay/socket.ts';
import { pathOf } from './request-target.ts';
import { UsageCounter } from './response/request-usage.ts';
import { headOf, Responder } from './response/responder.ts';
import type { ResponseSettings } from './response/response.ts';
import { ResponseCache } from './response/response-cache.ts';
import { offerToVisitor } from './v1/billing.ts';
import { Lookup } from './v1/lookup.ts';
import { NodeAnswers, type NodeDeps } from './v1/node-answers.ts';
import { v1Routes } from './v1/v1.ts';

export interface AppDeps {
  readonly archive: Archive;
  readonly registry: Registry;
  /** Left out: requests are not counted, and no route is about the account or its payments. */
  readonly usage?: Usage;
  /** Left out: payments are off. */
  readonly billing?: Billing | undefined;
  readonly version: string;
  readonly clocks: () => ClockReading;
  readonly isDraining: () => boolean;
  /** Logs a line about a defect or a fault. The line has no secrets of the request. */
  readonly logError: (line: string) => void;
  readonly edge?: Edge;
  /** Receives the metrics of requests and of cached answers. Left out: nothing is counted. */
  readonly metrics?: Metrics | undefined;
  /** See AccessDeps. Left out: no limit. */
  readonly latestInstant?: () => InstantMs | undefined;
  /** The samples of pages with view tokens, and the picture at `/`. Left out: there are none. */
  readonly samples?: SampleMarkets | undefined;
  /** Left out: in the memory of this process. */
  readonly counts?: RequestCounts;
  /** Windows that other servers count in too. Left out: there are none. */
  readonly commonWindows?: CommonWindows | undefined;
  /** Memory for answers to repeated requests. */
  readonly cacheBytesMax?: number;
  /** Left out: the service issues no view tokens. */
  readonly viewTokens?: ViewTokens | undefined;
  /** Pages that need no key, such as those of accounts. */
  readonly pages?: (addresses: ClientAddresses, rateLimit: RateLimit, picture: MarketPicture | undefined) => Elysia;
  /** True if `pages` includes the pages of accounts: other pages link to them. */
  readonly hasAccounts?: boolean;
  /** The address of the person whose browser sent a request; undefined: nobody is signed in in it. Left out: in no browser. */
  readonly emailOf?: ((request: Request) => string | undefined) | undefined;
  /** The tools for agents, at /mcp. Left out: there is no such path. */
  readonly mcp?: ((deps: McpDeps) => Elysia) | undefined;
  /** The admissions of requests that nodes send on, and the routes for nodes. Left out: there are no nodes. */
  readonly nodes?: { readonly admissions: Admissions; readonly routes: (host: NodeRoutesHost) => Elysia } | undefined;
  /** True if no request needs a key. Only allowed if no other program can send requests. */
  readonly isOpen?: boolean;
  /** Left out: this machine has the archive itself. */
  readonly node?: NodeDeps | undefined;
  /** For a process that replays: no answer shows more than the clock of a replay allows. */
  readonly replay?: ReplayDeps;
}

/** Memory for cached bodies. */
export const CACHE_BYTES_MAX = 32 * 1024 * 1024;

/** The whole service as one router. It owns its rate limits and caches, nothing else. */
export function createApp(appDeps: AppDeps) {
  const { archive, registry, usage, billing, version, clocks, isDraining, logError, metrics, samples } = appDeps;
  const { edge = {}, counts = COUNTS_IN_MEMORY, commonWindows, hasAccounts = false, nodes, node, replay } = appDeps;
  const { isOpen = replay !== undefined && !replay.needsKeys } = appDeps;
  const addresses = new ClientAddresses(edge.trustedProxies ?? [], () => app.server, nodes?.admissions);
  const wallMs = () => clocks().wallMs;
  const rateLimit = new RateLimit(clocks, addresses, counts, isOpen, commonWindows);
  const paths = new MountedPaths(() => app.routes);
  const accessDeps: AccessDeps = {
    registry,
    viewTokens: appDeps.viewTokens,
    admissions: nodes?.admissions,
    samples,
    isOpen,
    grantNeeded: replay === undefined ? undefined : 'replay',
    rateLimit,
    clocks,
    latestInstant: (id, keyId) =>
      replay === undefined ? appDeps.latestInstant?.() : replay.replays.findFor(id, keyId).clock.nowMs,
    usage: usage && new UsageCounter(usage, wallMs),
    refuseVisitor: billing && ((context) => offerToVisitor(billing, context)),
  };
  const logCut = (what: string) => (error: unknown, request: Request) =>
    logError(`${what} ${maskedTarget(pathOf(request))} was cut off: ${causeOf(error)}`);
  const cache = new ResponseCache(archive.database, appDeps.cacheBytesMax ?? CACHE_BYTES_MAX);
  const responder = new Responder(archive.archiveId, version, cache);
  const requestMetrics = metrics && new RequestMetrics();
  metrics?.add(...summed([...(requestMetrics?.metrics() ?? []), ...cacheMetrics(cache)]));
  const refuse = (request: Request) => {
    if (replay === undefined) return;
    refuseForeignOrigin(request, (origin) => edge.cors?.allows(origin) === true);
    refuseMissingSocket(request, paths);
  };
  const arrivals = new Arrivals({
    edge,
    addresses,
    rateLimit,
    counts,
    metrics: requestMetrics,
    clocks,
    isOpen,
    refuse,
  });
  const server = () => app.server;
  const nodeAnswers = node && new NodeAnswers(node, archive.sealed, addresses, server);
  const queue = replay?.replays.queue ?? new FairQueue();
  const nextTurn = (keyId: string | undefined) => queue.of(keyId).next();
  const deps = {
    access: access(accessDeps),
    archive,
    lookup: new Lookup(archive, nodeAnswers),
    responder,
    server,
    nextTurn,
    counts,
  };
  const picture = samples && new MarketPicture({ archive, samples, version, nowMs: wallMs, nextTurn });
  const v1 = v1Routes(deps, { registry, usage, billing, clocks, isDraining, logCut, paths });
  const answerOf = (error: unknown, { request, set }: RequestContext) =>
    errorResponse(error, { request, set }, { rateLimit, paths, hasAccounts, emailOf: appDeps.emailOf, logError });
  nodeAnswers?.serve(v1);
  callAtOnce(v1, answerOf);
  const replayed =
    replay === undefined
      ? new Elysia()
      : replayPaths({ ...replay, archive, accessDeps, clocks, v1, logCut: logCut('replay'), isDraining });
  const handle: McpDeps['handle'] = (request, sender) => {
    addresses.sendFor(request, sender);
    return app.handle(request);
  };
  const app = new Elysia({
    name: 'bookreel',
    handler: { standardHostname: false },
    // Unknown parameters are refused, not removed.
    normalize: false,
    // Answers do not show the framework's details of a refusal (errors.ts), so it need not compute them.
    allowUnsafeValidationDetails: true,
    websocket: SOCKET_OPTIONS,
  })
    .wrap((handle, request) => {
      if (request.method !== 'HEAD') return handle;
      const finish = (answer: unknown) => (answer instanceof Response ? headOf(answer) : answer);
      return (...given: unknown[]) => {
        const answer: unknown = handle(...given);
        return answer instanceof Promise ? answer.then(finish) : finish(answer);
      };
    })
    .onRequest(({ request, set }) => arrivals.begin({ request, set }))
    // If a hook passed its whole context on, the framework would read the cookies and the body of every request.
    .onError(({ error, request, set }) => {
      return answerOf(error, { request, set });
    })
    .use(v1)
    .use(replayed)
    .use(nodes?.routes({ rateLimit, server: deps.server, logCut: logCut('feed') }) ?? new Elysia())
    .use(appDeps.mcp?.({ access: accessDeps, version, cors: edge.cors, handle, logError }) ?? new Elysia())
    // The following paths are outside /v1 and need no key.
    .onBeforeHandle(({ request, set, route }) => {
      const { observer }: ResponseSettings = set;
      if (observer !== undefined) observer.route = route;
      if (UNCOUNTED.has(route)) rateLimit.setAddressHeaders({ request, set });
      else rateLimit.chargeAddress({ request, set });
    })
    .use(assetsController([STYLE, FRAME_STYLE, LOGO, COPY_SCRIPT, REPLAY_SCRIPT]))
    .use(appDeps.pages?.(addresses, rateLimit, picture) ?? new Elysia())
    .use(
      siteController({
        archive,
        registry,
        version,
        isDraining,
        notReady: node?.notReady,
        hasAccounts,
        emailOf: appDeps.emailOf,
        picture,
        ...(replay && { home: replayHome(version, replay) }),
      }),
    )
    .use(docsController(version, replay !== undefined, hasAccounts));
  if (commonWindows !== undefined) {
    app.wrap((handle, request) => (...given: unknown[]) => {
      const asked = askAhead(accessDeps, edge.cors, request);
      return asked === undefined ? handle(...given) : asked.then(() => handle(...given));
    });
  }
  callHooksAtOnce(app.event.request);
  if (nodeAnswers !== undefined) {
    // Around everything else: home checks these requests itself.
    app.wrap((handle, request) => {
      const forwarded = nodeAnswers.forwarded(request, paths, (error, requestId) =>
        answerOf(error, { request, set: { headers: { 'x-request-id': requestId } } }),
      );
      return forwarded === undefined ? handle : () => forwarded;
    });
  }
  return app;
}
