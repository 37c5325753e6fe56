import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { until } from '../fault/served.ts';
import { startChild } from './child.ts';
import { EXECUTABLE } from './executable.ts';
import { messagesIn } from './logged.ts';

/** A server of several processes. */
export interface ProcessServer extends AsyncDisposable {
  readonly origin: string;
  readonly pid: number;
  /** Undefined without metrics. */
  readonly metricsUrl: string | undefined;
  readonly exited: Promise<number>;
  /** The processes that answer requests, those that are replaced too. */
  readonly pids: () => number[];
  readonly messages: () => ReturnType<typeof messagesIn>;
  readonly stderr: () => string;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Settles when another process listens in the place of one that was killed. */
  readonly restarted: (killed: number) => Promise<void>;
}

export async function serveInProcesses(
  data: string,
  processes: number,
  ...args: readonly string[]
): Promise<ProcessServer> {
  const settings = ['--data', data, '--port', '0', '--processes', String(processes), ...args];
  const child = startChild([EXECUTABLE, 'serve', '--json', ...settings]);
  const [, origin] = await child.said(/"address": ?"(https?:\/\/[^"]+)"/);
  const { pid } = child;
  const messages = () => messagesIn(child.stderr());
  const metrics = () =>
    messages()
      .find(({ message }) => message.startsWith('metrics are at '))
      ?.message.slice(15);
  if (args.includes('--metrics-port'))
    await until('it names the address of the metrics', () => metrics() !== undefined);
  const pids = () => childrenOf(pid);
  return {
    origin: origin!,
    pid,
    metricsUrl: metrics(),
    exited: child.exited,
    pids,
    messages,
    stderr: child.stderr,
    kill: child.kill,
    restarted: (killed) =>
      until('the processes are complete again', async () => {
        const now = pids();
        // The system takes its time to end it.
        if (now.length < processes || now.includes(killed)) return false;
        return now.every((each) =>
          socketsOf(each, Number(new URL(origin!).port)).some(({ isListening }) => isListening),
        );
      }),
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

/** The processes that a process has started and that have not ended; none for a process that has ended. */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** The sockets of a process with this port of 127.0.0.1: whether each listens, and the port of its client. */
export function socketsOf(pid: number, port: number): { readonly isListening: boolean; readonly client: number }[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  const directory = `/proc/${pid}/fd`;
  const own = new Set<string>();
  for (const name of existsSync(directory) ? readdirSync(directory) : []) {
    try {
      own.add(readlinkSync(`${directory}/${name}`));
    } catch {
      // It was closed meanwhile.
    }
  }
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([, local = '', remote = '', state, , , , , , inode]) =>
      local.endsWith(`:${wanted}`) && own.has(`socket:[${inode}]`)
        ? [{ isListening: state === '0A', client: Number.parseInt(remote.split(':')[1] ?? '', 16) }]
        : [],
    );
}

/** The files that processes share, as the system shows those that never had a name. */
export function sharedFilesOf(pid: number): string[] {
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
  return maps.flatMap((line) => / (\/\S*\/#\d+) \(deleted\)$/.exec(line)?.[1] ?? []);
}

/** The status of one request on a connection of its own. */
export async function statusOf(url: string, key?: string): Promise<number> {
  const headers = { connection: 'close', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
  const answer = await fetch(url, { headers, keepalive: false, tls: { rejectUnauthorized: false } });
  await answer.arrayBuffer();
  return answer.status;
}
