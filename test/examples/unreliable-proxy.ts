import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The proxy's response to one request. `pass`: the answer of the service; `limited`: 429 with `Retry-After: 1`; `unavailable`: 503
 * without that header; `overloaded`: 502 with a page of HTML, as many proxies send; `hang up`: the connection ends without an
 * answer; `cut off`: it ends in the middle of the service's answer.
 */
export type Behaviour = 'pass' | 'limited' | 'unavailable' | 'overloaded' | 'hang up' | 'cut off';

export const RETRY_AFTER_SECONDS = 1;

interface Seen {
  readonly behaviour: Behaviour;
  readonly target: string;
  readonly atMs: number;
  /** Whether any process of this machine has the client's key among its arguments; false on systems without /proc. */
  readonly keyInArguments: boolean;
}

/** A proxy before a service. It handles the nth request by the nth of `behaviours`, and passes all further requests on. */
export interface UnreliableProxy extends AsyncDisposable {
  readonly origin: string;
  readonly seen: readonly Seen[];
}

export async function startUnreliableProxy(
  service: string,
  behaviours: readonly Behaviour[],
): Promise<UnreliableProxy> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const behaviour = behaviours[seen.length] ?? 'pass';
    const key = request.headers.authorization?.slice('Bearer '.length) ?? '';
    seen.push({ behaviour, target: request.url!, atMs: performance.now(), keyInArguments: isInArguments(key) });
    answer(service, behaviour, request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  service: string,
  behaviour: Behaviour,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  switch (behaviour) {
    case 'limited':
      response.writeHead(429, {
        'retry-after': String(RETRY_AFTER_SECONDS),
        'content-type': 'application/problem+json',
      });
      response.end('{"detail":"too many requests","error":"too many requests"}');
      return;
    case 'unavailable':
      response.writeHead(503, { 'content-type': 'application/problem+json' });
      response.end('{"detail":"try again later","error":"try again later"}');
      return;
    case 'overloaded':
      response.writeHead(502, { 'content-type': 'text/html' });
      response.end('<html>502 Bad Gateway</html>');
      return;
    case 'hang up':
      request.socket.destroy();
      return;
  }
  const { authorization, 'last-event-id': lastEventId } = request.headers;
  const upstream = await fetch(`${service}${request.url}`, {
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }),
      'accept-encoding': request.headers['accept-encoding'] ?? 'identity',
    },
    decompress: false,
  });
  const body = new Uint8Array(await upstream.arrayBuffer());
  response.writeHead(upstream.status, Object.fromEntries(upstream.headers));
  if (behaviour === 'pass') {
    response.end(body);
    return;
  }
  response.write(body.subarray(0, body.length >> 1), () => request.socket.destroy());
}

function isInArguments(key: string): boolean {
  if (process.platform !== 'linux' || key === '') return false;
  return readdirSync('/proc').some((entry) => /^\d+$/.test(entry) && argumentsOf(entry).includes(key));
}

function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    // The process has ended since.
    return '';
  }
}
