import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type { AccountSettings } from '../account/account-service.ts';
import { DomainError } from '../domain/errors.ts';
import { isLoopback } from '../domain/loopback.ts';
import type { Log } from '../http/plugins/log.ts';
import { openServedActivity } from '../store/activity.ts';
import type { Archive } from '../store/archive.ts';
import { isReadOnly, isUnwritable } from '../store/data-directory.ts';
import { explained } from '../store/database-errors.ts';
import { ACCOUNTS, ACTIVITY, type DatabaseFile, RECORDINGS } from '../store/database-file.ts';
import { isDiskFull } from '../store/disk-reserve.ts';
import { openRegistry } from '../store/registry.ts';
import { ServeLock } from '../store/serve-lock.ts';
import { deleteServerStatus } from '../store/server-file.ts';
import { accountSettings } from './account-settings.ts';
import { openAccountSite } from './account-site.ts';
import { refuseEarlyClock } from './build-time.ts';
import { certificateFiles, certifiedHost } from './certificate.ts';
import { windowsProblems } from './common-windows.ts';
import { demoAdmin, demoKey, demoSettings } from './demo.ts';
import { keepWatched, untilSpace } from './disk-watch.ts';
import { type Listener, originOf } from './listening.ts';
import { listenUntilStopped, type ServerParts, startSentence, warnOfSettings } from './listening-server.ts';
import { refuseEqualPorts } from './metrics-listener.ts';
import { readNodeSecret, refuseNodeSettings } from './nodes.ts';
import { keepReconciled, openBilling } from './payments.ts';
import { processCount } from './process-count.ts';
import { ProcessLink, whileLeading } from './process-link.ts';
import { keepPublished } from './publish-process.ts';
import { seed } from './seed.ts';
import { isForOthers, mayBeProxied } from './serve-edge.ts';
import { serveInProcesses } from './serve-in-processes.ts';
import { type ServeOptions, serveOptions } from './serve-options.ts';
import type { ServerProcesses } from './server-processes.ts';
import { openLog } from './service-log.ts';
import { type StopSignals, stopSignals } from './stop-signals.ts';
import { json, type Terminal } from './terminal.ts';
import { renewOnHangup, ServedCertificate } from './tls.ts';
import { mentionUpgrade, withArchive } from './with-archive.ts';

/** The effect on a server of each file that cannot be written. */
const UNWRITABLE: readonly (readonly [file: DatabaseFile, effect: string])[] = [
  [RECORDINGS, 'nothing can be imported'],
  [ACCOUNTS, 'keys and tiers cannot be changed'],
  [ACTIVITY, 'usage is counted in memory'],
];

const WITHOUT_SPACE =
  "nothing is written, and accounts and payments are off, until 'bookreel delete' or somebody else frees some space";

export function serveCommand(terminal: Terminal): CommandUnknownOpts {
  return serveOptions().action(async (_, command) => {
    const options = command.optsWithGlobals();
    const link = await ProcessLink.open(terminal.clock);
    if (link === undefined) await serve(terminal, options, undefined);
    else await serve({ ...terminal, errIsTerminal: link.start.errIsTerminal }, options, link);
  });
}

/** Serves until a stop signal. `link`: that of a process of a server of several. */
async function serve(terminal: Terminal, given: ServeOptions, link: ProcessLink | undefined): Promise<void> {
  const options = { ...given, ...link?.start.settings };
  // Settings that do not fit together are refused before anything is created.
  refuseEarlyClock(terminal.clock());
  const isLocalDemo = options.demo === true && isLoopback(options.host) && !isForOthers(options);
  const settings = accountSettings(options, isLocalDemo ? demoSettings(options, () => run.origin) : undefined);
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
  using run = new ServerRun({ terminal, options, isLocalDemo, settings, nodeSecret, certificate, log, link, count });
  // Registered this early: a service manager may send the signal during a long start, for example for an upgrade.
  using _hangup = link === undefined ? renewOnHangup(certificate, () => run.listening, terminal, log) : undefined;
  // Nothing can be written to a read-only directory, so several servers may use it.
  const isShared = explained(options.data, () => isReadOnly(options.data), 'invalid-parameter');
  const lock = isShared || link !== undefined ? undefined : ServeLock.take(options.data);
  if (lock !== undefined) deleteServerStatus(options.data);
  try {
    if (options.node === true) return await run.asNode();
    await run.withArchive(isShared);
    if (count > 1) await run.inProcesses(isShared);
  } finally {
    lock?.release();
  }
}

interface ServerRunDeps extends Pick<ServerParts, 'nodeSecret' | 'certificate' | 'log' | 'link'> {
  readonly terminal: Terminal;
  readonly options: ServeOptions;
  readonly isLocalDemo: boolean;
  /** Undefined: there are no accounts. */
  readonly settings: AccountSettings | undefined;
  /** The number of processes. */
  readonly count: number;
}

/** A run of `bookreel serve`: rounds that begin again at the same port when a disk has space again or a node's copy is damaged. */
class ServerRun implements Disposable {
  readonly #deps: ServerRunDeps;
  readonly #publishing = new DisposableStack();
  #listener: Listener | undefined;
  #processes: ServerProcesses | undefined;
  #signals: StopSignals | undefined;

  constructor(deps: ServerRunDeps) {
    this.#deps = deps;
    this.#signals = deps.link?.signals;
  }

  get origin(): string {
    return this.#originAt(this.#port);
  }

