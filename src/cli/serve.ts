import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { Elysia } from 'elysia';
import { DeletedAccounts } from '../account/account-deletion.ts';
import { addSettings } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { isLoopback } from '../domain/loopback.ts';
import { CACHE_BYTES_MAX, createApp } from '../http/app.ts';
import { AccessLog } from '../http/plugins/access-log.ts';
import type { Edge } from '../http/plugins/arrivals.ts';
import { Cors } from '../http/plugins/cors.ts';
import { causeOf } from '../http/plugins/errors.ts';
import type { IpNetwork } from '../http/plugins/ip-address.ts';
import type { Log } from '../http/plugins/log.ts';
import { openServedActivity } from '../store/activity.ts';
import type { Archive } from '../store/archive.ts';
import { isReadOnly, isUnwritable } from '../store/data-directory.ts';
import { explained } from '../store/database-errors.ts';
import { ACCOUNTS, ACTIVITY, type DatabaseFile, RECORDINGS } from '../store/database-file.ts';
import { isDiskFull } from '../store/disk-reserve.ts';
import { openRegistry, type Registry } from '../store/registry.ts';
import { SampleMarkets } from '../store/sample-markets.ts';
import { ServeLock } from '../store/serve-lock.ts';
import { deleteServerStatus } from '../store/server-file.ts';
import { deleteOldAttempts } from '../store/sign-in-attempts.ts';
import { accountsOff } from '../web/accounts-off.tsx';
import { auditSentence } from '../web/audit-sentence.ts';
import { pricingSite } from '../web/pricing.tsx';
import { signedInBy } from '../web/signed-in.ts';
import { viewSite } from '../web/view/view-site.ts';
import { viewTokensOf } from '../web/view/view-token.ts';
import { accountSettings } from './account-settings.ts';
import { type AccountSite, openAccountSite, type Served } from './account-site.ts';
import { refuseEarlyClock } from './build-time.ts';
import { certificateFiles, certifiedHost } from './certificate.ts';
import { openWindows, windowsProblems } from './common-windows.ts';
import { demoAdmin, demoKey, demoSettings } from './demo.ts';
import { keepWatched, untilSpace } from './disk-watch.ts';
import { EXIT, ExitWith } from './exit.ts';
import { Listener, originOf } from './listening.ts';
import { spareSocket } from './listening-sockets.ts';
import { MetricsListener, refuseEqualPorts } from './metrics-listener.ts';
import { readNodeSecret, refuseNodeSettings, servedNodes } from './nodes.ts';
import { keepReconciled, openBilling } from './payments.ts';
import { processCount } from './process-count.ts';
import { ProcessLink, whileLeading } from './process-link.ts';
import { type OptionsOf, programCommand } from './program-command.ts';
import { keepPublished } from './publish-process.ts';
import { seed } from './seed.ts';
import { serveInProcesses } from './serve-in-processes.ts';
import type { OpenNode } from './serve-node.ts';
import type { ServerProcesses } from './server-processes.ts';
import { openLog } from './service-log.ts';
import { measure } from './service-metrics.ts';
import { stopSignals } from './stop-signals.ts';
import { json, type Terminal } from './terminal.ts';
import { renewOnHangup, ServedCertificate, warnOfPlainText } from './tls.ts';
import { VERSION } from './version.ts';
import { mentionUpgrade, withArchive } from './with-archive.ts';

/** Settings about clients, proxies and host names. */
export interface EdgeOptions {
  readonly trustedProxies?: readonly IpNetwork[] | undefined;
  readonly corsOrigins?: readonly string[] | '*' | undefined;
  readonly allowedHosts?: ReadonlySet<string> | undefined;
  readonly publicUrl?: string | undefined;
}

type ServeOptions = OptionsOf<typeof declared>;

/** Maximum time for which a server that stops still answers, and closes each connection with its answer. */
const LAST_ANSWERS_MS = 500;
/** How long the last emails may take. */
const MAIL_FLUSH_MS = 3000;
/** Usage is stored, old sign-ins are deleted and buyers get emails this often: kill -9 loses the usage of this time at most. */
const FLUSH_MS = 60_000;

