import { Elysia } from 'elysia';
import { SOCKET_OPTIONS, Sockets } from '../../src/http/replay/socket.ts';
import { type TardisDeps, tardisController } from '../../src/http/replay/tardis.ts';
import { Clients } from '../../src/replay/clients.ts';
import { FairQueue } from '../../src/replay/fair-queue.ts';
import type { Archive } from '../../src/store/archive.ts';
import { importPaths, importRecords, temporaryArchive } from '../support/archive.ts';

/** The messages of a socket, and its end. */
export interface SocketRecord {
  readonly messages: string[];
  readonly code: number;
  readonly reason: string;
}

/** tardis-machine's interface over an archive, on a free port. */
export function tardisServer(archive: Archive, deps: Partial<TardisDeps> = {}) {
  const log: string[] = [];
  const sockets = new Sockets(64, (line) => log.push(line));
  const watch = () => () => true;
  const keyIdOf = () => undefined;
  const queue = new FairQueue();
  const waiting = new Set<() => void>();
  const startLater = (start: () => void) => {
    waiting.add(start);
    return () => waiting.delete(start);
  };
  const bounds = { isDraining: () => false, queueOf: () => queue, clients: new Clients(), startLater };
  const clocks = () => ({ monotonicMs: performance.now(), wallMs: Date.now() });
  const logCut = (error: unknown) => log.push(String(error));
  const app = new Elysia({ handler: { standardHostname: false }, websocket: SOCKET_OPTIONS }).use(
    tardisController({ archive, sockets, watch, keyIdOf, clocks, logCut, mirror: () => 'fresh', ...bounds, ...deps }),
  );
  app.listen({ hostname: '127.0.0.1', port: 0, reusePort: false });
  const host = `127.0.0.1:${app.server!.port}`;
  const pathOf = (path: string, options: unknown, rest = '') =>
    `${path}?options=${encodeURIComponent(typeof options === 'string' ? options : JSON.stringify(options))}${rest}`;
  const ask = async (path: string): Promise<Response> => await fetch(`http://${host}${path}`);
  const connect = (path: string) => new WebSocket(`ws://${host}${path}`);
  return {
    host,
    log,
    ask,
    pathOf,
    connect,
    /** The lines of a complete answer. */
    async lines(path: string, options: unknown, rest = ''): Promise<string[]> {
      const answer = await ask(pathOf(path, options, rest));
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`${answer.status}: ${text}`);
      return text === '' ? [] : text.replace(/\n$/, '').split('\n');
    },
    /** Starts the sessions that wait for it, by whatever `startLater` was given. */
    startSessions() {
      for (const start of waiting) start();
      waiting.clear();
    },
    /** Opens a socket, sends `frames`, starts the sessions, and returns everything that it receives. */
    async socket(path: string, ...frames: readonly unknown[]): Promise<SocketRecord> {
      const socket = heard(connect(path), ...frames);
      await socket.answered;
      this.startSessions();
      return await socket.ended;
    },
    async [Symbol.asyncDispose]() {
      await app.stop(true);
    },
  };
}

/** The same over a new archive with these records, or with the recordings at these paths. It is removed with the server. */
export async function filledTardisServer(
  content: readonly object[] | { readonly paths: readonly string[] },
  deps: Partial<TardisDeps> = {},
) {
  const { archive, ...place } = temporaryArchive();
  await ('paths' in content ? importPaths(archive, ...content.paths) : importRecords(archive, content));
  const server = tardisServer(archive, deps);
  return {
    ...server,
    archive,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      place[Symbol.dispose]();
    },
  };
}

export type TardisServer = ReturnType<typeof tardisServer>;

/**
 * Sends `frames` once a socket is open, and records what it receives. `answered`: the server has read all of them, or has closed
 * the socket. `ended`: it is closed.
 */
export function heard(socket: WebSocket, ...frames: readonly unknown[]) {
  const messages: string[] = [];
  const answered = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<SocketRecord>();
  socket.onopen = () => {
    for (const frame of frames) socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
    socket.send('PING');
  };
  let pongs = 1 + frames.filter((frame) => frame === 'PING').length;
  socket.onmessage = ({ data }) => {
    const isLastPong = data === 'PONG' && --pongs === 0;
    if (isLastPong) answered.resolve();
    else messages.push(String(data));
  };
  socket.onclose = ({ code, reason }) => {
    answered.resolve();
    ended.resolve({ messages, code, reason });
  };
  return { answered: answered.promise, ended: ended.promise };
}
