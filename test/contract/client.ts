import { expect } from 'bun:test';
import { ROUTES } from '../support/routes.ts';
import { expectDescribed } from './described.ts';

/** One answer, as bytes and decoded. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly text: string;
  json<T>(): T;
}

interface Asked {
  /** null sends none; left out sends the client's own. */
  readonly key?: string | null;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ProblemDocument {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly error: string;
  readonly requestId: string;
  readonly issues?: readonly { readonly in: string; readonly name: string; readonly message: string }[];
}

/** Internals that no answer may show: SQL, files, stacks, schemas, engines. */
const INTERNAL =
  /sqlite|\bselect\b.*\bfrom\b|\binsert into\b|node_modules|\.ts\b|\.js:\d|bunfs|\/tmp\/|\/dev\/shm\/|\/home\/|\/work\/|\bat \S+ \(|typebox|elysia|undefined|\[object /i;
/** Published files of the sources. Other answers must not contain source paths. */
const PUBLISHED = ROUTES.segmentReader!.path;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const PROBLEM_KEYS = ['type', 'title', 'status', 'detail', 'error', 'requestId'];

export type Client = (path: string, asked?: Asked) => Promise<Reply>;

/**
 * A client of one service. Every answer it gets is compared with what the contract says of all answers. Nothing is
 * decompressed: bytes are the bytes that were sent.
 */
export function clientOf(origin: string, ownKey: string | null = null): Client {
  return async (path, { key = ownKey, method = 'GET', headers = {}, body } = {}) => {
    const authorization: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
    const askedMs = Date.now();
    const response = await fetch(`${origin}${path}`, {
      method,
      headers: { accept: 'application/json', 'accept-encoding': 'identity', ...authorization, ...headers },
      decompress: false,
      redirect: 'manual',
      ...(body === undefined ? {} : { body }),
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const text = new TextDecoder().decode(bytes);
    const reply: Reply = {
      status: response.status,
      headers: response.headers,
      bytes,
      text,
      json: <T>() => JSON.parse(text) as T,
    };
    const what = `${method} ${path.slice(0, 200)}`;
    expectTrueOfEveryAnswer(reply, { method, what, askedMs });
    expectDescribed(reply, method, path, what);
    return reply;
  };
}

/** A problem without the fields that differ between requests. */
export function withoutRequestId(reply: Reply): unknown {
  const { requestId: _, ...rest } = reply.json<ProblemDocument>();
  return rest;
}

interface SentRequest {
  readonly method: string;
  readonly what: string;
  /** When the request was sent. */
  readonly askedMs: number;
}

function expectTrueOfEveryAnswer(reply: Reply, { method, what, askedMs }: SentRequest): void {
  const { status, headers, text } = reply;
  const label = `${what} → ${status} ${text.slice(0, 300)}`;
  expect(headers.get('x-request-id'), label).toMatch(UUID);
  expectAllowance(headers, askedMs, label);
  expect(headers.get('www-authenticate'), label).toBe(status === 401 ? 'Bearer' : null);
  expect(headers.has('retry-after'), label).toBe(status === 429);
  expect(status, label).toBeLessThan(500);
  if (status === 429) {
    const seconds = Number(headers.get('retry-after'));
    expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60, label).toBe(true);
    expect(headers.get('x-ratelimit-remaining'), label).toBe('0');
  }
  if (status === 405) expect(headers.get('allow'), label).toBe('GET, HEAD, OPTIONS');
  if (method === 'HEAD' || status === 204 || status === 304) expect(text, label).toBe('');
  else if (status >= 400) expectProblem(reply, label);
  const isPublished = /html|javascript|text\/(?:markdown|plain)/.test(headers.get('content-type') ?? '');
  if (!isPublished) expect(text.replaceAll(PUBLISHED, ''), label).not.toMatch(INTERNAL);
}

function expectAllowance(headers: Headers, askedMs: number, label: string): void {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) => {
    const value = headers.get(`x-ratelimit-${name}`);
    expect(value, label).toMatch(/^\d+$/);
    return Number(value);
  });
  expect(limit, label).toBeGreaterThanOrEqual(1);
  expect(remaining, label).toBeLessThanOrEqual(limit!);
  // A large answer may take a while, and its window may end before it does.
  expect(reset! >= askedMs / 1000 - 1 && reset! <= Date.now() / 1000 + 61, label).toBe(true);
}

function expectProblem(reply: Reply, label: string): void {
  expect(reply.headers.get('content-type'), label).toBe('application/problem+json');
  const problem = reply.json<ProblemDocument>();
  const keys = problem.issues === undefined ? PROBLEM_KEYS : [...PROBLEM_KEYS, 'issues'];
  expect(Object.keys(problem).sort(), label).toEqual([...keys].sort());
  expect(problem.type, label).toMatch(/^urn:bookreel:problem:[a-z-]+$/);
  expect(problem.status, label).toBe(reply.status);
  expect(problem.error, label).toBe(problem.detail);
  expect(problem.detail.length, label).toBeGreaterThan(10);
  expect(problem.requestId, label).toBe(reply.headers.get('x-request-id')!);
  for (const issue of problem.issues ?? []) {
    expect(Object.keys(issue).sort(), label).toEqual(['in', 'message', 'name']);
    expect(['path', 'query'], label).toContain(issue.in);
  }
}

/** Asks again if the window of the limit ends between the first answer and the last one. */
export async function inOneWindow<
  Answer extends { readonly headers: { get(name: string): string | null | undefined } },
>(ask: () => Promise<readonly Answer[]>): Promise<readonly Answer[]> {
  const answers = await ask();
  const resets = new Set(answers.map(({ headers }) => headers.get('x-ratelimit-reset')));
  return resets.size === 1 ? answers : await ask();
}
