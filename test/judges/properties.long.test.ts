import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import fc from 'fast-check';
import { createKey } from '../../src/account/account-keys.ts';
import { type Client, clientOf } from '../contract/client.ts';
import { openExecutable } from '../contract/executable-target.ts';
import { openInProcess } from '../contract/in-process-target.ts';
import { AMPLE_RPM, type OpenTarget, type Target } from '../contract/target.ts';
import { startService } from '../http/service.ts';
import { type GeneratedMarket, generatedMarkets, type Outcome, type Placed, recordsOf } from './generated-series.ts';
import { LimiterModel } from './limiter-model.ts';
import { nearestOf, type SeriesQuestion, scanned } from './linear-scan.ts';

/** `make judge` sets a higher number, and its own seed. */
const RUNS = {
  seed: Number(process.env.PROPERTY_SEED ?? 20_260_416),
  numRuns: Number(process.env.PROPERTY_RUNS ?? 100),
};
const MARKETS = generatedMarkets(16, RUNS.seed);
const OUTCOMES = [undefined, 'up', 'down'] as const;
const KINDS = ['snapshots', 'quotes', 'prices'] as const;

setDefaultTimeout(600_000);

interface Page {
  readonly data: readonly { readonly id: string; readonly timestamp: string; readonly outcome: Outcome }[];
  readonly nextCursor: string | null;
}

const placedOf = ({ data }: Page): Placed[] =>
  data.map(({ id, timestamp, outcome }) => ({ timestampMs: Date.parse(timestamp), id: Number(id), outcome }));

/** The time of a record, a millisecond before or after it, or any time. */
function instantOf({ placed }: GeneratedMarket): fc.Arbitrary<number> {
  const anywhere = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
  if (placed.length === 0) return anywhere;
  const nearRecord = fc
    .tuple(fc.constantFrom(...placed), fc.constantFrom(-1, 0, 1))
    .map(([{ timestampMs }, step]) => Math.max(0, timestampMs + step));
  return fc.oneof({ weight: 9, arbitrary: nearRecord }, { weight: 1, arbitrary: anywhere });
}

/** A market's names, and an instant of its window in the spellings that clients may use. */
const nameOf = ({ conditionId, slug }: GeneratedMarket) =>
  fc.constantFrom(conditionId, conditionId.toUpperCase().replace('0X', '0x'), slug, slug.toUpperCase());
const ISO_MAX_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const spelt = (ms: number, asIso: boolean) => (asIso && ms <= ISO_MAX_MS ? new Date(ms).toISOString() : String(ms));

describe.each<[string, OpenTarget]>([
  ['in process', openInProcess],
  ['the executable', openExecutable],
])('%s', (name, open) => {
  let target: Target;
  let get: Client;
  beforeAll(async () => {
    target = await open(recordsOf(MARKETS));
    get = clientOf(target.origin, (await target.makeKey('enterprise', { rpm: AMPLE_RPM })).key);
  });
  afterAll(async () => {
    await target[Symbol.asyncDispose]();
  });

  test('pages by cursor with different limits are the sorted array, cut into pieces', async () => {
    const cases = fc.constantFrom(...MARKETS).chain((market) =>
      fc.record({
        market: fc.constant(market),
        name: nameOf(market),
        kind: fc.constantFrom(...KINDS),
        // Half of the cases do not have it.
        bounds: fc.tuple(fc.option(instantOf(market), { freq: 1 }), fc.option(instantOf(market), { freq: 1 })),
        outcome: fc.constantFrom(...OUTCOMES),
        order: fc.constantFrom('asc', 'desc', undefined),
        // The pages of a walk use these limits in turn.
        limits: fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 41, max: 1000 })), {
          minLength: 1,
          maxLength: 5,
        }),
        asIso: fc.boolean(),
      }),
    );
    await fc.assert(
      fc.asyncProperty(cases, async ({ market, name, kind, bounds: [a, b], outcome, order, limits, asIso }) => {
        const [from, to] = a !== null && b !== null && a > b ? [b, a] : [a, b];
        const question = { from: from ?? undefined, to: to ?? undefined, outcome, order };
        const path = `/v1/btc/markets/${name}/${kind}`;
        const walked = await walk(get, path, question, limits, asIso);
        // Each book's best bid has another size than the one before; the mid is constant, so each outcome has it once.
        if (kind !== 'prices') expect(walked).toEqual(scanned(market.placed, question));
        else expect(walked).toEqual(scanned(firstOfEach(market.placed), question));
      }),
      RUNS,
    );
  });

  test('the nearest records are those of a linear scan', async () => {
    const cases = fc.constantFrom(...MARKETS).chain((market) =>
      fc.record({
        market: fc.constant(market),
        name: nameOf(market),
        atMs: fc.oneof(instantOf(market), between(market)),
        outcome: fc.constantFrom(...OUTCOMES),
        asIso: fc.boolean(),
      }),
    );
    await fc.assert(
      fc.asyncProperty(cases, async ({ market, name, atMs, outcome, asIso }) => {
        const query = outcome === undefined ? '' : `?outcome=${outcome}`;
        const reply = await get(`/v1/btc/markets/${name}/snapshots/at/${spelt(atMs, asIso)}${query}`);
        expect(placedOf(reply.json())).toEqual(nearestOf(market.placed, atMs, outcome));
      }),
      { ...RUNS, numRuns: RUNS.numRuns * 5 },
    );
  });

  test('within a minute each key gets exactly its own limit', async () => {
    const cases = fc.record({
      limits: fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 4 }),
      turns: fc.array(fc.nat(), { maxLength: 30 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ limits, turns }) => {
        const keys = await Promise.all(limits.map((rpm) => target.makeKey('pro', { rpm })));
        const model = new LimiterModel();
        for (const turn of turns) {
          const subject = turn % keys.length;
          const reply = await get('/v1/billing/tiers', { key: keys[subject]!.key });
          const expected = model.ask(String(subject), limits[subject]!, 0);
          expect(reply.status).toBe(expected.allowed ? 200 : 429);
          expect(reply.headers.get('x-ratelimit-limit')).toBe(String(limits[subject]));
          expect(reply.headers.get('x-ratelimit-remaining')).toBe(String(expected.remaining));
        }
      }),
      // Each key takes a command of the executable.
      { ...RUNS, numRuns: Math.ceil(RUNS.numRuns / (name === 'the executable' ? 25 : 1)) },
    );
  });
});