function declared() {
  return addSettings(
    programCommand('serve').description('serve the archive over HTTP; a missing data directory is created'),
    ...([
      'diskFloor',
      'books',
      'host',
      'port',
      'processes',
      'windows',
      'windowsPasswordFile',
      'tlsCert',
      'tlsKey',
      'accessLog',
      'logLevel',
      'metricsHost',
      'metricsPort',
    ] as const),
    ...(['trustedProxies', 'corsOrigins', 'allowedHosts', 'contact'] as const),
    ...([
      'mcp',
      'newAccountTier',
      'keysPerAccount',
      'publicUrl',
      'signUp',
      'signUpDomains',
      'smtpUrl',
      'smtpSender',
    ] as const),
    ...(['smtpPasswordFile', 'oidcProviders', 'adminPasskeys', 'payments', 'idleSeconds', 'drainSeconds'] as const),
    ...(['nodeSecretFile', 'home', 'cacheBytes', 'homeGrace'] as const),
  )
    .option(
      '--demo',
      'load the simulated recordings first, and print a curl command with a new key; on this machine also a sign-in link',
    )
    .option('--node', "answer from a copy of home's catalog ('bookreel manual nodes')")
    .addHelpText(
      'after',
      `
SIGTERM or SIGINT: the server answers the requests under way, then stops. A
second signal stops it at once. SIGHUP: it reads the files of --tls-cert and
--tls-key again; with several processes also other settings. All other commands
work while it is running.

Clients on other machines need TLS, here or at a proxy: see 'bookreel manual
public'. 'bookreel manual operations' is about the log and metrics.

Examples:
  $ bookreel serve --demo
  $ bookreel serve --data /var/lib/bookreel --trusted-proxies loopback
  $ bookreel serve --host 0.0.0.0 --port 443 --tls-cert cert.pem --tls-key key.pem`,
    );
}

export function serveCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (_, command) => {
    const options = command.optsWithGlobals();
    const link = await ProcessLink.open(terminal.clock);
    if (link === undefined) await serve(terminal, options, undefined);
    else await serve({ ...terminal, errIsTerminal: link.start.errIsTerminal }, options, link);
  });
}

/** The effect on a server of each file that cannot be written. */
const UNWRITABLE: readonly (readonly [file: DatabaseFile, effect: string])[] = [
  [RECORDINGS, 'nothing can be imported'],
  [ACCOUNTS, 'keys and tiers cannot be changed'],
  [ACTIVITY, 'usage is counted in memory'],
];

/** The deletions that are logged at once. */
const DELETIONS_MAX = 100;
const WITHOUT_SPACE =
  "nothing is written, and accounts and payments are off, until 'bookreel delete' or somebody else frees some space";

