import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ROUTES } from '../../src/http/routes.ts';
import { START_MS } from '../support/sample-records.ts';
import {
  anyInstant,
  anyQuestion,
  KNOWN,
  KNOWN_MS,
  later,
  MARKET_PATH,
  nearInstant,
  QUESTIONS,
  serviceWith,
  type Teller,
} from './futures.ts';

const anyKnownInstant = fc.oneof(
  anyInstant.filter((ms) => ms <= KNOWN_MS),
  nearInstant.map((ms) => Math.min(ms, KNOWN_MS)),
);
/** Few: each is a key that is made and kept. */
const keyInstants = [-90_000_000, -86_400_000, -1, 0, 1, 9999, 10_000, 25_123, 40_000, 55_555, 59_999, 60_000];
const anyBehindMs = fc.option(fc.integer({ min: 0, max: 200_000 }), { nil: undefined });

/** What holds an answer to an instant, and how much later an `asOf` beside it is, which must not matter. */
const anyHold = fc.oneof(
  fc.record({ by: fc.constant('asOf'), asOfMs: anyKnownInstant, behindMs: fc.constant(undefined) }),
  fc.record({
    by: fc.constant('key'),
    asOfMs: fc.constantFrom(...keyInstants.map((ms) => START_MS + ms)),
    behindMs: anyBehindMs,
  }),
  fc.record({
    by: fc.constant('service'),
    asOfMs: anyKnownInstant,
    behindMs: anyBehindMs,
  }),
);

type Hold = typeof anyHold extends fc.Arbitrary<infer T> ? T : never;

async function askHeld(teller: Teller, url: string, accept: string, { by, asOfMs, behindMs }: Hold) {
  const beside = behindMs === undefined ? '' : `&asOf=${asOfMs + behindMs}`;
  if (by === 'asOf') return await teller.ask(`${url}&asOf=${asOfMs}`, { accept });
  if (by === 'key') return await teller.ask(`${url}${beside}`, { accept, keyAsOfMs: asOfMs });
  teller.holdTo(asOfMs);
  const told = await teller.ask(`${url}${beside}`, { accept });
  teller.holdTo(undefined);
  return told;
}

test('no byte of any answer depends on what came later', async () => {
  using alone = await serviceWith(KNOWN);
  using one = await serviceWith(KNOWN, later(1));
  using two = await serviceWith(KNOWN, later(2), later(14).slice(1, 5));
  const statuses = new Set<string>();
  await fc.assert(
    fc.asyncProperty(anyQuestion, anyHold, fc.boolean(), async ({ path, url }, hold, packed) => {
      const accept = packed ? 'application/msgpack' : 'application/json';
      const [known, ...others] = await Promise.all(
        [alone, one, two].map((teller) => askHeld(teller, url, accept, hold)),
      );
      for (const other of others) expect({ url, ...other }).toEqual({ url, ...known! });
      statuses.add(`${hold.by} ${path.replace(/\/\d+$/, '/{ts}')} ${known!.status}`);
    }),
    { seed: 5, numRuns: 3000 },
  );
  // It was not refusals all along.
  for (const by of ['asOf', 'key', 'service']) {
    const answered = [...statuses].filter((status) => status.startsWith(by) && status.endsWith(' 200'));
    expect(answered.length, by).toBeGreaterThanOrEqual(9);
  }
  expect(Object.values(ROUTES).filter(({ path }) => path.startsWith('/v1/{coin}'))).toHaveLength(QUESTIONS.length);
}, 120_000);

test('what came later is in the answers without asOf', async () => {
  using one = await serviceWith(KNOWN, later(1));
  using two = await serviceWith(KNOWN, later(2));
  for (const path of [
    MARKET_PATH,
    `${MARKET_PATH}/snapshots?order=desc`,
    `${MARKET_PATH}/quotes`,
    `${MARKET_PATH}/coverage`,
    '/v1/eth/prices',
  ]) {
    const [first, second] = await Promise.all([one, two].map(({ ask }) => ask(path)));
    expect(first!.body, path).not.toBe(second!.body);
  }
});
