import { createServer } from 'node:net';

/** A free port of this machine, for programs that cannot choose one themselves. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await listening;
  const address = server.address();
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  server.close(() => close());
  await closed;
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}
