import { Elysia } from 'elysia';
import { type AppDeps, CACHE_BYTES_MAX, createApp } from '../http/app.ts';
import { AccessLog } from '../http/plugins/access-log.ts';
import { causeOf } from '../http/plugins/errors.ts';
import type { Log } from '../http/plugins/log.ts';
import { SampleMarkets } from '../store/sample-markets.ts';
import { accountsOff } from '../web/accounts-off.tsx';
import { pricingSite } from '../web/pricing.tsx';
import { signedInBy } from '../web/signed-in.ts';
import { viewSite } from '../web/view/view-site.ts';
import { viewTokensOf } from '../web/view/view-token.ts';
import type { AccountSite, Served } from './account-site.ts';
import { openWindows } from './common-windows.ts';
import { EXIT, ExitWith } from './exit.ts';
import { Listener, originOf } from './listening.ts';
import { spareSocket } from './listening-sockets.ts';
import { MetricsListener } from './metrics-listener.ts';
import { servedNodes } from './nodes.ts';
import type { ProcessLink } from './process-link.ts';
import { edgeOf, warnOfSharedLimits } from './serve-edge.ts';
import type { OpenNode } from './serve-node.ts';
import type { ServeOptions } from './serve-options.ts';
import { ServerFlush } from './server-flush.ts';
import { measure } from './service-metrics.ts';
import type { StopSignals } from './stop-signals.ts';
import type { Terminal } from './terminal.ts';
import { type ServedCertificate, warnOfPlainText } from './tls.ts';
import { VERSION } from './version.ts';

/** Maximum time for which a server that stops still answers, and closes each connection with its answer. */
const LAST_ANSWERS_MS = 500;
/** How long the last emails may take. */
const MAIL_FLUSH_MS = 3000;
/** Usage is stored, old sign-ins are deleted and buyers get emails this often: kill -9 loses the usage of this time at most. */
const FLUSH_MS = 60_000;

/** The parts of a server that `serve` has opened. */
export interface ServerParts {
  readonly served: Served;
  readonly site: AccountSite | undefined;
  /** See ViewTokenDeps. */
  readonly demoKeyId: string | undefined;
  /** Undefined: there are no nodes. */
  readonly nodeSecret: string | undefined;
  /** Left out: this machine has the archive itself. */
  readonly node?: OpenNode;
  readonly log: Log;
  readonly certificate: ServedCertificate | undefined;
  /** Settles when the disk, which was full, has space. */
  readonly freed: Promise<void> | undefined;
  /** The same for every round of a server: one that comes between two ends the next. */
  readonly signals: StopSignals;
  readonly link: ProcessLink | undefined;
}

/** Returns true when it has stopped because the disk has space again, or a node's copy of the catalog is damaged. */
export async function listenUntilStopped(
  terminal: Terminal,
  options: ServeOptions,
  parts: ServerParts,
  onListening: (listener: Listener) => void,
): Promise<boolean> {
  const { served, site, node, log, freed, signals, link } = parts;
  const certificate = link === undefined ? parts.certificate : link.certificate;
  const { first, second } = signals;
  let draining = false;
  const accessLog = options.accessLog ? new AccessLog(log) : undefined;
  using measured =
    options.metricsPort === undefined
      ? undefined
      : measure({ ...parts, certificate, listener: () => listening, clock: terminal.clock });
  measured?.metrics.add(...(node?.metrics ?? []));
  // The processes of a server share their counts, so one of them logs it.
  const onChange = (isAway: boolean, sentence: string) =>
    link?.isLeading !== false && log[isAway ? 'warn' : 'info'](sentence);
  using windows = await openWindows(options, onChange);
  measured?.metrics.add(...(windows?.metrics() ?? []));
  link?.counts.rewind();
  const app = await appOf(terminal, options, parts, {
    isDraining: () => draining,
    accessLog,
    metrics: measured?.metrics,
    commonWindows: windows,
  });
  // Home stores the usage that a node counts, and has the accounts and emails.
  const flush =
    node === undefined
      ? new ServerFlush({ served, site, log, clock: terminal.clock, isLeading: () => link?.isLeading ?? true })
      : undefined;
  flush?.all();
  using scraped =
    link === undefined && measured ? new MetricsListener(() => measured.metrics.text(), options) : undefined;
  await using _link = link?.serve({
    flushUsage: () => flush?.usage(),
    readings: () => measured?.metrics.read() ?? [],
    onFailure: (question, error) => log.error(`'${question}' of the other processes has failed: ${causeOf(error)}`),
    spare: spareSocket,
  });
  const shared = link && { isShared: true, onChange: link.listens };
  const listening = new Listener(app, { ...options, ...shared, certificate: certificate?.current, log });
  if (link === undefined) warnOfSettings(log, options, parts.certificate);
  onListening(listening);
  // On a terminal, stdout has shown the same sentence.
  const origin = originOf(options.host, listening.port, certificate !== undefined);
  if (!terminal.errIsTerminal && link === undefined) log.info(startSentence(options, origin));
  if (scraped !== undefined) log.info(`metrics are at ${scraped.url}`);
  const flushing = setInterval(() => flush?.all(), FLUSH_MS);
  let startsAgain = false;
  try {
    const ends = [first, link?.retired].flatMap((end) => end?.then(() => false) ?? []);
    const again = [freed, node?.damaged].flatMap((begins) => begins?.then(() => true) ?? []);
    startsAgain = await Promise.race([...ends, ...again]);
    // Other processes get the new connections.
    if (link?.isRetired === true) await Promise.race([listening.retire(), first]);
    if (startsAgain && node === undefined) log.info('the disk has space again: the databases are opened to write');
    draining = true;
    await stop(log, listening, options.drainSeconds, second);
  } finally {
    clearInterval(flushing);
    flush?.all();
  }
  // Bounded, because the mail server may not answer.
  if (site !== undefined) await Promise.race([site.drained(), Bun.sleep(MAIL_FLUSH_MS), second]);
  accessLog?.flush();
  return startsAgain;
}

