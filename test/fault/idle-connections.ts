import { connect, type Socket } from 'node:net';

/** Connections that send nothing after their beginning. */
export interface IdleConnections extends Disposable {
  /** Number of connections that the server accepted and has not closed. */
  readonly open: number;
  /** Number of connections that were refused, closed or timed out. */
  readonly lost: number;
}

interface IdleOptions {
  /** Text that each sends at its beginning; default: none. */
  readonly sent?: string;
  /** Connections per address (127.0.1.1, 127.0.1.2 …): each has 28,000 ports on most systems. Default: all from one. */
  readonly perAddress?: number;
}

const AT_ONCE = 200;
const WITHIN_MS = 5000;

/** Opens `count` connections to a server on 127.0.0.1. */
export async function openIdle(
  port: number,
  count: number,
  { sent, perAddress = Number.POSITIVE_INFINITY }: IdleOptions,
): Promise<IdleConnections> {
  const sockets: Socket[] = [];
  let open = 0;
  let lost = 0;
  const one = (index: number) =>
    new Promise<void>((resolve) => {
      const localAddress = `127.0.1.${1 + Math.floor(index / perAddress)}`;
      const socket = connect({ host: '127.0.0.1', port, localAddress });
      let connected = false;
      const waiting = setTimeout(() => socket.destroy(), WITHIN_MS);
      socket.once('connect', () => {
        connected = true;
        open += 1;
        clearTimeout(waiting);
        if (sent !== undefined) socket.write(sent);
        resolve();
      });
      // A socket that does not read does not notice its end.
      socket.resume();
      // 'close' follows each 'error'.
      socket.on('error', () => undefined);
      socket.once('close', () => {
        lost += 1;
        if (connected) open -= 1;
        clearTimeout(waiting);
        resolve();
      });
      sockets.push(socket);
    });
  for (let from = 0; from < count; from += AT_ONCE) {
    const length = Math.min(AT_ONCE, count - from);
    await Promise.all(Array.from({ length }, (_, index) => one(from + index)));
  }
  return {
    get open() {
      return open;
    },
    get lost() {
      return lost;
    },
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}
