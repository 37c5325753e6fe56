import { closeSync, openSync } from 'node:fs';
import { DomainError } from '../domain/errors.ts';
import type { Log } from '../http/plugins/log.ts';
import type { Certificate } from './certificate.ts';
import { connectionsTo, ListeningSockets } from './listening-sockets.ts';

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly idleSeconds: number;
  /** Default: BODY_BYTES_MAX. */
  readonly bodyBytesMax?: number;
  /** Left out: plain HTTP. */
  readonly certificate?: Certificate | undefined;
  /** True: other processes of this server listen on the port too. */
  readonly isShared?: boolean;
  /** Called when it begins and ends to accept connections. */
  readonly onChange?: ((isListening: boolean) => void) | undefined;
  readonly log: Pick<Log, 'error' | 'warn'>;
}

/** Routes that read bodies have smaller bounds, and say so. */
const BODY_BYTES_MAX = 256 * 1024;
/** Connections are accepted only while this number of files can still be opened: responses under way may need some. */
const SPARE_FILES = 8;
/** Time between two checks for free files, while connections are accepted and while they are refused. A check takes 25 µs. */
const LOOK_MS = { listening: 250, refusing: 1000 };

/** Time between two looks whether connections are open; those that were being opened are open by the first. */
const RETIRE_LOOK_MS = 500;
const LOOKS_MIN = 4;

/** A client may send a last request this long after an answer that took as long as connections may be idle. */
const LAST_REQUEST_SECONDS = 5;

const NO_FILES =
  'connections are refused until others are closed: this process can open no more files (raise ulimit -n)';

type Server = Pick<Bun.Server<unknown>, 'port' | 'stop' | 'reload' | 'pendingRequests'>;

/** The router's methods for listening. */
interface App {
  listen(options: {
    readonly hostname: string;
    readonly port: number;
    readonly reusePort: boolean;
    readonly idleTimeout: number;
    readonly maxRequestBodySize: number;
    readonly tls?: Pick<Certificate, 'cert' | 'key'>;
  }): unknown;
  fetch(request: Request): Response | Promise<Response>;
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
  readonly #sockets = new ListeningSockets<Server>();
  #certificate: Certificate | undefined;
  /** Undefined while connections are refused. */
  #listening: Server | undefined;
  /** Servers with an earlier certificate, each with the timer that stops it. They get no new connections. */
  readonly #replaced = new Map<Server, NodeJS.Timeout>();
  /** Servers that do not listen any more but have connections, each with a promise that settles when these are closed. */
  readonly #leaving = new Map<Server, Promise<void>>();
  #look: NodeJS.Timeout;

  /** Throws as `cannotListen` says. */
  constructor(app: App, options: ListenOptions) {
    this.#app = app;
    this.#options = options;
    this.#certificate = options.certificate;
    this.#listening = this.#listen(options.port);
    this.port = this.#listening.port ?? options.port;
    this.#look = this.#lookLater();
  }

