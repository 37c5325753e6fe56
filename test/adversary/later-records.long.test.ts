import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { anyQuestion, KNOWN, KNOWN_MS, later, QUESTIONS } from '../http/futures.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { issueKey, type RunningServer, startServer } from '../support/executable.ts';

setDefaultTimeout(120_000);

const QUESTIONS_ASKED = 300;
const MEDIA_TYPES = ['application/json', 'application/msgpack'] as const;

/** A started executable, with a key that sees nothing after KNOWN_MS and one that sees everything. */
interface Served {
  readonly server: RunningServer;
  readonly limited: string;
  readonly unlimited: string;
}

const directory = temporaryDirectory();
let one: Served;
let two: Served;

/** Imports each part with one command, in this order. */
async function serve(name: string, ...parts: (readonly object[])[]): Promise<Served> {
  const data = join(directory.path, name);
  const recording = join(directory.path, `${name}.ndjson`);
  for (const records of parts) {
    writeFileSync(recording, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    await outputOf(['import', recording, '--data', data]);
  }
  const limits = ['--rpm', '1000000', '--as-of', String(KNOWN_MS)];
  const created = await outputOf(['key', 'create', '--tier', 'enterprise', ...limits, '--json', '--data', data]);
  const { key: limited } = JSON.parse(created) as { key: string };
  return { server: await startServer(data), limited, unlimited: (await issueKey(data)).key };
}

beforeAll(async () => {
  // The import gives the ids: the later records come first in one archive, and with an import of their own in the other one.
  one = await serve('one', [...later(1), ...KNOWN]);
  two = await serve('two', KNOWN, later(2));
});
afterAll(async () => {
  for (const { server } of [one, two]) await server[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

/** The answer, without what differs between two requests. */
async function answer({ server }: Served, key: string, url: string, accept: string) {
  const headers = { authorization: `Bearer ${key}`, accept };
  const response = await fetch(`${server.origin}${url}`, { headers });
  const body = Buffer.from(await response.arrayBuffer()).toString('latin1');
  return {
    status: response.status,
    headers: [...response.headers].filter(([name]) => !/^(?:date|x-request-id|x-ratelimit.*)$/.test(name)),
    body: body.replace(/"requestId":"[^"]*"/, ''),
  };
}

test('A replay has the details of a market from its listing on, and exports with asOf do not have them: later records change no byte.', async () => {
  const statuses = new Set<number>();
  const paths = new Set<string>();
  const ask = fc.asyncProperty(anyQuestion, fc.constantFrom(...MEDIA_TYPES), async ({ path, url }, accept) => {
    const first = await answer(one, one.limited, url, accept);
    expect({ url, ...(await answer(two, two.limited, url, accept)) }).toEqual({ url, ...first });
    statuses.add(first.status);
    if (first.status === 200) paths.add(`${path.replace(/\/\d+$/, '/{ts}')} ${accept}`);
  });
  await fc.assert(ask, { seed: 7, numRuns: QUESTIONS_ASKED });
  expect([...statuses].sort()).toContain(404);
  // Some have no market or price then.
  expect(paths.size).toBeGreaterThanOrEqual(QUESTIONS.length * MEDIA_TYPES.length - 6);
});

test('a key without a limit sees that these archives differ', async () => {
  for (const url of ['/v1/btc/markets', '/v1/btc/prices?order=desc', '/v1/eth/prices']) {
    const first = await answer(one, one.unlimited, url, 'application/json');
    expect(first.status).toBe(200);
    expect((await answer(two, two.unlimited, url, 'application/json')).body).not.toBe(first.body);
  }
});
