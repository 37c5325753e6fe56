import { DomainError } from '../../domain/errors.ts';
import type { Connection } from '../../replay/connection.ts';
import type { MountedPaths } from '../plugins/mounted-paths.ts';
import { pathOf } from '../request-target.ts';
import type { ResponseSettings } from '../response/response.ts';
import { Slots } from '../v1/slots.ts';

/** Receives a socket's events in order, and none after `closed`. */
export interface SocketSession {
  /** A frame from the client, exactly as it was sent. */
  received(text: string): void;
  /** The client has read all waiting messages. */
  drained(): void;
  closed(): void;
}

/** The part of the router's context that a socket's session needs. */
export interface SocketContext {
  readonly request: Request;
  /** Undefined where the path has none. */
  readonly params: Readonly<Record<string, string | undefined>> | undefined;
}

/** Opens the session of a socket that has just been accepted; undefined: its events are ignored. */
type SessionOpener = (connection: Connection, context: SocketContext) => SocketSession | undefined;

/** The part of the server's sockets that is used here; the router's types lack the last method. */
interface ServerSocket {
  /** -1: some bytes wait; 0: the connection is cut; else the bytes that were sent. */
  sendText(text: string): number;
  cork(work: () => void): unknown;
  close(code: number, reason: string): void;
  getBufferedAmount?(): number;
}

/** A socket as the router gives it to hooks: a new object for each event, around the server's one. */
interface RoutedSocket {
  readonly raw: ServerSocket;
  readonly data: SocketContext;
}

interface OpenSocket {
  session: SocketSession | undefined;
  readonly mayListen: () => boolean;
  readonly release: () => void;
}

/** A frame with the maximum number of assets has 80 kB. */
const FRAME_BYTES_MAX = 512 * 1024;
/** Bytes that may wait for a client; beyond this the connection is closed. Senders here stop long before. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024;
/** A client that answers no ping for this long is disconnected. */
const IDLE_SECONDS = 120;

/** For the router with the `.ws()` routes. Uncompressed: a replay at full speed would be as slow as its compressor. */
export const SOCKET_OPTIONS = {
  maxPayloadLength: FRAME_BYTES_MAX,
  backpressureLimit: WAITING_BYTES_MAX,
  closeOnBackpressureLimit: true,
  idleTimeout: IDLE_SECONDS,
  sendPings: true,
  perMessageDeflate: false,
} as const;

/** RFC 6455, 7.4.1: an unexpected condition, and a client that breaks a rule. */
const INTERNAL_ERROR = 1011;
const POLICY_VIOLATION = 1008;
const ACCESS_CHECK_MS = 1000;
/** A key has at most this part of the sockets, rounded up. */
const KEYS_SHARE = 4;
const WEBSOCKET = 'websocket';

/** Answers a plain GET of a socket's path: throws 'malformed-request'. The router has separate routes for sockets. */
export function refusePlainGet(): never {
  throw new DomainError('malformed-request', 'this path is a WebSocket: connect to it with ws:// or wss://');
}

/** The router finds the routes of sockets by this header in lower case; clients may write it in any (RFC 6455, 4.2.1). */
export function lowerUpgrade({ request: { headers } }: Pick<SocketContext, 'request'>): void {
  const upgrade = headers.get('upgrade');
  if (upgrade !== null && upgrade !== WEBSOCKET && upgrade.toLowerCase() === WEBSOCKET)
    headers.set('upgrade', WEBSOCKET);
}

/**
 * Throws 'not-found' for a request of a socket at a path that has none. Without this it would get the page or the document of that
 * path, and its client would say only that the answer is no socket's.
 */
export function refuseMissingSocket(request: Request, paths: MountedPaths): void {
  const wantsSocket = request.headers.get('upgrade')?.toLowerCase() === WEBSOCKET;
  if (wantsSocket && !paths.hasSocketAt(pathOf(request))) throw missingSocket();
}

export function missingSocket(): DomainError {
  return new DomainError(
    'not-found',
    'there is no WebSocket at this path: /ws/market, /rtds, /ws/btcusdt@trade and /stream are some; see /docs/bots',
  );
}

/** Opens and counts the sockets of a process, and closes them all at once. */
export class Sockets {
  readonly #slots: Slots;
  readonly #logError: (line: string) => void;
  readonly #open = new Map<ServerSocket, OpenSocket>();
  /** Runs while sockets are open. */
  #accessTimer: ReturnType<typeof setInterval> | undefined;

