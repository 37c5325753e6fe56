import { closeSync, openSync } from 'node:fs';
import { DomainError } from '../domain/errors.ts';
import type { Terminal } from './terminal.ts';

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly idleSeconds: number;
  /** Default: BODY_BYTES_MAX. */
  readonly bodyBytesMax?: number;
  /** Logs in one line why connections are refused. */
  readonly say: (line: string) => void;
}

/** Routes that read bodies have smaller bounds, and say so. */
const BODY_BYTES_MAX = 256 * 1024;
/** Connections are accepted only while this number of files can still be opened: responses under way may need some. */
const SPARE_FILES = 8;
/** Time between two checks for free files, while connections are accepted and while they are refused. A check takes 25 µs. */
const LOOK_MS = { listening: 250, refusing: 1000 };

const NO_FILES =
  'connections are refused until others are closed: this process can open no more files (raise ulimit -n)';

type Server = Pick<Bun.Server<unknown>, 'port' | 'stop'>;

/** The router's methods for listening. */
interface App {
  listen(options: {
    readonly hostname: string;
    readonly port: number;
    readonly reusePort: boolean;
    readonly idleTimeout: number;
    readonly maxRequestBodySize: number;
  }): unknown;
  /** The server of the last `listen`; null before. */
  readonly server: Server | null;
}

/**
 * Listens on one address, and accepts connections while the process can open files. Without free files the server would retry
 * to accept in a loop and take a whole processor. So it stops listening before that, continues to serve its open connections,
 * and listens again when some are closed.
 */
export class Listener {
  readonly port: number;
  readonly #app: App;
  readonly #options: ListenOptions;
  /** Undefined while connections are refused. */
  #listening: Server | undefined;
  /** Servers that do not listen any more but have connections, each with a promise that settles when these are closed. */
  readonly #leaving = new Map<Server, Promise<void>>();
  #look: NodeJS.Timeout;

  /** Throws 'conflict' when it cannot listen on the address. */
  constructor(app: App, options: ListenOptions) {
    this.#app = app;
    this.#options = options;
    this.#listening = this.#listen(options.port);
    this.port = this.#listening.port ?? options.port;
    this.#look = this.#lookLater();
  }

  /** Accepts no more connections. Settles when the requests under way are answered. */
  async drain(): Promise<void> {
    clearTimeout(this.#look);
    this.#refuse();
    await Promise.all(this.#leaving.values());
  }

  /** Closes all connections, also those with requests under way. */
  stop(): void {
    clearTimeout(this.#look);
    this.#refuse();
    // Not awaited: it settles only when the last connection is closed.
    for (const server of this.#leaving.keys()) void server.stop(true);
  }

  #listen(port: number): Server {
    const { host, idleSeconds, bodyBytesMax = BODY_BYTES_MAX } = this.#options;
    const hooks = process.listenerCount('beforeExit');
    try {
      this.#app.listen({
        hostname: host,
        port,
        // A second server on this port would take half of the requests, and each would count them on its own.
        reusePort: false,
        idleTimeout: idleSeconds,
        maxRequestBodySize: bodyBytesMax,
      });
    } catch (error) {
      throw cannotListen(error, host, port);
    }
    // The router's hook never runs while the server listens, and keeps the server in memory.
    for (const hook of process.listeners('beforeExit').slice(hooks)) process.off('beforeExit', hook);
    return this.#app.server!;
  }

  #refuse(): void {
    const server = this.#listening;
    if (server === undefined) return;
    this.#listening = undefined;
    // Not by the router, which would forget the server: responses under way still ask it for their clients' addresses.
    const stopped = server.stop(false).then(() => void this.#leaving.delete(server));
    this.#leaving.set(server, stopped);
  }

  #lookLater(): NodeJS.Timeout {
    const waitMs = this.#listening === undefined ? LOOK_MS.refusing : LOOK_MS.listening;
    return setTimeout(() => {
      const isFree = areFilesFree();
      if (this.#listening !== undefined && !isFree) {
        this.#options.say(NO_FILES);
        this.#refuse();
      } else if (this.#listening === undefined && isFree) {
        try {
          this.#listening = this.#listen(this.port);
        } catch (error) {
          // Another process took the files or the address. The next check tries again.
          this.#options.say((error as DomainError).message);
        }
      }
      this.#look = this.#lookLater();
    }, waitMs);
  }
}

/** Whether this process may open SPARE_FILES more files. */
function areFilesFree(): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < SPARE_FILES) opened.push(openSync('/dev/null', 'r'));
    return true;
  } catch {
    // EMFILE: this process has too many files open. ENFILE: the whole machine has.
    return false;
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/** Whether only processes of this machine can connect to this host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Names the manual's page about proxies if other machines can connect to `host`. */
export function mentionProxy({ err }: Terminal, host: string): void {
  if (isLoopback(host)) return;
  err(`Other machines may connect to ${host}: 'bookreel manual public' shows how to put a TLS proxy before it.\n`);
}

/** The origin under which clients of this machine reach a service that listens on `host`. */
export function originOf(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens on it',
  EACCES: 'this user may not use that port',
};

function cannotListen(error: unknown, host: string, port: number): DomainError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = REASONS[code] ?? (code || String(error));
  const what = `cannot listen on ${host} port ${port}: ${reason}; choose another with --port or --host`;
  return new DomainError('conflict', what, { cause: error });
}
