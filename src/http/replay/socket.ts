import type { ServerWebSocket } from 'bun';
import { DomainError } from '../../domain/errors.ts';
import type { Connection } from '../../replay/connection.ts';

/** Takes a socket's events, one after the other, and none after `closed`. */
export interface SocketSession {
  received(text: string): void;
  /** The client has taken what was sent. */
  drained(): void;
  closed(): void;
}

/** Called once a socket is open; undefined: its events are of no interest. */
export type SessionOpener = (connection: Connection) => SocketSession | undefined;

/** The server, as far as a request can become a socket there; null when a request is handled without one. */
interface UpgradingServer {
  upgrade<T>(request: Request, options: { readonly data: T }): boolean;
}

/** What the router's adapter calls for each socket, found in the socket's data (elysia/dist/ws). */
interface SocketData {
  open(socket: ServerWebSocket<SocketData>): void;
  message(socket: ServerWebSocket<SocketData>, message: string | Buffer): void;
  drain(socket: ServerWebSocket<SocketData>): void;
  close(socket: ServerWebSocket<SocketData>): void;
}

/** A frame from a client that names as many assets as it may has 80 kB. */
const FRAME_BYTES_MAX = 512 * 1024;
/**
 * What may wait for a client that does not read when more is to be sent to it: then it is cut off. A well-behaved sender has
 * stopped long before.
 */
const WAITING_BYTES_MAX = 16 * 1024 * 1024;
/** A client that answers no ping for so long has gone. */
const IDLE_SECONDS = 120;

/** For the router that sockets are opened through. Uncompressed: a replay at full speed would be as slow as its compressor. */
export const SOCKET_OPTIONS = {
  maxPayloadLength: FRAME_BYTES_MAX,
  backpressureLimit: WAITING_BYTES_MAX,
  closeOnBackpressureLimit: true,
  idleTimeout: IDLE_SECONDS,
  sendPings: true,
  perMessageDeflate: false,
} as const;

/** RFC 6455, 7.4.1: an unexpected condition, and a peer that may not do what it does. */
const INTERNAL_ERROR = 1011;
const POLICY_VIOLATION = 1008;
const LOOK_MS = 1000;

/** The sockets of a process: opened here, counted, and closed together. */
export class Sockets {
  readonly #socketsMax: number;
  readonly #logError: (line: string) => void;
  /** Each with its `mayListen`. */
  readonly #open = new Map<ServerWebSocket<SocketData>, () => boolean>();
  /** Checks those that are open. */
  #look: ReturnType<typeof setInterval> | undefined;
  /** Accepted, not open yet. */
  #opening = 0;

  constructor(socketsMax: number, logError: (line: string) => void) {
    this.#socketsMax = socketsMax;
    this.#logError = logError;
  }

  get count(): number {
    return this.#open.size;
  }

  /**
   * Makes a socket of a request, whose answer that is. Throws 'malformed-request' for one that does not ask for it, and
   * 'rate-limited' when there are too many. An error in its session closes the socket with 1011 and is logged. `mayListen` is
   * asked every second: once it says no, the socket is closed with 1008.
   */
  readonly upgrade = (
    server: UpgradingServer | null,
    request: Request,
    opener: SessionOpener,
    mayListen = () => true,
  ): undefined => {
    if (this.#open.size + this.#opening >= this.#socketsMax) {
      throw new DomainError('rate-limited', `there are ${this.#socketsMax} sockets already: close one of them first`);
    }
    this.#opening += 1;
    if (server?.upgrade(request, { data: this.#dataOf(opener, mayListen) }) === true) return undefined;
    this.#opening -= 1;
    throw new DomainError('malformed-request', 'this path is a WebSocket: connect to it with ws:// or wss://');
  };

  /** Logs why one is closed that nobody asked to close. */
  readonly failed = (error: unknown): void => {
    this.#logError(`a socket broke off: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  };

  /** Closes them all, with a code of RFC 6455. */
  closeAll(code: number, reason: string): void {
    for (const socket of [...this.#open.keys()]) socket.close(code, reason);
  }

  #dataOf(opener: SessionOpener, mayListen: () => boolean): SocketData {
    let session: SocketSession | undefined;
    return {
      open: (socket) => {
        this.#opening -= 1;
        this.#open.set(socket, mayListen);
        this.#look ??= setInterval(() => this.#closeForbidden(), LOOK_MS);
        this.#guarded(socket, () => {
          session = opener(connectionOf(socket));
        });
      },
      message: (socket, message) => this.#guarded(socket, () => session?.received(String(message))),
      drain: (socket) => {
        // Called whenever a part was taken: what waits would grow if each part let the next message in.
        if (socket.getBufferedAmount() === 0) this.#guarded(socket, () => session?.drained());
      },
      close: (socket) => {
        this.#open.delete(socket);
        if (this.#open.size === 0) {
          clearInterval(this.#look);
          this.#look = undefined;
        }
        session?.closed();
      },
    };
  }

  #closeForbidden(): void {
    for (const [socket, mayListen] of [...this.#open]) {
      this.#guarded(socket, () => {
        if (!mayListen()) socket.close(POLICY_VIOLATION, 'the key may not listen to this any more');
      });
    }
  }

  #guarded(socket: ServerWebSocket<SocketData>, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.failed(error);
      socket.close(INTERNAL_ERROR, 'something went wrong here');
    }
  }
}

function connectionOf(socket: ServerWebSocket<SocketData>): Connection {
  return {
    // -1: some bytes wait; 0: the connection is cut; else the bytes that were sent.
    send: (text) => socket.sendText(text) > 0,
    together: (work) => void socket.cork(work),
    close: (code, reason) => socket.close(code, reason),
  };
}