  constructor(socketsMax: number, logError: (line: string) => void) {
    this.#slots = new Slots('sockets', { max: socketsMax, perKeyMax: Math.ceil(socketsMax / KEYS_SHARE) });
    this.#logError = logError;
  }

  get count(): number {
    return this.#open.size;
  }

  /**
   * The hooks of a `.ws()` route. A request is refused as `Slots.take` does while too many sockets are open, and with 'malformed-request'
   * if it cannot become a socket. An error in a session closes its socket with 1011 and is logged. `watch` is called for each new socket.
   * It returns a function that is called every second: if that returns false, the socket is closed with 1008. `keyIdOf`: the id of a
   * request's key; undefined if no key is needed.
   */
  hooks(
    open: SessionOpener,
    watch: (context: SocketContext) => () => boolean = () => () => true,
    keyIdOf: (request: Request) => string | undefined = () => undefined,
  ) {
    const take = ({ request }: SocketContext, headers = {}) => this.#slots.take(keyIdOf(request), headers);
    return {
      // The router calls this right before the server accepts and opens a socket, so no other request comes in between.
      upgrade: (context: SocketContext & { readonly set: ResponseSettings }) => {
        // Given back at once: the request may not become a socket.
        take(context, context.set.headers)();
      },
      open: ({ raw, data }: RoutedSocket) => {
        this.#opened(raw, data, open, () => ({ mayListen: watch(data), release: take(data) }));
      },
      drain: ({ raw }: RoutedSocket) => {
        // The server calls this whenever the client has read a part. If each part allowed another message, more and more
        // bytes would wait.
        if (raw.getBufferedAmount?.() === 0) this.#guarded(raw, () => this.#open.get(raw)?.session?.drained());
      },
      close: ({ raw }: RoutedSocket) => this.#closed(raw),
      // The router has no answer for a request that became a socket, and its own answer for any other.
      afterHandle: (context: SocketContext) => {
        if ('responseValue' in context && context.responseValue !== undefined) refusePlainGet();
      },
    };
  }

  /** Logs the error that a socket was closed for. */
  readonly failed = (error: unknown): void => {
    this.#logError(
      `an error closed a socket: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  };

  /** Closes them all, with a code of RFC 6455. */
  closeAll(code: number, reason: string): void {
    for (const socket of [...this.#open.keys()]) socket.close(code, reason);
  }

  #opened(
    socket: ServerSocket,
    context: SocketContext,
    open: SessionOpener,
    admit: () => Pick<OpenSocket, 'mayListen' | 'release'>,
  ): void {
    this.#accessTimer ??= setInterval(() => this.#closeForbidden(), ACCESS_CHECK_MS);
    this.#guarded(socket, () => {
      const opened: OpenSocket = { session: undefined, ...admit() };
      this.#open.set(socket, opened);
      opened.session = open(connectionOf(socket), context);
      // Not a hook of the router, which parses every message as JSON before its hooks: numbers lose digits, `"PING"` becomes
      // PING, and the text is lost. This replaces the function that parses.
      const message = (_: unknown, text: string | Buffer) =>
        this.#guarded(socket, () => opened.session?.received(String(text)));
      Object.assign(context, { message });
    });
  }

  #closed(socket: ServerSocket): void {
    const closed = this.#open.get(socket);
    this.#open.delete(socket);
    closed?.release();
    if (this.#open.size === 0) {
      clearInterval(this.#accessTimer);
      this.#accessTimer = undefined;
    }
    // The router drops errors of its hooks.
    this.#guarded(socket, () => closed?.session?.closed());
  }

  #closeForbidden(): void {
    for (const [socket, { mayListen }] of [...this.#open]) {
      this.#guarded(socket, () => {
        if (!mayListen()) socket.close(POLICY_VIOLATION, 'the key may not listen to this any more');
      });
    }
  }

  #guarded(socket: ServerSocket, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.failed(error);
      socket.close(INTERNAL_ERROR, 'something went wrong here');
    }
  }
}

function connectionOf(socket: ServerSocket): Connection {
  return {
    send: (text) => socket.sendText(text) > 0,
    together: (work) => void socket.cork(work),
    close: (code, reason) => socket.close(code, reason),
  };
}
