import { Command } from 'commander';
import { DeletedAccounts } from '../account/account-deletion.ts';
import { addSettings } from '../config.ts';
import { createApp, type Edge } from '../http/app.ts';
import { AccessLog } from '../http/plugins/access-log.ts';
import { Cors } from '../http/plugins/cors.ts';
import { causeOf } from '../http/plugins/errors.ts';
import type { IpNetwork } from '../http/plugins/ip-address.ts';
import { openActivity } from '../store/activity.ts';
import { openRegistry } from '../store/registry.ts';
import { ServeLock } from '../store/serve-lock.ts';
import { deleteOldAttempts } from '../store/sign-in-attempts.ts';
import { accountsOff } from '../web/accounts-off.tsx';
import { type AccountOptions, accountSettings } from './account-settings.ts';
import { type AccountSite, openAccountSite, type Served } from './account-site.ts';
import { refuseEarlyClock } from './build-time.ts';
import { demoAdmin, demoKey, demoSettings } from './demo.ts';
import { keepWatched } from './disk-watch.ts';
import { EXIT, ExitWith } from './exit.ts';
import type { StoringOptions } from './import.ts';
import { isLoopback, Listener, mentionProxy, originOf } from './listening.ts';
import { logDescriptor } from './log-descriptor.ts';
import { keepReconciled, openBilling, type PaymentOptions } from './payments.ts';
import { seed } from './seed.ts';
import { stopSignals } from './stop-signals.ts';
import { errorLine, json, type Terminal } from './terminal.ts';
import { VERSION } from './version.ts';
import { withArchive } from './with-archive.ts';

/** Settings about clients, proxies and host names. */
export interface EdgeOptions {
  readonly trustedProxies?: readonly IpNetwork[];
  readonly corsOrigins?: readonly string[] | '*';
  readonly allowedHosts?: ReadonlySet<string>;
}

interface ServeOptions extends StoringOptions, EdgeOptions, AccountOptions, PaymentOptions {
  readonly host: string;
  readonly port: number;
  readonly accessLog: boolean;
  readonly newAccountTier: string;
  readonly keysPerAccount: number;
  readonly idleSeconds: number;
  readonly drainSeconds: number;
  readonly demo?: boolean;
}

/** How long the last lines of the access log may take. */
const LOG_FLUSH_MS = 1000;
/** How long the last mails may take. */
const MAIL_FLUSH_MS = 3000;
const STDERR = 2;
/** Usage is stored and old sign-ins are deleted this often: kill -9 loses the usage of this time at most. */
const FLUSH_MS = 60_000;

export function serveCommand(terminal: Terminal): Command {
  return addSettings(
    new Command('serve').description('serve the archive over HTTP; a missing data directory is created'),
    ...(['diskFloor', 'host', 'port', 'accessLog', 'trustedProxies', 'corsOrigins', 'allowedHosts'] as const),
    ...(['newAccountTier', 'keysPerAccount', 'publicUrl', 'signUp', 'signUpDomains', 'smtpUrl', 'smtpSender'] as const),
    ...(['smtpPasswordFile', 'oidcProviders', 'payments', 'idleSeconds', 'drainSeconds'] as const),
  )
    .option(
      '--demo',
      'load the simulated recordings first, and print a curl command with a new key; on this machine also a sign-in link',
    )
    .addHelpText(
      'after',
      `
SIGTERM or SIGINT: the server answers the requests under way, then stops. A
second signal stops it at once. All other commands work while it is running.

Clients on other machines need a TLS proxy: see 'bookreel manual public'.

Examples:
  $ bookreel serve --demo
  $ bookreel serve --data /var/lib/bookreel --trusted-proxies loopback`,
    )
    .action(async (_, command: Command) => {
      await serve(terminal, command.optsWithGlobals<ServeOptions>());
    });
}

/** Serves until a stop signal. Everything is wired together here. */
async function serve(terminal: Terminal, options: ServeOptions): Promise<void> {
  // Settings that do not fit together are refused before anything is created.
  refuseEarlyClock(terminal.clock());
  const bound = { port: options.port };
  const isLocalDemo = options.demo === true && isLoopback(options.host);
  const settings = accountSettings(options, isLocalDemo ? demoSettings(options, () => bound.port) : undefined);
  const lock = ServeLock.take(options.data);
  try {
    await withArchive(terminal, options, { create: true }, async (archive) => {
      using registry = openRegistry(options.data, { ...options, create: true });
      if (options.demo === true) await seed(terminal, options, archive);
      const admin = isLocalDemo ? demoAdmin(registry, terminal.clock()) : undefined;
      const key = options.demo === true ? demoKey(registry, terminal.clock()) : undefined;
      using activity = openActivity(options.data);
      using _disk = keepWatched(terminal, options);
      const billing = await openBilling(terminal, options, registry);
      using _ = billing && keepReconciled(terminal, billing);
      const served = { archive, registry, activity, billing };
      const site = settings && (await openAccountSite(terminal, settings, served));
      await listenUntilStopped(terminal, options, served, site, (port) => {
        bound.port = port;
        announce(terminal, options, originOf(options.host, port), key, admin && site?.createLink(admin));
      });
      await site?.close();
    });
  } finally {
    lock.release();
  }
}

