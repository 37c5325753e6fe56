import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const LOWEST = 10_000;
const TRIES_MAX = 100;

/**
 * A free port of this machine, for programs that need to know it before they listen. It is none of those that the kernel gives
 * to connections and to programs that listen on port 0: they would take it meanwhile.
 */
export async function freePort(): Promise<number> {
  const highest = lowestOfTheKernel() - 1;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const port = LOWEST + Math.floor(Math.random() * (highest - LOWEST));
    if (await isFree(port)) return port;
  }
  throw new Error(`no port from ${LOWEST} to ${highest} is free`);
}

function lowestOfTheKernel(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/)[0]);
  } catch {
    // Of systems other than Linux.
    return 32_768;
  }
}

async function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once('error', () => resolve(false));
  server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  return await promise;
}
