import { closeSync, openSync } from 'node:fs';
import { DomainError } from '../domain/errors.ts';

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly idleSeconds: number;
  /** Left out: BODY_BYTES_MAX. */
  readonly bodyBytesMax?: number;
  /** Logs, in a line, why connections are refused for a while. */
  readonly say: (line: string) => void;
}

/** Every endpoint only reads: a body has no meaning here. */
const BODY_BYTES_MAX = 64 * 1024;
/** Files that are free as long as connections are taken: the answers under way may need some. */
const SPARE_FILES = 8;
/** Between two checks for free files, which take a fortieth of a millisecond: while connections are taken, and refused. */
const LOOK_MS = { listening: 250, refusing: 1000 };

const NO_FILES = 'connections are refused until some are closed: this process may open no more files (ulimit -n)';

type Server = Pick<Bun.Server<unknown>, 'port' | 'stop'>;

/** The router, as far as listening goes. */
interface App {
  listen(options: {
    readonly hostname: string;
    readonly port: number;
    readonly reusePort: boolean;
    readonly idleTimeout: number;
    readonly maxRequestBodySize: number;
  }): unknown;
  /** The last one that listened; null before. */
  readonly server: Server | null;
}

/**
 * A service on an address of its own, which takes connections as long as files are free. Without any, the server would ask for
 * the next connection again and again, with all the processor time there is: so it stops listening before that, goes on with
 * those connected, and listens again when some have left.
 */
export class Listener {
  readonly port: number;
  readonly #app: App;
  readonly #options: ListenOptions;
  /** Undefined while connections are refused. */
  #listening: Server | undefined;
  /** Those that have stopped listening and still have connections, with what settles when these are closed. */
  readonly #leaving = new Map<Server, Promise<void>>();
  #look: NodeJS.Timeout;

  /** Throws 'conflict' when the address cannot be had. */
  constructor(app: App, options: ListenOptions) {
    this.#app = app;
    this.#options = options;
    this.#listening = this.#listen(options.port);
    this.port = this.#listening.port ?? options.port;
    this.#look = this.#lookLater();
  }

  /** Takes no more connections. Settles when the requests under way are answered. */
  async drain(): Promise<void> {
    clearTimeout(this.#look);
    this.#refuse();
    await Promise.all(this.#leaving.values());
  }

  /** Cuts off what is still open. */
  stop(): void {
    clearTimeout(this.#look);
    this.#refuse();
    // Settles when the last connection is closed, and nobody waits for that any more.
    for (const server of this.#leaving.keys()) void server.stop(true);
  }

  #listen(port: number): Server {
    const { host, idleSeconds, bodyBytesMax = BODY_BYTES_MAX } = this.#options;
    const hooks = process.listenerCount('beforeExit');
    try {
      this.#app.listen({
        hostname: host,
        port,
        // A second server on this port would halve every rate limit without a word.
        reusePort: false,
        idleTimeout: idleSeconds,
        maxRequestBodySize: bodyBytesMax,
      });
    } catch (error) {
      throw cannotListen(error, host, port);
    }
    // The router would stop it when nothing is left to do, which never is so; and keep it until then.
    for (const hook of process.listeners('beforeExit').slice(hooks)) process.off('beforeExit', hook);
    return this.#app.server!;
  }

  #refuse(): void {
    const server = this.#listening;
    if (server === undefined) return;
    this.#listening = undefined;
    // Not by the router, which would forget it at once: answers under way ask it for their clients' addresses.
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
          // The files are gone again, or another program has the address: the next look will show.
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
    // EMFILE, or ENFILE of the whole machine.
    return false;
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/** Whether only this machine can connect to a host of this name. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Where clients of this machine find a service that listens on `host`. */
export function originOf(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there',
  EACCES: 'that is not permitted',
};

function cannotListen(error: unknown, host: string, port: number): DomainError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = REASONS[code] ?? (code || String(error));
  const what = `cannot listen on ${host} port ${port}: ${reason}; choose another with --port or --host`;
  return new DomainError('conflict', what, { cause: error });
}
