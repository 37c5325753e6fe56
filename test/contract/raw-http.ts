import { connect } from 'node:net';

const ANSWER_BYTES_MAX = 1 << 20;
const MOMENT_MS = 2;

/** The received bytes of a socket. */
export interface RawReply {
  /** 0: the connection was closed without an answer. */
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Sends raw bytes, which no HTTP library does, and reads until the server closes or has answered. */
export async function exchange(origin: string, request: string): Promise<RawReply> {
  return parse(await received(origin, [request], (text) => text.length > ANSWER_BYTES_MAX || isWhole(text)));
}

/**
 * Sends bytes as they are, each part a moment after the one before, and reads until the server closes. The server ends it: what
 * it takes for a request that is not yet whole, it waits for.
 */
export async function receivedUntilClosed(origin: string, ...parts: readonly string[]): Promise<string> {
  return await received(origin, parts, () => false);
}

/** The status of every answer that came until the server closed, in their order. */
export async function statusesUntilClosed(origin: string, bytes: string): Promise<readonly number[]> {
  const text = await receivedUntilClosed(origin, bytes);
  return [...text.matchAll(/^HTTP\/1\.[01] (\d{3}) /gm), ...text.matchAll(/[^\n]HTTP\/1\.[01] (\d{3}) /g)].map(
    ([, status]) => Number(status),
  );
}

/** The received bytes, one character per byte, until `enough` or until the server closes. */
async function received(origin: string, parts: readonly string[], enough: (text: string) => boolean): Promise<string> {
  const { hostname, port } = new URL(origin);
  return await new Promise<string>((resolve) => {
    let text = '';
    const socket = connect({ host: hostname, port: Number(port) });
    socket.setEncoding('latin1');
    socket.on('connect', async () => {
      for (const [index, part] of parts.entries()) {
        if (index > 0) await Bun.sleep(MOMENT_MS);
        socket.write(part, 'latin1');
      }
    });
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (enough(text)) socket.destroy();
    });
    // After a reset, the bytes received before it count.
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
  });
}

/** The received part of a body, and the bytes after its end; undefined if the end was not received. */
export function bodyOf({ headers, body }: RawReply): { readonly text: string; readonly rest: string | undefined } {
  const length = headers.get('content-length');
  if (length !== undefined) {
    return {
      text: body.slice(0, Number(length)),
      rest: body.length < Number(length) ? undefined : body.slice(Number(length)),
    };
  }
  let text = '';
  for (let at = 0; ; ) {
    const lineEnd = body.indexOf('\r\n', at);
    if (lineEnd < 0) return { text, rest: undefined };
    const size = Number.parseInt(body.slice(at, lineEnd), 16);
    at = lineEnd + 2 + size + 2;
    text += body.slice(lineEnd + 2, at - 2);
    if (size === 0) return { text, rest: body.slice(at) };
  }
}

/** A request with these headers. */
export function requestOf(target: string, headers: readonly string[], method = 'GET'): string {
  return [`${method} ${target} HTTP/1.1`, ...headers, 'Connection: close', '', ''].join('\r\n');
}

function isWhole(text: string): boolean {
  const { headers, body } = parse(text);
  const length = headers.get('content-length');
  return length !== undefined && body.length >= Number(length);
}

export function parse(text: string): RawReply {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return { status: 0, headers: new Map(), body: '' };
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  return { status: Number(statusLine.split(' ')[1]), headers, body: text.slice(end + 4) };
}