/** Serves until a stop signal. Everything is wired together here. `link`: that of a process of a server of several. */
async function serve(terminal: Terminal, given: ServeOptions, link: ProcessLink | undefined): Promise<void> {
  const options = { ...given, ...link?.start.settings };
  // Settings that do not fit together are refused before anything is created.
  refuseEarlyClock(terminal.clock());
  let listening: Listener | undefined;
  const isLocalDemo = options.demo === true && isLoopback(options.host) && !isForOthers(options);
  const isSecure = options.tlsCert !== undefined;
  const originAt = (port: number) => originOf(options.host, port, isSecure);
  const local = isLocalDemo ? demoSettings(options, () => originAt(listening?.port ?? options.port)) : undefined;
  const settings = accountSettings(options, local);
  refuseEqualPorts(options);
  refuseNodeSettings(options);
  const nodeSecret = options.nodeSecretFile === undefined ? undefined : readNodeSecret(options.nodeSecretFile);
  for (const problem of windowsProblems(options)) throw new DomainError('invalid-parameter', problem);
  const count = link === undefined ? processCount(options) : 1;
  const files = link === undefined ? certificateFiles(options) : undefined;
  const certificate =
    files && new ServedCertificate(files, terminal, certifiedHost(options.publicUrl, options.trustedProxies));
  await using log = openLog(terminal, options.logLevel);
  if (options.processes === 'auto' && options.payments !== undefined && link === undefined) {
    log.info('one process answers all requests, because --payments are served by one');
  }
  for (const key of link?.unusedChanges(given) ?? []) log.warn(`start the server again to change ${key}`);
  let processes: ServerProcesses | undefined;
  // Registered this early: a service manager may send the signal during a long start, for example for an upgrade.
  using _hangup =
    link === undefined ? renewOnHangup(certificate, () => processes ?? listening, terminal, log) : undefined;
  // Nothing can be written to a read-only directory, so several servers may use it.
  const isShared = explained(options.data, () => isReadOnly(options.data), 'invalid-parameter');
  const lock = isShared || link !== undefined ? undefined : ServeLock.take(options.data);
  if (lock !== undefined) deleteServerStatus(options.data);
  using publishing = new DisposableStack();
  const beginPublishing = () => {
    const { data, books } = options;
    if (books) publishing.use(keepPublished(log, { data, books }));
  };
  try {
    if (options.node === true) {
      const signals = stopSignals();
      const { openNode } = await import('./serve-node.ts');
      const discarded = { count: 0 };
      for (let again = true; again; ) {
        await using node = await openNode(options, terminal.clock, log, signals.first, discarded);
        if (node === undefined) return;
        const none = { site: undefined, demoKeyId: undefined, nodeSecret: undefined, freed: undefined };
        const opened = { ...none, served: node.served, node, log, certificate, signals, link };
        const port = listening?.port ?? options.port;
        again = await listenUntilStopped(
          { ...terminal, clock: node.nowMs },
          { ...options, port },
          opened,
          (listener) => {
            if (listening === undefined) announce(terminal, options, originAt(listener.port));
            listening = listener;
          },
        );
      }
      return;
    }
    const needsAccounts = settings !== undefined || options.payments !== undefined;
    if (needsAccounts && isUnwritable(options.data, ACCOUNTS.name)) {
      throw new DomainError(
        'unavailable',
        `'${options.data}' cannot be written, and accounts and payments must be: serve it without --public-url and --payments`,
      );
    }
    const work = async (archive: Archive, readOnly: boolean) => {
      using registry = openRegistry(options.data, { ...options, create: true, readOnly });
      if (options.demo === true) await seed(terminal, options, archive);
      const admin = isLocalDemo ? demoAdmin(registry, terminal.clock()) : undefined;
      const key = options.demo === true ? demoKey(registry, terminal.clock()) : undefined;
      using activity = openServedActivity(options.data, { readOnly, gather: link?.gatherUsage });
      for (const { database } of [registry, activity]) mentionUpgrade(log.warn, database);
      const deps = { clock: terminal.clock, logError: log.error };
      if (link === undefined) warnOfUnwritable(log, options);
      if (count > 1) return false;
      using _disk = whileLeading(link, () => keepWatched(log, options));
      const billing = readOnly
        ? undefined
        : await openBilling(deps, options, registry, { isServer: link?.isLeading ?? true });
      using _ = billing && whileLeading(link, () => keepReconciled(deps, billing));
      const served = { archive, registry, activity, billing, contact: options.contact };
      const site = readOnly ? undefined : settings && (await openAccountSite(deps, settings, served));
      const demoKeyId = isLocalDemo && !mayBeProxied(options) ? key?.apiKey.id : undefined;
      using full = readOnly ? untilSpace(options) : undefined;
      signals ??= link?.signals ?? stopSignals();
      const opened = { served, site, demoKeyId, nodeSecret, log, certificate, freed: full?.freed, signals, link };
      const port = link?.start.port ?? listening?.port ?? options.port;
      const startsAgain = await listenUntilStopped(terminal, { ...options, port }, opened, (listener) => {
        const isFirst = listening === undefined;
        listening = listener;
        if (isFirst && link === undefined) {
          announce(terminal, options, originAt(listener.port), key?.key, admin && site?.createLink(admin, terminal));
          beginPublishing();
        }
      });
      await site?.close();
      return startsAgain;
    };
    let signals: ReturnType<typeof stopSignals> | undefined;
    const path = join(options.data, RECORDINGS.name);
    for (let again = true; again; ) {
      const readOnly = !isShared && existsSync(path) && isDiskFull(options.data);
      if (readOnly) log.warn(`the disk of '${options.data}' is full: ${WITHOUT_SPACE}`);
      again = await withArchive(
        terminal,
        options,
        { create: true, readOnly },
        (archive) => work(archive, readOnly),
        log.warn,
      );
    }
    if (count === 1) return;
    warnOfSettings(log, options, certificate);
    const onStarting = (started: ServerProcesses) => {
      processes = started;
    };
    const onListening = (port: number) => {
      const origin = originAt(port);
      announce(terminal, options, origin);
      beginPublishing();
      if (!terminal.errIsTerminal) log.info(`${startSentence(options, origin)} with ${count} processes`);
    };
    const directory = isShared ? undefined : options.data;
    await serveInProcesses({ terminal, options, count, directory, log, certificate, onStarting, onListening });
  } finally {
    lock?.release();
  }
}

/** The parts of a server that `serve` has opened. */
interface Opened {
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
  readonly signals: ReturnType<typeof stopSignals>;
  readonly link: ProcessLink | undefined;
}

