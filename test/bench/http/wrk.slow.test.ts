import { expect, test } from 'bun:test';
import { temporaryDirectory } from '../../support/archive.ts';
import { writeRequests } from './trial.ts';
import { countedOf, runWrk } from './wrk.ts';

const LINE = (failed: number) =>
  `Running 1s test\nload {"answers":500,"failed":${failed},"bytes":1500000,"micros":2000000}\n`;

test('the counts of wrk are read from its last line', () => {
  expect(countedOf(LINE(0))).toEqual({ answers: 500, requestsPerSecond: 250, bytes: 3000 });
});

test('output with a failed answer, or without counts, is refused', () => {
  expect(() => countedOf(LINE(1))).toThrow('1 of 500 requests failed');
  expect(() => countedOf('Running 1s test\n')).toThrow('wrk printed no counts');
});

const withWrk = test.skipIf(Bun.which('wrk') === null);

withWrk('every request is sent in order with its own headers, beginning with the selected one', async () => {
  const seen: string[] = [];
  using server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => {
      seen.push(`${new URL(request.url).pathname} ${request.headers.get('authorization')}`);
      return new Response('x');
    },
  });
  using directory = temporaryDirectory();
  const asks = ['a', 'b', 'c'].map((name) => ({ path: `/${name}`, headers: { authorization: `Bearer ${name}` } }));
  const origin = `http://127.0.0.1:${server.port}`;
  const requests = await writeRequests(directory.path, { name: 'any', origin, asks });
  // This process is the server: a machine that stalls for a second leaves wrk without an answer.
  for (let answers = 0; answers <= 3; ) {
    seen.length = 0;
    ({ answers } = await runWrk({ origin, requests, first: 1, seconds: 1, connections: 1 }));
  }
  // wrk sends one request before it begins to count, to check that the server answers.
  expect(new Set(seen)).toEqual(new Set(['/a Bearer a', '/b Bearer b', '/c Bearer c']));
  const order = seen.slice(0, 6).map((line) => line[1]);
  expect('abcabcabcabc').toContain(order.join(''));
});

withWrk('an error answer fails the run', async () => {
  let answers = 0;
  using server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response('x', { status: ++answers % 10 === 0 ? 429 : 200 }),
  });
  using directory = temporaryDirectory();
  const origin = `http://127.0.0.1:${server.port}`;
  const requests = await writeRequests(directory.path, { name: 'any', origin, asks: [{ path: '/', headers: {} }] });
  await expect(runWrk({ origin, requests, first: 0, seconds: 1, connections: 2 })).rejects.toThrow('requests failed');
});