  /** Requests without a complete answer. */
  get pendingRequests(): number {
    const listening = this.#listening === undefined ? [] : [this.#listening];
    const servers = [...listening, ...this.#replaced.keys(), ...this.#leaving.keys()];
    return servers.reduce((sum, server) => sum + server.pendingRequests, 0);
  }

  /**
   * Presents this certificate to new connections. Open connections continue with the earlier one: the answer to their next request asks
   * the client to open another. Throws 'conflict' when it cannot listen with it; then everything stays as it was.
   */
  renew(certificate: Certificate): void {
    const [replaced, earlier] = [this.#listening, this.#certificate];
    this.#certificate = certificate;
    // Otherwise it listens with it as soon as files are free.
    if (replaced === undefined) return;
    try {
      this.#listening = this.#listen(this.port);
    } catch (error) {
      this.#certificate = earlier;
      throw error;
    }
    this.#answerLast(replaced);
    const stop = () => this.#stopReplaced(replaced);
    // By then idle connections are closed, but for some that had a stream, and those with a request had their last answer.
    this.#replaced.set(replaced, setTimeout(stop, this.#lastMs()));
    if (this.#sockets.isNewestChosen) return;
    this.#options.log.warn('connections that were opened at this moment may be lost: the system cannot hand them over');
    stop();
  }

  /**
   * Answers the next request of each open connection and then closes it, so that no request is lost on a connection that closes.
   * Settles when no connection is open, or after `waitMs`: by default the longest time that a connection without a stream may be idle.
   */
  async retire(waitMs = this.#lastMs()): Promise<void> {
    if (this.#listening === undefined) return;
    this.#answerLast(this.#listening);
    // Several short waits: a process that got no processor for a while reads between them what has arrived.
    const looks = Math.max(LOOKS_MIN, Math.ceil(waitMs / RETIRE_LOOK_MS));
    for (let look = 0; look < looks; look += 1) {
      await Bun.sleep(waitMs / looks);
      if (connectionsTo(this.port) === 0) return;
    }
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

  #answerLast(server: Server): void {
    server.reload({ ...this.#bounds(), routes: {}, fetch: (request) => this.#lastAnswer(request) });
  }

  /** How long a client may need for its last request. */
  #lastMs(): number {
    return (this.#options.idleSeconds + LAST_REQUEST_SECONDS) * 1000;
  }

  #bounds() {
    const { idleSeconds, bodyBytesMax = BODY_BYTES_MAX } = this.#options;
    return { idleTimeout: idleSeconds, maxRequestBodySize: bodyBytesMax };
  }

  #listen(port: number): Server {
    const { host, isShared = false, onChange } = this.#options;
    const tls = this.#certificate;
    const hooks = process.listenerCount('beforeExit');
    const listen = (at: number) => {
      // Another server on this port would take half of the requests, and each would count them on its own.
      const reusePort = isShared || tls !== undefined;
      const secure = tls === undefined ? {} : { tls: { cert: tls.cert, key: tls.key } };
      this.#app.listen({ hostname: host, port: at, reusePort, ...this.#bounds(), ...secure });
      onChange?.(true);
      return this.#app.server!;
    };
    try {
      if (isShared || tls === undefined) return listen(port);
      // Servers with different certificates share the port: refused here, another program does not share it too.
      const free = this.#listening === undefined ? freePort(host, port) : port;
      return this.#sockets.open(() => listen(free));
    } catch (error) {
      throw cannotListen(error, { host, port, flags: '--port or --host' });
    } finally {
      // The router's hook never runs while the server listens, and keeps the server in memory.
      for (const hook of process.listeners('beforeExit').slice(hooks)) process.off('beforeExit', hook);
    }
  }

  /** Answers a request on a connection with an earlier certificate, and closes the connection. */
  #lastAnswer(request: Request): Response | Promise<Response> {
    const close = (answer: Response) => {
      // A body of unknown length: fetch() of Node would take a part of it for the whole. The request after it gets the header.
      if (answer.body === null || answer.headers.has('content-length')) answer.headers.set('connection', 'close');
      return answer;
    };
    const answer = this.#app.fetch(request);
    return answer instanceof Promise ? answer.then(close) : close(answer);
  }

  #stopReplaced(server: Server): void {
    clearTimeout(this.#replaced.get(server));
    this.#replaced.delete(server);
    this.#sockets.close(server, () => this.#leave(server));
  }

  #refuse(): void {
    for (const server of this.#replaced.keys()) this.#stopReplaced(server);
    const server = this.#listening;
    if (server === undefined) return;
    this.#listening = undefined;
    this.#options.onChange?.(false);
    if (this.#options.isShared === true || this.#certificate === undefined) this.#leave(server);
    else this.#sockets.close(server, () => this.#leave(server));
  }

  #leave(server: Server): void {
    // The router must not stop it: it would forget the server, which responses under way still ask for their clients' addresses.
    const stopped = server.stop(false).then(() => void this.#leaving.delete(server));
    this.#leaving.set(server, stopped);
  }

  #lookLater(): NodeJS.Timeout {
    const waitMs = this.#listening === undefined ? LOOK_MS.refusing : LOOK_MS.listening;
    return setTimeout(() => {
      const isFree = areFilesFree();
      if (this.#listening !== undefined && !isFree) {
        this.#options.log.warn(NO_FILES);
        this.#refuse();
      } else if (this.#listening === undefined && isFree) {
        try {
          this.#listening = this.#listen(this.port);
        } catch (error) {
          // Another process took the files or the address. The next check tries again.
          this.#options.log.error((error as DomainError).message);
        }
      }
      this.#look = this.#lookLater();
    }, waitMs);
  }
}

/** Returns true if this process can open SPARE_FILES more files. */
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

/** The origin under which clients of this machine reach a service that listens on `host`. */
export function originOf(host: string, port: number, isSecure = false): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `${isSecure ? 'https' : 'http'}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** The port, or a free one for 0. Throws if another program listens on it, also if that would share it. */
export function freePort(hostname: string, port: number): number {
  const listener = Bun.listen({ hostname, port, socket: { data: () => undefined } });
  const free = listener.port;
  listener.stop(true);
  return free;
}

const IN_USE = 'EADDRINUSE';
const REASONS: Readonly<Record<string, string>> = {
  [IN_USE]: 'another program listens on it',
  EACCES: 'this user may not use that port',
  EINVAL: 'there is no host of this name',
  ENOTFOUND: 'there is no host of this name',
  EADDRNOTAVAIL: 'this machine does not have that address',
};

/** An address that cannot be listened on. `flags`: those that choose another. */
interface Unusable {
  readonly host: string;
  readonly port: number;
  readonly flags: string;
}

/** 'conflict' while another program uses the address, which may end; else 'invalid-parameter'. */
export function cannotListen(error: unknown, { host, port, flags }: Unusable): DomainError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = REASONS[code] ?? (code || String(error));
  const what = `cannot listen on ${host} port ${port}: ${reason}; choose another with ${flags}`;
  return new DomainError(code === IN_USE ? 'conflict' : 'invalid-parameter', what, { cause: error });
}
