import { connect, type Socket } from 'node:net';
import { startServer } from '../support/executable.ts';
import { residentBytesOf } from './bounds-memory.ts';

const SAMPLE_MS = 20;
/** After this, what a process does not need any more it has given back, as far as it does. */
export const SETTLE_MS = 3000;
export const WARM_UP_PAGES = 100;
const TRICKLE_MS = 250;
const TRICKLES = 12;

/** Bytes resident before, at most meanwhile, and some seconds after. */
export interface Growth {
  readonly before: number;
  readonly peak: number;
  readonly after: number;
}

/** Some clients, each asking for one page after the other. */
export interface Crowd {
  readonly clients: number;
  /** Of all clients together. */
  readonly pages: number;
}

/** What the executable is asked, and by whom. */
interface Asked {
  readonly data: string;
  readonly key: string;
  /** From `/v1` on. */
  readonly paths: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Memory of a fresh executable that a crowd pages through. */
export async function measureCrowd(asked: Asked, { clients, pages }: Crowd): Promise<Growth> {
  await using server = await startServer(asked.data);
  const ask = async (nth: number) => {
    const path = asked.paths[nth % asked.paths.length]!;
    const answer = await fetch(`${server.origin}${path}`, { headers: headersOf(asked), decompress: false });
    if (answer.status !== 200) throw new Error(`${answer.status} for ${path}`);
    await answer.arrayBuffer();
  };
  for (let nth = 0; nth < WARM_UP_PAGES; nth += 1) await ask(nth);
  let next = 0;
  const lane = async () => {
    while (next < pages) await ask(next++);
  };
  return await watched(server.pid, async () => {
    await Promise.all(Array.from({ length: clients }, lane));
  });
}

/** What a reader that takes hardly anything of an answer costs. */
export interface SlowReaders {
  readonly readers: number;
  readonly growth: Growth;
}

/** Memory of a fresh executable whose readers each ask for one answer and take a few kilobytes of it now and then. */
export async function measureSlowReaders(asked: Asked, readers: number): Promise<SlowReaders> {
  await using server = await startServer(asked.data);
  // What the code itself takes is not the readers'.
  for (const path of asked.paths.slice(0, WARM_UP_PAGES)) {
    const answer = await fetch(`${server.origin}${path}`, { headers: headersOf(asked), decompress: false });
    await answer.arrayBuffer();
  }
  const sockets: Socket[] = [];
  try {
    const growth = await watched(server.pid, async () => {
      for (let nth = 0; nth < readers; nth += 1) {
        sockets.push(await slowReader(server.origin, asked, asked.paths[nth % asked.paths.length]!));
      }
      for (let turn = 0; turn < TRICKLES; turn += 1) {
        for (const socket of sockets) await takeOneChunk(socket);
        await Bun.sleep(TRICKLE_MS);
      }
    });
    return { readers, growth };
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** What one reader costs while it is there, in bytes. */
export function costOfReader({ readers, growth }: SlowReaders): number {
  return (growth.after - growth.before) / readers;
}

async function watched(pid: number, work: () => Promise<void>): Promise<Growth> {
  await Bun.sleep(SETTLE_MS);
  const before = residentBytesOf(pid);
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, residentBytesOf(pid));
  }, SAMPLE_MS);
  try {
    await work();
  } finally {
    clearInterval(watch);
  }
  await Bun.sleep(SETTLE_MS);
  return { before, peak, after: residentBytesOf(pid) };
}

function headersOf({ key, headers }: Asked): Record<string, string> {
  return { 'accept-encoding': 'identity', ...headers, authorization: `Bearer ${key}` };
}

/** Asks, waits for the first bytes of the answer, and stops to read. */
async function slowReader(origin: string, asked: Asked, path: string): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port) });
  const lines = Object.entries(headersOf(asked)).map(([name, value]) => `${name}: ${value}\r\n`);
  const first = new Promise<void>((resolve, reject) => {
    socket.once('data', (chunk: Buffer) => {
      socket.pause();
      if (chunk.toString('latin1', 0, 15).startsWith('HTTP/1.1 200 OK')) resolve();
      else reject(new Error(`no answer for ${path}: ${chunk.toString('latin1', 0, 200)}`));
    });
    socket.once('error', reject);
  });
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\n${lines.join('')}\r\n`);
  await first;
  return socket;
}

async function takeOneChunk(socket: Socket): Promise<void> {
  if (socket.destroyed) throw new Error('a slow reader was cut off');
  const taken = new Promise<void>((resolve) => {
    const done = () => {
      socket.pause();
      resolve();
    };
    socket.once('data', done);
    // Whoever has read all there was gets nothing more.
    setTimeout(() => {
      socket.off('data', done);
      done();
    }, SAMPLE_MS);
  });
  socket.resume();
  await taken;
}
