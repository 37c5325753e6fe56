import { expect } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Child, startChild } from '../support/child.ts';
import { EXECUTABLE, issueKey, printed } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, LIGHT_START_MS, lightSnapshot, writeLightRecording } from '../support/light-recording.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface ServedOptions {
  /** Directory for the recording. */
  readonly cwd: string;
  /** The data directory; default: `data` in `cwd`. */
  readonly data?: string;
  readonly snapshots?: number;
  /** The key's requests a minute; default: a million. */
  readonly rpm?: number;
  /** A command that replaces itself with the executable; its words come first. */
  readonly under?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The executable, serving the light recording. */
export interface Served extends AsyncDisposable {
  readonly data: string;
  readonly origin: string;
  readonly key: string;
  readonly server: Child;
  readonly snapshots: number;
  ask(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Requests the record at the time of snapshot `index`. */
  nearest(index: number): Promise<Answer>;
  /** Sends SIGTERM, and expects exit code 0. */
  stop(): Promise<void>;
  /** The status of /readyz, and `status` in its body. */
  ready(): Promise<readonly [number, string]>;
}

export const READY = [200, 'ready'] as const;
export const NOT_READY = [503, 'database unavailable'] as const;
/** Internals that no answer may contain. */
const INTERNAL = /sqlite|select |bookreel\.db|-wal|\.ts\b|\/tmp\/|\bat \/|errno|EIO|EMFILE|stack/i;
const SNAPSHOTS = 2000;
const ASK_WITHIN_MS = 120_000;

export async function serveLight(options: ServedOptions): Promise<Served> {
  const { cwd, data = join(cwd, 'data'), snapshots = SNAPSHOTS, rpm = 1_000_000, under = [], args = [] } = options;
  const recording = join(cwd, 'served.ndjson');
  writeLightRecording(recording, snapshots);
  // The disk may be small.
  await printed(['import', recording, '--data', data, '--disk-floor', '0']);
  rmSync(recording);
  const { key } = await issueKey(data, 'enterprise', rpm);
  return await serve({ data, key, snapshots, under, args, env: options.env ?? {} });
}

interface Archived {
  readonly data: string;
  readonly key: string;
  readonly snapshots: number;
  readonly under?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Serves an archive that `serveLight` created. */
export async function serve({ data, key, snapshots, under = [], args = [], env = {} }: Archived): Promise<Served> {
  const command = [...under, EXECUTABLE, 'serve', '--port', '0', '--data', data, ...args];
  const server = startChild(command, { env });
  const [, origin] = await server.said(/ on (http:\/\/\S+) /);
  const ask = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(`${origin}${path}`, {
      headers: { authorization: `Bearer ${key}`, ...headers },
      signal: AbortSignal.timeout(ASK_WITHIN_MS),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return {
    data,
    origin: origin!,
    key,
    server,
    snapshots,
    ask,
    nearest: (index) => ask(`/v1/btc/markets/${LIGHT_CONDITION_ID}/snapshots/at/${LIGHT_START_MS + index * 10}`),
    ready: async () => {
      const { status, text } = await ask('/readyz');
      return [status, (JSON.parse(text) as { status: string }).status];
    },
    stop: async () => {
      server.kill('SIGTERM');
      expect(await server.exited).toBe(0);
    },
    [Symbol.asyncDispose]: async () => await server[Symbol.asyncDispose](),
  };
}

/** Expects of an answer to `nearest(index)` that it is the recorded book, or a 503 that reveals nothing internal. */
export function expectHonest(answer: Answer, index: number): 200 | 503 {
  if (answer.status === 200) {
    expectRecorded(answer, index);
    return 200;
  }
  expectUnavailable(answer);
  return 503;
}

export function expectRecorded({ status, text }: Answer, index: number): void {
  expect({ status, text: status === 200 ? '' : text }).toEqual({ status: 200, text: '' });
  const { data } = JSON.parse(text) as { data: { timestamp: string; bids: unknown; asks: unknown }[] };
  const { timestamp, bids, asks } = lightSnapshot(index);
  expect(data[0]).toMatchObject({ timestamp: new Date(timestamp).toISOString(), bids, asks });
}

export function expectUnavailable({ status, headers, text }: Answer): void {
  expect({ status, text }).toMatchObject({ status: 503 });
  expect(text).not.toMatch(INTERNAL);
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(headers.get('x-ratelimit-limit')).toMatch(/^\d+$/);
  expect(JSON.parse(text)).toMatchObject({ type: 'urn:bookreel:problem:unavailable', status: 503 });
}

const POLL_MS = 20;

/** Waits until `look` returns true. Throws after `withinMs`. */
export async function until(what: string, look: () => boolean | Promise<boolean>, withinMs = 120_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await look())) {
    if (performance.now() > deadline) throw new Error(`waited ${withinMs} ms until ${what}`);
    await Bun.sleep(POLL_MS);
  }
}
