import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ROUTES } from '../support/routes.ts';
import {
  anyInstant,
  anyQuestion,
  KNOWN,
  KNOWN_MS,
  later,
  MARKET_PATH,
  mirroredServiceWith,
  nearInstant,
  QUESTIONS,
  serviceWith,
} from './futures.ts';

const anyKnownInstant = fc.oneof(
  anyInstant.filter((ms) => ms <= KNOWN_MS),
  nearInstant.map((ms) => Math.min(ms, KNOWN_MS)),
);

/** latest-instant.slow.test.ts shows that the limits of keys and services have the same effect as `asOf`. */
test('No byte of an answer with asOf depends on later records: no ETag, gaps only once they ended, and no format=segments.', async () => {
  using alone = await serviceWith(KNOWN);
  // One import each, which gives the ids: the later records come first, or last.
  using one = await serviceWith([...later(1), ...KNOWN]);
  using two = await serviceWith([...KNOWN, ...later(2)], later(14).slice(1, 5));
  const answered = new Set<string>();
  await fc.assert(
    fc.asyncProperty(anyQuestion, anyKnownInstant, fc.boolean(), async ({ path, url }, asOfMs, packed) => {
      const accept = packed ? 'application/msgpack' : 'application/json';
      const [known, ...others] = await Promise.all(
        [alone, one, two].map(({ ask }) => ask(`${url}&asOf=${asOfMs}`, { accept })),
      );
      for (const other of others) expect({ url, ...other }).toEqual({ url, ...known! });
      if (known!.status === 200) answered.add(path.replace(/\/\d+$/, '/{ts}'));
    }),
    { seed: 5, numRuns: 500 },
  );
  // Most answers are not refusals.
  expect(answered.size).toBeGreaterThanOrEqual(9);
  expect(
    Object.values(ROUTES).filter(({ path }) => path.startsWith('/v1/{coin}') || path === ROUTES.coins!.path),
  ).toHaveLength(QUESTIONS.length);
}, 120_000);

test('As of an instant before the first recorded book of an outcome, its mirrored books are served.', async () => {
  const isOfDown = (record: object) => 'outcome' in record && record.outcome === 'down';
  const oneSided = KNOWN.filter((record) => !isOfDown(record));
  using alone = await mirroredServiceWith(oneSided);
  using other = await mirroredServiceWith(oneSided, later(1));
  const down = `${MARKET_PATH}/snapshots?outcome=down&limit=1000`;
  const [before, after] = await Promise.all([alone, other].map(({ ask }) => ask(`${down}&asOf=${KNOWN_MS}`)));
  expect(JSON.parse(before!.body).data).toHaveLength(200);
  expect(after).toEqual(before!);
  await fc.assert(
    fc.asyncProperty(anyQuestion, anyKnownInstant, async ({ url }, asOfMs) => {
      const [known, sent] = await Promise.all([alone, other].map(({ ask }) => ask(`${url}&asOf=${asOfMs}`)));
      expect({ url, ...sent! }).toEqual({ url, ...known! });
    }),
    { seed: 8, numRuns: 200 },
  );
}, 120_000);

test('answers without asOf have later records', async () => {
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
