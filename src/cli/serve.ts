import { Command } from 'commander';
import { hostOption, portOption } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { createApp } from '../http/app.ts';
import { type Archive, openArchive } from '../store/archive.ts';
import { ServeLock } from '../store/serve-lock.ts';
import { createKey } from './key.ts';
import { seed } from './seed.ts';
import { json, type Terminal } from './terminal.ts';
import { VERSION } from './version.ts';
import type { GlobalOptions } from './with-archive.ts';

interface ServeOptions extends GlobalOptions {
  readonly host: string;
  readonly port: number;
  readonly demo?: boolean;
}

const DEMO_ACCOUNT = 'demo@localhost';
const DEMO_NAME = 'demo';
const DEMO_TIER = 'pro';
/** How long requests under way may take once the server was told to stop. */
const DRAIN_MS = 10_000;
const IDLE_TIMEOUT_SECONDS = 30;
/** Every endpoint only reads: a body has no meaning here. */
const BODY_BYTES_MAX = 64 * 1024;

export function serveCommand(terminal: Terminal): Command {
  return new Command('serve')
    .description('serve the archive over HTTP; creates and migrates the data directory if need be')
    .addOption(hostOption())
    .addOption(portOption())
    .option('--demo', 'seed the simulated recordings first and print a curl line with a fresh key')
    .addHelpText(
      'after',
      `
SIGTERM and SIGINT stop it after the requests under way; every other command works beside it.

Examples:
  $ bookreel serve --demo
  $ bookreel serve --data /var/lib/bookreel --host 0.0.0.0 --port 80`,
    )
    .action(async (_, command: Command) => {
      await serve(terminal, command.optsWithGlobals<ServeOptions>());
    });
}

/** Serves until a signal says stop. The one place where everything is wired together. */
async function serve(terminal: Terminal, options: ServeOptions): Promise<void> {
  const lock = ServeLock.take(options.data);
  try {
    const archive = openArchive(options.data, terminal.clock(), { create: true });
    try {
      const demoKey = options.demo === true ? await prepareDemo(terminal, options, archive) : undefined;
      await listenUntilStopped(terminal, options, archive, demoKey);
    } finally {
      archive.database.close();
    }
  } finally {
    lock.release();
  }
}

async function listenUntilStopped(
  terminal: Terminal,
  options: ServeOptions,
  archive: Archive,
  demoKey: string | undefined,
): Promise<void> {
  let draining = false;
  const app = createApp({
    archive,
    version: VERSION,
    clocks: () => ({ monotonicMs: performance.now(), wallMs: terminal.clock() }),
    isDraining: () => draining,
    logError: (line) => terminal.err(`${line}\n`),
  });
  const stopped = signalled();
  try {
    app.listen({
      hostname: options.host,
      port: options.port,
      // A second server on this port would halve every rate limit without a word.
      reusePort: false,
      idleTimeout: IDLE_TIMEOUT_SECONDS,
      maxRequestBodySize: BODY_BYTES_MAX,
    });
  } catch (error) {
    throw cannotListen(error, options);
  }
  const origin = originOf(options.host, app.server!.port ?? options.port);
  announce(terminal, options, origin, demoKey);
  await stopped;
  draining = true;
  terminal.err('stopping: waiting for the requests under way\n');
  await Promise.race([app.stop(false), Bun.sleep(DRAIN_MS)]);
}

/** Settles with the first SIGTERM or SIGINT; a second one ends the process at once, as it would without us. */
function signalled(): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      process.off('SIGTERM', stop);
      process.off('SIGINT', stop);
      resolve();
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}

function cannotListen(error: unknown, { host, port }: ServeOptions): Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason =
    code === 'EADDRINUSE'
      ? 'another program listens there'
      : code === 'EACCES'
        ? 'that is not permitted'
        : code || String(error);
  return new DomainError(
    'conflict',
    `cannot listen on ${host} port ${port}: ${reason}; choose another with --port or --host`,
    {
      cause: error,
    },
  );
}

function originOf(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

function announce(terminal: Terminal, options: ServeOptions, origin: string, demoKey: string | undefined): void {
  const curl =
    demoKey === undefined ? undefined : `curl -H 'Authorization: Bearer ${demoKey}' '${origin}/v1/btc/markets?limit=2'`;
  if (options.json === true) {
    terminal.out(json({ address: origin, data: options.data, key: demoKey ?? null, curl: curl ?? null }));
    return;
  }
  terminal.out(`bookreel ${VERSION} serves '${options.data}' on ${origin} (reference: ${origin}/docs)\n`);
  if (curl !== undefined) terminal.out(`${curl}\n`);
}

/** Seeds, and gives the demo's key a new secret: earlier ones are no longer of use. */
async function prepareDemo(terminal: Terminal, options: ServeOptions, archive: Archive): Promise<string> {
  await seed(terminal, options, archive);
  const nowMs = terminal.clock();
  const held = archive.apiKeys
    .list()
    .find((key) => key.account === DEMO_ACCOUNT && key.name === DEMO_NAME && key.revokedMs === undefined);
  if (held !== undefined) return archive.database.write(() => archive.apiKeys.rotate(held.id, nowMs)).key;
  const request = { account: DEMO_ACCOUNT, name: DEMO_NAME, tier: DEMO_TIER, requestsPerMinute: undefined };
  return createKey(archive, nowMs, request).key;
}