async function listenUntilStopped(
  terminal: Terminal,
  options: ServeOptions,
  served: Served,
  site: AccountSite | undefined,
  onListening: (port: number) => void,
): Promise<void> {
  let draining = false;
  const clocks = () => ({ monotonicMs: performance.now(), wallMs: terminal.clock() });
  const logError = (line: string) => terminal.err(errorLine(line));
  const form = terminal.errIsTerminal ? 'text' : 'json';
  const accessLog = options.accessLog ? new AccessLog(logDescriptor(STDERR), form, clocks) : undefined;
  const app = createApp({
    ...served,
    usage: served.activity.usage,
    version: VERSION,
    clocks,
    isDraining: () => draining,
    logError,
    edge: edgeOf(options, accessLog),
    pages: site?.pages ?? accountsOff,
    hasAccounts: site !== undefined,
  });
  const deleted = new DeletedAccounts(served.registry, served.activity);
  const flush = () => {
    try {
      served.activity.usage.flush(terminal.clock());
      deleteOldAttempts(served.activity.database, terminal.clock());
      deleted.forget(terminal.clock());
    } catch (error) {
      // The counts are kept: the next flush stores them.
      logError(`activity.db was not written: ${causeOf(error)}`);
    }
  };
  flush();
  const { first, second } = stopSignals();
  const listening = new Listener(app, { ...options, say: logError });
  mentionProxy(terminal, options.host);
  mentionClients(terminal, options);
  onListening(listening.port);
  const flushing = setInterval(flush, FLUSH_MS);
  try {
    await first;
    draining = true;
    await stop(terminal, listening, options.drainSeconds, second);
  } finally {
    clearInterval(flushing);
    flush();
  }
  // The mail server may not answer.
  if (site !== undefined) await Promise.race([site.drained(), Bun.sleep(MAIL_FLUSH_MS), second]);
  // The log may have no reader.
  if (accessLog !== undefined) await Promise.race([accessLog.flush(), Bun.sleep(LOG_FLUSH_MS), second]);
}

/**
 * Waits for the requests under way, for this number of seconds at most. Throws ExitWith when `atOnce` settles first.
 */
async function stop(terminal: Terminal, listener: Listener, drainSeconds: number, atOnce: Promise<void>) {
  terminal.err('stopping: waiting for the requests under way\n');
  const drained = listener.drain().then(() => 'drained' as const);
  const hurried = atOnce.then(() => 'at once' as const);
  const end = await Promise.race([drained, hurried, Bun.sleep(drainSeconds * 1000)]);
  if (end === 'drained') return;
  terminal.err('stopping: closing the connections with requests under way\n');
  listener.stop();
  if (end === 'at once') throw new ExitWith(EXIT.failure);
}

/** A public URL with https needs a TLS proxy before this server. */
function mentionClients({ err }: Terminal, { publicUrl, trustedProxies = [] }: ServeOptions): void {
  if (publicUrl?.startsWith('https:') !== true || trustedProxies.length > 0) return;
  err(
    "All people share the limits of one client address: name the TLS proxy with --trusted-proxies ('bookreel manual public').\n",
  );
}

/** The settings as the app takes them. */
export function edgeOf(
  { trustedProxies = [], corsOrigins, allowedHosts }: EdgeOptions,
  accessLog: AccessLog | undefined,
): Edge {
  return {
    trustedProxies,
    ...(accessLog === undefined ? {} : { accessLog }),
    ...(corsOrigins === undefined ? {} : { cors: new Cors(corsOrigins) }),
    ...(allowedHosts === undefined ? {} : { allowedHosts }),
  };
}

/** `key`, `link`: of the demo. */
function announce(
  { out }: Terminal,
  { data, json: isJson }: ServeOptions,
  origin: string,
  key: string | undefined,
  link: string | undefined,
): void {
  const curl = key && `curl -H 'Authorization: Bearer ${key}' '${origin}/v1/btc/markets?limit=2'`;
  if (isJson === true) {
    out(json({ address: origin, data, key: key ?? null, curl: curl ?? null, link: link ?? null }));
    return;
  }
  const served = `bookreel ${VERSION} serves '${data}' on ${origin} (reference: ${origin}/docs)`;
  const signIn = link && `sign in, once and within 15 minutes: ${link}`;
  out([served, curl, signIn].flatMap((line) => (line === undefined ? [] : `${line}\n`)).join(''));
}