test('over any time, keys and addresses have the limits of the model of fixed windows', async () => {
  await using service = startService();
  const { registry, origin } = service;
  let made = 0;
  const keyOf = (rpm: number) => {
    made += 1;
    const request = { account: `${made}@localhost`, name: undefined, tier: 'pro', requestsPerMinute: rpm };
    return createKey(registry, 0, request).key;
  };
  const step = fc.record({
    waitMs: fc.oneof(fc.constantFrom(0, 1, 59_999, 60_000), fc.nat({ max: 400 }), fc.nat({ max: 90_000 })),
    turn: fc.nat(),
    path: fc.constantFrom('/v1/billing/tiers', '/v1/nothing', '/v1/nosuch/markets', '/v1/btc/markets?limit=0'),
  });
  const cases = fc.record({
    limits: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }),
    steps: fc.array(step, { maxLength: 60 }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ limits, steps }) => {
      const keys = limits.map(keyOf);
      const model = new LimiterModel();
      let nowMs = 0;
      for (const { waitMs, turn, path } of steps) {
        service.passTime(waitMs);
        nowMs += waitMs;
        const subject = turn % keys.length;
        const expected = model.ask(String(subject), limits[subject]!, nowMs);
        const { status, headers } = await fetch(`${origin}${path}`, {
          headers: { authorization: `Bearer ${keys[subject]}` },
        });
        expect(status === 429).toBe(!expected.allowed);
        expect(Number(headers.get('x-ratelimit-remaining'))).toBe(expected.remaining);
        const waitSeconds = Number(headers.get('retry-after') ?? Math.ceil(expected.leftMs / 1000));
        expect(waitSeconds).toBe(Math.ceil(expected.leftMs / 1000));
      }
      // The next run has new keys and windows.
      service.passTime(60_000);
    }),
    RUNS,
  );
});

async function walk(
  get: Client,
  path: string,
  question: SeriesQuestion,
  limits: readonly number[],
  asIso: boolean,
): Promise<Placed[]> {
  const found: Placed[] = [];
  for (let pages = 0, cursor: string | null = null; ; pages += 1) {
    const limit = limits[pages % limits.length]!;
    const query = new URLSearchParams({ limit: String(limit) });
    for (const name of ['from', 'to'] as const) {
      if (question[name] !== undefined) query.set(name, spelt(question[name], asIso));
    }
    for (const name of ['outcome', 'order'] as const) {
      if (question[name] !== undefined) query.set(name, question[name]);
    }
    if (cursor !== null) query.set('cursor', cursor);
    const reply = await get(`${path}?${query}`);
    expect(reply.status, reply.text.slice(0, 300)).toBe(200);
    const page: Page = reply.json();
    found.push(...placedOf(page));
    if (page.nextCursor === null) return found;
    expect(page.data).toHaveLength(limit);
    cursor = page.nextCursor;
  }
}

/** The middle between neighbours, where the earlier one is the nearest. */
function between({ placed }: GeneratedMarket): fc.Arbitrary<number> {
  if (placed.length < 2) return fc.nat();
  return fc
    .tuple(fc.nat({ max: placed.length - 2 }), fc.constantFrom(0, 1))
    .map(([at, more]) => Math.floor((placed[at]!.timestampMs + placed[at + 1]!.timestampMs) / 2) + more);
}

function firstOfEach(placed: readonly Placed[]): Placed[] {
  return placed.filter((record, index) => placed.findIndex(({ outcome }) => outcome === record.outcome) === index);
}