interface AppState extends Pick<AppDeps, 'isDraining' | 'metrics' | 'commonWindows'> {
  readonly accessLog: AccessLog | undefined;
}

/** The routes of a server: those of the API, and at home those of its pages and nodes. */
async function appOf(
  { clock }: Terminal,
  options: ServeOptions,
  { served, site, demoKeyId, nodeSecret, node, log, link }: ServerParts,
  { accessLog, ...state }: AppState,
) {
  // The clock of a process begins with it: processes that count together need that of the machine.
  const monotonicMs = link?.monotonicMs ?? (() => performance.now());
  const viewTokens = site && viewTokensOf(site.service, demoKeyId, link?.tokenSecret);
  const samples = node === undefined ? new SampleMarkets(served.archive) : undefined;
  const mcp = options.mcp && node === undefined ? (await import('../http/mcp/mcp-route.ts')).mcpController : undefined;
  const forNodes = {
    ...{ served, data: options.data, version: VERSION, nowMs: clock, serverSecret: link?.tokenSecret },
    // A process that another one replaces waits for its connections.
    isDraining: () => state.isDraining() || link?.isRetired === true,
  };
  const nodes = nodeSecret === undefined ? undefined : await servedNodes({ ...forNodes, secret: nodeSecret });
  return createApp({
    ...served,
    ...state,
    usage: served.activity.usage,
    version: VERSION,
    clocks: () => ({ monotonicMs: monotonicMs(), wallMs: clock() }),
    logError: log.error,
    edge: edgeOf(options, accessLog),
    samples,
    mcp,
    viewTokens,
    nodes,
    node: node?.deps,
    ...(link && { counts: link.counts, cacheBytesMax: CACHE_BYTES_MAX / link.start.processes }),
    pages: (addresses, rateLimit, picture) => {
      const all = new Elysia({ name: 'pages' });
      // Home has the pages of a node.
      if (samples === undefined) return all;
      const service = site?.service;
      const tokens = service &&
        viewTokens && {
          ...{ tokens: viewTokens, samples, service, registry: served.registry, addresses },
          ...{ nowMs: clock, demoKeyId },
        };
      all.use((site?.pages ?? accountsOff)(addresses, rateLimit));
      all.use(viewSite({ access: 'key', tokens, isReplay: false, picture }));
      all.use(pricingSite({ ...served, service, nowMs: clock }));
      return all;
    },
    hasAccounts: site !== undefined || node !== undefined,
    emailOf: site && ((request) => signedInBy(request, site.service)?.account.email),
  });
}

/** Warns of settings that are allowed, and suggest a mistake. */
export function warnOfSettings(log: Log, options: ServeOptions, certificate: ServedCertificate | undefined): void {
  warnOfPlainText(log, options.host, certificate, options.trustedProxies);
  warnOfSharedLimits(log, options);
  certificate?.check(log);
}

/**
 * Waits for the requests under way, for this number of seconds at most. Throws ExitWith when `atOnce` settles first.
 */
async function stop(log: Log, listener: Listener, drainSeconds: number, atOnce: Promise<void>) {
  log.info('stopping: waiting for the requests under way');
  const retired = drainSeconds === 0 ? Promise.resolve() : listener.retire(LAST_ANSWERS_MS);
  const drained = retired.then(async () => {
    await listener.drain();
    return 'drained' as const;
  });
  const hurried = atOnce.then(() => 'at once' as const);
  const end = await Promise.race([drained, hurried, Bun.sleep(drainSeconds * 1000)]);
  if (end === 'drained') return;
  log.warn('stopping: closing the connections with requests under way');
  listener.stop();
  if (end === 'at once') throw new ExitWith(EXIT.failure);
}

export function startSentence({ data }: Pick<ServeOptions, 'data'>, origin: string): string {
  return `bookreel ${VERSION} serves '${data}' on ${origin}`;
}
