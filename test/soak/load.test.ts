import { afterAll, expect, test } from 'bun:test';
import { Load } from './load.ts';
import type { Ask } from './mix.ts';

let answers = 0;
const server = Bun.serve({
  port: 0,
  fetch: (request) => {
    answers += 1;
    const { pathname } = new URL(request.url);
    const headers: Record<string, string> = { 'x-request-id': '1', 'x-ratelimit-remaining': '5' };
    if (pathname === '/bare') delete headers['x-ratelimit-remaining'];
    const body = pathname === '/changing' ? String(answers) : 'the same';
    return new Response(body, { status: pathname === '/failing' ? 500 : 200, headers });
  },
});
afterAll(() => server.stop(true));

const ask = (path: string): Ask => ({ kind: 'test', path, headers: {}, statuses: [200], fixed: true });
const loadOf = (path: string) => new Load(server.url.origin, () => ask(path));

test('correct answers are counted, and no fault is reported', async () => {
  const load = loadOf('/good');
  expect(await load.fullSpeed(4, 50)).toBeGreaterThan(0);
  const { latenciesMs, faults, statuses } = load.take();
  expect(faults).toEqual([]);
  expect(statuses.get(200)).toBe(latenciesMs.length);
  expect(load.take().latenciesMs).toEqual([]);
});

test.each([
  ['/failing', 'status 500: the same'],
  ['/bare', 'no X-RateLimit-Remaining'],
  ['/changing', 'other bytes than before'],
] as const)('the fault of %s is reported', async (path, what) => {
  const load = loadOf(path);
  for (let i = 0; i < 2; i += 1) await load.ask(ask(path));
  expect(load.take().faults.at(-1)).toEqual({ kind: 'test', path, what });
});

test('without a service every request is a fault', async () => {
  const load = new Load('http://127.0.0.1:1', () => ask('/'));
  await load.ask(ask('/'));
  expect(load.take().faults).toHaveLength(1);
});

test('a paced load sends the requests at its rate, and waits for the last answer', async () => {
  const load = loadOf('/good');
  let left = 40;
  // Every interval of the process is the shortest one, so all requests are due at once.
  await load.paced(
    1000,
    () => 0,
    () => {
      left -= 1;
      return left < 0;
    },
  );
  expect(load.take().latenciesMs.length).toBeGreaterThan(0);
});
