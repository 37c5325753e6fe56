import { connect as connectPlain, type Socket } from 'node:net';
import { connect, TLSSocket } from 'node:tls';

/** What clients of a server saw. */
interface Seen {
  /** Complete answers with status 200. */
  answers: number;
  /** Requests that were sent and not answered, and connections that could not be opened. */
  readonly failures: string[];
  /** The own ports of connections that failed, in the same order; 0 for one that was not opened. */
  readonly failedPorts: number[];
  /** Requests that were sent and not answered, on connections that had an answer before. */
  later: number;
  /** Names of the certificates of new connections, each once, in the order of their first use. */
  readonly names: string[];
}

interface Load {
  readonly port: number;
  /** Clients that ask again on the same connection. */
  readonly keeping: number;
  /** Clients that open a connection for each request. */
  readonly opening: number;
  /** True: without TLS. */
  readonly isPlain?: boolean;
}

const AFTER_FAILURE_MS = 50;

/** A connection of one client, which asks again and again until it is told to end, or the server asks it to. */
class Asking {
  readonly ended: Promise<void>;
  readonly #socket: Socket;
  readonly #seen: Seen;
  #received = '';
  #isWaiting = true;
  #answers = 0;
  #isLast: boolean;

  constructor({ port, isPlain = false }: Load, seen: Seen, isOnce: boolean, isStopped: () => boolean) {
    this.#seen = seen;
    this.#isLast = isOnce;
    let ownPort = 0;
    const opened = () => {
      ownPort = this.#socket.localPort ?? 0;
      if (this.#socket instanceof TLSSocket) {
        const { CN: name } = this.#socket.getPeerCertificate().subject;
        if (!seen.names.includes(String(name))) seen.names.push(String(name));
      }
      this.#ask();
    };
    const address = { port, host: '127.0.0.1' };
    this.#socket = isPlain ? connectPlain(address, opened) : connect({ ...address, rejectUnauthorized: false }, opened);
    this.#socket.on('data', (chunk) => this.#take(String(chunk), isStopped));
    const errors: string[] = [];
    this.#socket.on('error', (error) => errors.push(error.message));
    this.ended = new Promise((resolve) => {
      this.#socket.once('close', () => {
        if (this.#isWaiting) {
          seen.failures.push(errors.join() || 'closed without an answer');
          seen.failedPorts.push(ownPort);
          if (this.#answers > 0) seen.later += 1;
        }
        // A process that has just been killed may still accept connections.
        setTimeout(resolve, this.#isWaiting ? AFTER_FAILURE_MS : 0);
      });
    });
  }

  #ask(): void {
    this.#isWaiting = true;
    this.#received = '';
    const connection = this.#isLast ? 'Connection: close\r\n' : '';
    this.#socket.write(`GET /healthz HTTP/1.1\r\nHost: localhost\r\n${connection}\r\n`);
  }

  #take(text: string, isStopped: () => boolean): void {
    this.#received += text;
    const end = this.#received.indexOf('\r\n\r\n');
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(this.#received)?.[1];
    if (end < 0 || length === undefined || this.#received.length < end + 4 + Number(length)) return;
    this.#isWaiting = false;
    this.#answers += 1;
    if (this.#received.startsWith('HTTP/1.1 200 ')) this.#seen.answers += 1;
    else {
      this.#seen.failures.push(this.#received.slice(0, end));
      this.#seen.failedPorts.push(0);
    }
    const isLast = this.#isLast || isStopped() || /\r\nconnection: close\r\n/i.test(this.#received);
    if (isLast) this.#socket.end();
    else setImmediate(() => this.#ask());
  }
}

/** Asks /healthz without a pause. `stop` lets the clients finish their requests. */
export function startClients(load: Load) {
  const { keeping, opening } = load;
  const seen: Seen = { answers: 0, failures: [], failedPorts: [], later: 0, names: [] };
  let isStopped = false;
  const client = async (isOnce: boolean) => {
    while (!isStopped) await new Asking(load, seen, isOnce, () => isStopped).ended;
  };
  const clients = [
    ...Array.from({ length: keeping }, () => client(false)),
    ...Array.from({ length: opening }, () => client(true)),
  ];
  return {
    seen,
    stop: async () => {
      isStopped = true;
      await Promise.all(clients);
    },
  };
}

/** The name of the certificate that a new connection gets. */
export function certificateName(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.once('error', reject);
  });
}
