import type { VenueProxy } from './venue-proxy.ts';
import type { VenueSocket } from './venue-socket.ts';

interface SocketData {
  upstream: VenueSocket | undefined;
}

const ABNORMAL = 'reset';
const GOING_AWAY = 1001;

/** Serves a proxy on a port of this machine, 0 for a free one: `/ws/market`, the CLOB's REST, and Gamma. */
export function listen(proxy: VenueProxy, port = 0) {
  const server = Bun.serve<SocketData>({
    hostname: '127.0.0.1',
    port,
    fetch: async (request, server) => {
      const { pathname, search } = new URL(request.url);
      const isUpgrade = pathname === '/ws/market' && request.headers.get('upgrade') === 'websocket';
      if (isUpgrade && proxy.refusalOf(pathname) === undefined) {
        return server.upgrade(request, { data: { upstream: undefined } })
          ? undefined
          : new Response(null, { status: 400 });
      }
      const body = request.method === 'POST' ? await request.text() : undefined;
      const { status, text } = await proxy.answer(`${pathname}${search}`, body);
      return new Response(text, { status, headers: { 'content-type': 'application/json' } });
    },
    websocket: {
      // The venue's frames are not compressed, and its answer to PING is a text.
      perMessageDeflate: false,
      idleTimeout: 0,
      sendPings: false,
      open: (socket) => {
        const early: string[] = [];
        const upstream = proxy.connect({
          onOpen: () => {
            socket.data.upstream = upstream;
            for (const text of early) upstream.send(text);
          },
          onText: (text) => void socket.send(text),
          onEnd: (reason) => {
            if (reason === ABNORMAL) socket.terminate();
            else socket.close(GOING_AWAY, reason);
          },
        });
        // The client may speak before the connection to the venue is open.
        socket.data.upstream = { send: (text) => void early.push(text), close: () => upstream.close() };
      },
      message: (socket, text) => socket.data.upstream?.send(String(text)),
      close: (socket) => socket.data.upstream?.close(),
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}