  get listening(): ServerProcesses | Listener | undefined {
    return this.#processes ?? this.#listener;
  }

  async asNode(): Promise<void> {
    const { terminal, options, log, certificate, link } = this.#deps;
    const signals = this.#stopSignals();
    const { openNode } = await import('./serve-node.ts');
    const discarded = { count: 0 };
    for (let again = true; again; ) {
      await using node = await openNode(options, terminal.clock, log, signals.first, discarded);
      if (node === undefined) return;
      const none = { site: undefined, demoKeyId: undefined, nodeSecret: undefined, freed: undefined };
      const parts = { ...none, served: node.served, node, log, certificate, signals, link };
      const onListening = (listener: Listener) => {
        if (this.#listener === undefined) announce(terminal, options, this.#originAt(listener.port));
        this.#listener = listener;
      };
      again = await listenUntilStopped(
        { ...terminal, clock: node.nowMs },
        { ...options, port: this.#port },
        parts,
        onListening,
      );
    }
  }

  /** Serves in this process; of several processes it only prepares the archive. */
  async withArchive(isShared: boolean): Promise<void> {
    const { terminal, options, settings, log } = this.#deps;
    const needsAccounts = settings !== undefined || options.payments !== undefined;
    if (needsAccounts && isUnwritable(options.data, ACCOUNTS.name)) {
      throw new DomainError(
        'unavailable',
        `'${options.data}' cannot be written, and accounts and payments must be: serve it without --public-url and --payments`,
      );
    }
    const path = join(options.data, RECORDINGS.name);
    for (let again = true; again; ) {
      const readOnly = !isShared && existsSync(path) && isDiskFull(options.data);
      if (readOnly) log.warn(`the disk of '${options.data}' is full: ${WITHOUT_SPACE}`);
      const round = (archive: Archive) => this.#round(archive, readOnly);
      again = await withArchive(terminal, options, { create: true, readOnly }, round, log.warn);
    }
  }

  async inProcesses(isShared: boolean): Promise<void> {
    const { terminal, options, count, log, certificate } = this.#deps;
    warnOfSettings(log, options, certificate);
    await serveInProcesses({
      ...{ terminal, options, count, directory: isShared ? undefined : options.data, log, certificate },
      onStarting: (processes) => {
        this.#processes = processes;
      },
      onListening: (port) => {
        const origin = this.#originAt(port);
        announce(terminal, options, origin);
        this.#publish();
        if (!terminal.errIsTerminal) log.info(`${startSentence(options, origin)} with ${count} processes`);
      },
    });
  }

  [Symbol.dispose](): void {
    this.#publishing.dispose();
  }

  /** Returns true if another round begins. */
  async #round(archive: Archive, readOnly: boolean): Promise<boolean> {
    const { terminal, options, isLocalDemo, settings, nodeSecret, certificate, log, link, count } = this.#deps;
    using registry = openRegistry(options.data, { ...options, create: true, readOnly });
    if (options.demo === true) await seed(terminal, options, archive);
    const admin = isLocalDemo ? demoAdmin(registry, terminal.clock()) : undefined;
    const key = options.demo === true ? demoKey(registry, terminal.clock()) : undefined;
    using activity = openServedActivity(options.data, { readOnly, gather: link?.gatherUsage });
    for (const { database } of [registry, activity]) mentionUpgrade(log.warn, database);
    if (link === undefined) warnOfUnwritable(log, options);
    if (count > 1) return false;
    using _disk = whileLeading(link, () => keepWatched(log, options));
    const deps = { clock: terminal.clock, logError: log.error };
    const billing = readOnly
      ? undefined
      : await openBilling(deps, options, registry, { isServer: link?.isLeading ?? true });
    using _billing = billing && whileLeading(link, () => keepReconciled(deps, billing));
    const served = { archive, registry, activity, billing, contact: options.contact };
    const site = readOnly ? undefined : settings && (await openAccountSite(deps, settings, served));
    const demoKeyId = isLocalDemo && !mayBeProxied(options) ? key?.apiKey.id : undefined;
    using full = readOnly ? untilSpace(options) : undefined;
    const signals = this.#stopSignals();
    const parts = { served, site, demoKeyId, nodeSecret, log, certificate, freed: full?.freed, signals, link };
    const port = link?.start.port ?? this.#port;
    const again = await listenUntilStopped(terminal, { ...options, port }, parts, (listener) => {
      const isFirst = this.#listener === undefined;
      this.#listener = listener;
      if (!isFirst || link !== undefined) return;
      announce(terminal, options, this.origin, key?.key, admin && site?.createLink(admin, terminal));
      this.#publish();
    });
    await site?.close();
    return again;
  }

  get #port(): number {
    return this.#listener?.port ?? this.#deps.options.port;
  }

  #originAt(port: number): string {
    const { host, tlsCert } = this.#deps.options;
    return originOf(host, port, tlsCert !== undefined);
  }

  /** The same for every round: one that comes between two ends the next. */
  #stopSignals(): StopSignals {
    this.#signals ??= stopSignals();
    return this.#signals;
  }

  #publish(): void {
    const { options, log } = this.#deps;
    const { data, books } = options;
    if (books) this.#publishing.use(keepPublished(log, { data, books }));
  }
}

function warnOfUnwritable(log: Log, { data }: Pick<ServeOptions, 'data'>): void {
  for (const [{ name }, effect] of UNWRITABLE) {
    if (isUnwritable(data, name)) log.warn(`'${join(data, name)}' cannot be written: ${effect}`);
  }
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