/** Returns true when it has stopped because the disk has space again, or a node's copy of the catalog is damaged. */
async function listenUntilStopped(
  terminal: Terminal,
  options: ServeOptions,
  opened: Opened,
  onListening: (listener: Listener) => void,
): Promise<boolean> {
  const { served, site, demoKeyId, nodeSecret, node, log, freed, signals, link } = opened;
  const certificate = link === undefined ? opened.certificate : link.certificate;
  const { first, second } = signals;
  let draining = false;
  // The clock of a process begins with it: processes that count together need that of the machine.
  const monotonicMs = link?.monotonicMs ?? (() => performance.now());
  const clocks = () => ({ monotonicMs: monotonicMs(), wallMs: terminal.clock() });
  const viewTokens = site && viewTokensOf(site.service, demoKeyId, link?.tokenSecret);
  const samples = node === undefined ? new SampleMarkets(served.archive) : undefined;
  const accessLog = options.accessLog ? new AccessLog(log) : undefined;
  using measured =
    options.metricsPort === undefined
      ? undefined
      : measure({ ...opened, certificate, listener: () => listening, clock: terminal.clock });
  measured?.metrics.add(...(node?.metrics ?? []));
  // The processes of a server share their counts, so one of them logs it.
  const onChange = (isAway: boolean, sentence: string) =>
    link?.isLeading !== false && log[isAway ? 'warn' : 'info'](sentence);
  using windows = await openWindows(options, onChange);
  measured?.metrics.add(...(windows?.metrics() ?? []));
  link?.counts.rewind();
  const mcp = options.mcp && node === undefined ? (await import('../http/mcp/mcp-route.ts')).mcpController : undefined;
  const isDraining = () => draining;
  const forNodes = {
    ...{ served, data: options.data, version: VERSION, nowMs: terminal.clock, serverSecret: link?.tokenSecret },
    // A process that another one replaces waits for its connections.
    isDraining: () => draining || link?.isRetired === true,
  };
  const nodes = nodeSecret === undefined ? undefined : await servedNodes({ ...forNodes, secret: nodeSecret });
  const app = createApp({
    ...served,
    usage: served.activity.usage,
    version: VERSION,
    clocks,
    isDraining,
    logError: log.error,
    edge: edgeOf(options, accessLog),
    metrics: measured?.metrics,
    samples,
    mcp,
    viewTokens,
    nodes,
    node: node?.deps,
    commonWindows: windows,
    ...(link && { counts: link.counts, cacheBytesMax: CACHE_BYTES_MAX / link.start.processes }),
    pages: (addresses, rateLimit, picture) => {
      const all = new Elysia({ name: 'pages' });
      // Home has the pages of a node.
      if (samples === undefined) return all;
      const { registry } = served;
      const tokens = site &&
        viewTokens && {
          tokens: viewTokens,
          samples,
          service: site.service,
          registry,
          addresses,
          nowMs: terminal.clock,
          demoKeyId,
        };
      all.use((site?.pages ?? accountsOff)(addresses, rateLimit));
      all.use(viewSite({ access: 'key', tokens, isReplay: false, picture }));
      all.use(pricingSite({ ...served, service: site?.service, nowMs: terminal.clock }));
      return all;
    },
    hasAccounts: site !== undefined || node !== undefined,
    emailOf: site && ((request) => signedInBy(request, site.service)?.account.email),
  });
  const deleted = new DeletedAccounts(served.registry, served.activity);
  const deletions = new LoggedDeletions(served.registry, log);
  const flushUsage = () => served.activity.usage.flush(terminal.clock());
  const flush = () => {
    // Home stores the usage that a node counts, and has the accounts and emails.
    if (node !== undefined) return;
    try {
      flushUsage();
      deleted.forget(terminal.clock());
      const isLeading = link?.isLeading ?? true;
      deletions.log(isLeading);
      if (!isLeading) return;
      deleteOldAttempts(served.activity.database, terminal.clock());
      site?.service.mailBuyers();
      site?.service
        .retryMails()
        .catch((error) => log.error(`emails wait, because they cannot be read: ${causeOf(error)}`));
    } catch (error) {
      // The counts are kept: the next flush stores them.
      log.error(`usage and emails wait, because a database was not written: ${causeOf(error)}`);
    }
  };
  flush();
  using scraped =
    link === undefined && measured ? new MetricsListener(() => measured.metrics.text(), options) : undefined;
  await using _link = link?.serve({
    flushUsage,
    readings: () => measured?.metrics.read() ?? [],
    onFailure: (question, error) => log.error(`'${question}' of the other processes has failed: ${causeOf(error)}`),
    spare: spareSocket,
  });
  const shared = link && { isShared: true, onChange: link.listens };
  const listening = new Listener(app, { ...options, ...shared, certificate: certificate?.current, log });
  if (link === undefined) warnOfSettings(log, options, opened.certificate);
  onListening(listening);
  // On a terminal, stdout has shown the same sentence.
  const origin = originOf(options.host, listening.port, certificate !== undefined);
  if (!terminal.errIsTerminal && link === undefined) log.info(startSentence(options, origin));
  if (scraped !== undefined) log.info(`metrics are at ${scraped.url}`);
  const flushing = setInterval(flush, FLUSH_MS);
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
    flush();
  }
  // Bounded, because the mail server may not answer.
  if (site !== undefined) await Promise.race([site.drained(), Bun.sleep(MAIL_FLUSH_MS), second]);
  accessLog?.flush();
  return startsAgain;
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

