import { DomainError } from '../domain/errors.ts';

/** A service that can be reached. */
export interface Listening {
  readonly port: number;
  /** Lets nobody in any more. Settles when the requests under way are answered. */
  drain(): Promise<void>;
  /** Cuts off what is still open. */
  stop(): void;
}

export interface ListenOptions {
  readonly hostname: string;
  readonly port: number;
  readonly idleSeconds: number;
  /** Left out: BODY_BYTES_MAX. */
  readonly bodyBytesMax?: number;
}

/** Every endpoint only reads: a body has no meaning here. */
const BODY_BYTES_MAX = 64 * 1024;

/** The router, as far as listening goes. */
interface App {
  listen(options: {
    readonly hostname: string;
    readonly port: number;
    readonly reusePort: boolean;
    readonly idleTimeout: number;
    readonly maxRequestBodySize: number;
  }): unknown;
  /** Null until it listens. */
  readonly server: Pick<Bun.Server<unknown>, 'port' | 'stop'> | null;
}

/** The service on an address of its own. Throws what the system says when it cannot be had. */
export function listenDirectly(app: App, options: ListenOptions): Listening {
  const { hostname, port, idleSeconds, bodyBytesMax = BODY_BYTES_MAX } = options;
  app.listen({
    hostname,
    port,
    // A second server on this port would halve every rate limit without a word.
    reusePort: false,
    idleTimeout: idleSeconds,
    maxRequestBodySize: bodyBytesMax,
  });
  // Not by the router, which would forget it at once: answers under way ask it for their clients' addresses.
  const server = app.server!;
  return {
    port: server.port ?? port,
    async drain() {
      await server.stop(false);
    },
    stop() {
      // Settles when the last connection is closed, and nobody waits for that any more.
      void server.stop(true);
    },
  };
}

/** Whether only this machine can connect to a host of this name. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Where clients of this machine find a service that listens on `host`. */
export function originOf(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** What is said where `host` and `port` cannot be had. */
export function cannotListen(error: unknown, { host, port }: { readonly host: string; readonly port: number }): Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason =
    code === 'EADDRINUSE'
      ? 'another program listens there'
      : code === 'EACCES'
        ? 'that is not permitted'
        : code || String(error);
  return new DomainError(
    'conflict',
    `cannot listen on ${host} port ${port}: ${reason}; choose another with --port or --host`,
    {
      cause: error,
    },
  );
}
