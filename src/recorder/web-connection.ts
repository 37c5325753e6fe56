/** An open socket, or one that is opening. */
export interface WebConnection {
  send(text: string): void;
  close(): void;
}

interface ConnectionEvents {
  onOpen(): void;
  onText(text: string): void;
  /** Called once, also if the connection was never opened; not after `close`. `reason`: the end of a sentence. */
  onEnd(reason: string): void;
}

export type Connect = (url: string, events: ConnectionEvents) => WebConnection;

interface WebAnswer {
  readonly status: number;
  text(): Promise<string>;
}

/** A POST if there is a body, which is JSON; else a GET. Rejects if there is no answer. */
export type Ask = (url: string, body?: string) => Promise<WebAnswer>;

const ASK_MS_MAX = 15_000;
/** The venue refuses clients without one. */
const HEADERS = { 'user-agent': 'Mozilla/5.0 (compatible; bookreel)' };

export const connectWebSocket: Connect = (url, { onOpen, onText, onEnd }) => {
  const options: Bun.WebSocketOptions = { headers: HEADERS };
  // The type of the constructor is that of browsers, which has no headers.
  const socket: WebSocket = Reflect.construct(WebSocket, [url, options]);
  let isEnded = false;
  const end = (reason: string) => {
    if (!isEnded) onEnd(reason);
    isEnded = true;
  };
  socket.onopen = onOpen;
  socket.onmessage = ({ data }) => {
    if (typeof data === 'string' && !isEnded) onText(data);
  };
  socket.onerror = () => end('the connection failed');
  socket.onclose = ({ code, reason }) => end(`the venue closed it (${code}${reason === '' ? '' : `, ${reason}`})`);
  return {
    send: (text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
    },
    close: () => {
      isEnded = true;
      socket.close();
    },
  };
};

export const askByFetch: Ask = async (url, body) =>
  await fetch(url, {
    ...(body === undefined ? {} : { method: 'POST', body }),
    headers: { ...HEADERS, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    signal: AbortSignal.timeout(ASK_MS_MAX),
  });