/** Writes deletions by commands to the log of the server, which others keep and read. */
class LoggedDeletions {
  readonly #registry: Registry;
  readonly #log: Log;
  #lastId: number;

  constructor(registry: Registry, log: Log) {
    this.#registry = registry;
    this.#log = log;
    this.#lastId = this.#entries(1)[0]?.id ?? 0;
  }

  /** Those since the last call. `isWritten`: false if another process writes them. */
  log(isWritten: boolean): void {
    for (const entry of this.#entries(DELETIONS_MAX).reverse()) {
      if (entry.id <= this.#lastId) continue;
      this.#lastId = entry.id;
      if (isWritten) this.#log.warn(`${entry.operatingUser}: ${auditSentence(entry)}`);
    }
  }

  #entries(limit: number) {
    const { audit, database } = this.#registry;
    return database.read(() => audit.list(limit, { action: 'recordings.delete' }));
  }
}

function warnOfUnwritable(log: Log, { data }: Pick<ServeOptions, 'data'>): void {
  for (const [{ name }, effect] of UNWRITABLE) {
    if (isUnwritable(data, name)) log.warn(`'${join(data, name)}' cannot be written: ${effect}`);
  }
}

/** Warns of settings that are allowed, and suggest a mistake. */
function warnOfSettings(log: Log, options: ServeOptions, certificate: ServedCertificate | undefined): void {
  warnOfPlainText(log, options.host, certificate, options.trustedProxies);
  warnOfSharedLimits(log, options);
  certificate?.check(log);
}

/** Returns true if settings say that clients of other machines connect through a proxy. */
function isForOthers({ publicUrl, trustedProxies = [] }: ServeOptions): boolean {
  return trustedProxies.length > 0 || (publicUrl !== undefined && !isLoopback(new URL(publicUrl).hostname));
}

/** Returns true if a setting suggests that clients of other machines connect through a proxy. */
function mayBeProxied({ publicUrl, trustedProxies = [], allowedHosts }: ServeOptions): boolean {
  return publicUrl !== undefined || trustedProxies.length > 0 || allowedHosts !== undefined;
}

/** A public URL with https needs TLS here, or at a proxy in front of this server. */
function warnOfSharedLimits(log: Log, { publicUrl, trustedProxies = [], tlsCert }: ServeOptions): void {
  if (publicUrl?.startsWith('https:') !== true || trustedProxies.length > 0 || tlsCert !== undefined) return;
  log.warn(
    "all clients share the limits of one address: name the TLS proxy with --trusted-proxies ('bookreel manual public')",
  );
}

/** The settings of the edge in the form that `createApp` needs. */
export function edgeOf(
  { trustedProxies = [], corsOrigins, allowedHosts, publicUrl }: EdgeOptions,
  accessLog: AccessLog | undefined,
): Edge {
  return {
    trustedProxies,
    isSecure: publicUrl?.startsWith('https:') === true,
    ...(accessLog === undefined ? {} : { accessLog }),
    ...(corsOrigins === undefined ? {} : { cors: new Cors(corsOrigins) }),
    ...(allowedHosts === undefined ? {} : { allowedHosts }),
  };
}

/** `key`, `link`: those of the demo. */
function announce(
  { out }: Terminal,
  { data, json: isJson }: ServeOptions,
  origin: string,
  key?: string,
  link?: string,
): void {
  const curl = key && `curl -H 'Authorization: Bearer ${key}' '${origin}/v1/btc/markets?limit=2'`;
  if (isJson === true) {
    out(json({ address: origin, data, key: key ?? null, curl: curl ?? null, link: link ?? null }));
    return;
  }
  const served = `${startSentence({ data }, origin)} (reference: ${origin}/docs)`;
  const signIn = link && `sign in, once and within 15 minutes: ${link}`;
  out([served, curl, signIn].flatMap((line) => (line === undefined ? [] : `${line}\n`)).join(''));
}

function startSentence({ data }: Pick<ServeOptions, 'data'>, origin: string): string {
  return `bookreel ${VERSION} serves '${data}' on ${origin}`;
}
