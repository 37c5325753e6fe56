import { connect } from 'node:net';

/** Between one answer and the next question. */
const PAUSE_MS = 1;

/** Asks a server over and over from a process of its own, so that nothing but the server keeps it waiting. */
export interface Probe extends AsyncDisposable {
  /** The longest wait for an answer while `work` was under way, in milliseconds. */
  longestWait(work: () => Promise<void>): Promise<number>;
}

/** Asks `origin` for its liveness, which needs no key and reads nothing. */
export async function startProbe(origin: string): Promise<Probe> {
  let heard: (longestMs: number) => void = () => undefined;
  const child = Bun.spawn([process.execPath, import.meta.path, origin], {
    stdout: 'inherit',
    stderr: 'inherit',
    ipc: (longestMs: number) => heard(longestMs),
  });
  const ask = async (word: 'begin' | 'end') =>
    await new Promise<number>((resolve) => {
      heard = resolve;
      child.send(word);
    });
  await new Promise<number>((resolve) => {
    heard = resolve;
  });
  return {
    longestWait: async (work) => {
      await ask('begin');
      await work();
      return await ask('end');
    },
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await child.exited;
    },
  };
}

/** Asks until it is killed; answers each word with the longest wait since the one before. */
function probeHere(origin: string): void {
  const { hostname, port } = new URL(origin);
  const request = `GET /healthz HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`;
  let longestMs = 0;
  let askedMs = 0;
  let pending: (() => void) | undefined;
  const socket = connect({ host: hostname, port: Number(port) }, () => {
    process.send!(0);
    ask();
  });
  const ask = () => {
    askedMs = performance.now();
    socket.write(request);
  };
  socket.on('data', () => {
    longestMs = Math.max(longestMs, performance.now() - askedMs);
    pending?.();
    pending = undefined;
    setTimeout(ask, PAUSE_MS);
  });
  process.on('message', () => {
    // The question under way counts: it may be the one that waits.
    pending = () => {
      process.send!(longestMs);
      longestMs = 0;
    };
  });
}

if (import.meta.main) probeHere(process.argv[2]!);
