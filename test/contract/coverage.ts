import { expect, test } from 'bun:test';
import type { Client } from './client.ts';
import { expectedSnapshots, type WireSnapshot } from './oracle.ts';
import { BOOKS, EMPTY, type MarketRecord, MINIMAL, NEAREST, type Outcome, RECORDED, SOL } from './recording.ts';
import { isCoverage } from './resources.ts';
import type { Suite } from './target.ts';

interface CoverageDocument {
  readonly data: {
    readonly resolution: string | null;
    readonly outcomes: readonly Record<string, unknown>[];
    readonly contradictions: number;
    readonly contradictingCount: number;
    readonly contradicting: readonly object[];
    readonly gapCount: number;
    readonly gaps: readonly { readonly from: string; readonly to: string; readonly reason: string }[];
  };
}

/** More of these instants are only counted. */
const CONTRADICTING_MAX = 100;
/** Books further apart do not record the time between them. */
const SILENCE_MS_MAX = 60_000;

const coveragePath = ({ symbol, conditionId }: MarketRecord) => `/v1/${symbol}/markets/${conditionId}/coverage`;
const HAS_GAPS: MarketRecord = { ...MINIMAL, conditionId: `0x${'9a'.repeat(32)}`, slug: 'eth-gaps', symbol: 'eth' };
const ONLY_WINNER: MarketRecord = {
  ...MINIMAL,
  conditionId: `0x${'9e'.repeat(32)}`,
  slug: 'eth-only-winner',
  symbol: 'eth',
};
const CONTRADICTS: MarketRecord = {
  ...MINIMAL,
  conditionId: `0x${'9d'.repeat(32)}`,
  slug: 'eth-contradicts',
  symbol: 'eth',
};

/** The expected answer about one outcome, counted from the served snapshots. */
function expectedOutcome(market: MarketRecord, outcome: Outcome, assetId: unknown): Record<string, unknown> {
  const snapshots = expectedSnapshots(market).filter((snapshot) => snapshot.outcome === outcome);
  const count = (holds: (snapshot: WireSnapshot) => boolean) => snapshots.filter(holds).length;
  const best = (side: WireSnapshot['bids']) => side[0]?.price;
  const [start, end] = [Date.parse(market.startTime), Date.parse(market.endTime)];
  const inside = snapshots.map(({ timestamp }) => Date.parse(timestamp)).filter((at) => at > start && at < end);
  // All windows of the recording have ended, except one that no test reads.
  const edges = [start, ...inside, end];
  const steps = edges.slice(1).map((to, index) => ({ from: edges[index]!, to }));
  const longest = steps.reduce((held, step) => (step.to - step.from > held.to - held.from ? step : held));
  const iso = (ms: number) => new Date(ms).toISOString();
  const times = snapshots.map(({ timestamp }) => Date.parse(timestamp));
  const recordedMs = times.slice(1).map((to, index) => {
    const from = times[index]!;
    return to - from > SILENCE_MS_MAX ? 0 : Math.max(0, Math.min(to, end) - Math.max(from, start));
  });
  const spreads = snapshots.flatMap(({ timestamp, bids, asks }) => {
    if (bids.length === 0 || asks.length === 0) return [];
    const isInside = Date.parse(timestamp) >= start && Date.parse(timestamp) <= end;
    return { isInside, units: Math.round(asks[0]!.price * 1e6) - Math.round(bids[0]!.price * 1e6) };
  });
  const insideFirst = spreads.some(({ isInside }) => isInside) ? spreads.filter(({ isInside }) => isInside) : spreads;
  return {
    outcome,
    assetId,
    mirrored: false,
    count: snapshots.length,
    first: snapshots[0]?.timestamp ?? null,
    last: snapshots.at(-1)?.timestamp ?? null,
    oneSided: count(({ bids, asks }) => (bids.length === 0) !== (asks.length === 0)),
    crossed: count(({ bids, asks }) => (best(bids) ?? -1) >= (best(asks) ?? 2)),
    empty: count(({ bids, asks }) => bids.length === 0 && asks.length === 0),
    placeholder: count(({ bids, asks }) => (best(bids) ?? 2) <= 0.01 && (best(asks) ?? -1) >= 0.99),
    recordedSeconds: recordedMs.reduce((sum, ms) => sum + ms, 0) / 1000,
    widestSpread: insideFirst.length === 0 ? null : Math.max(...insideFirst.map(({ units }) => units)) / 1e6,
    longestSilence: { from: iso(longest.from), to: iso(longest.to), milliseconds: longest.to - longest.from },
  };
}

/** The instants at which the last books of both outcomes are an arbitrage, in units of 0.000001. */
function expectedContradictions(market: MarketRecord): number {
  const snapshots = expectedSnapshots(market);
  const units = (price: number | undefined) => (price === undefined ? Number.NaN : Math.round(price * 1e6));
  const at = [...new Set(snapshots.map(({ timestamp }) => timestamp))];
  return at.filter((instant) => {
    const known = (outcome: Outcome) =>
      snapshots.findLast((snapshot) => snapshot.outcome === outcome && snapshot.timestamp <= instant);
    const [up, down] = [known('up'), known('down')];
    const [bids, asks] = [
      [up?.bids[0], down?.bids[0]].map((level) => units(level?.price)),
      [up?.asks[0], down?.asks[0]].map((level) => units(level?.price)),
    ] as [[number, number], [number, number]];
    // The crossed book of one outcome and its mirror are one book.
    if (bids[0] + asks[1] === 1e6 && asks[0] + bids[1] === 1e6) return false;
    return bids[0] + bids[1] > 1e6 || asks[0] + asks[1] < 1e6;
  }).length;
}

/**
 * The instants of an outcome at which one book's id and that of the next, different one have another book's id between them: a later one's,
 * or the highest of the earlier ones. The recording has its own ids, in any order.
 */
function expectedContradicting(market: MarketRecord, assetIds: Readonly<Record<Outcome, unknown>>): object[] {
  const found = (['up', 'down'] as const).flatMap((outcome) => {
    const snapshots = expectedSnapshots(market).filter((snapshot) => snapshot.outcome === outcome);
    const ids = snapshots.map(({ id }) => Number(id));
    const isSuspect = (at: number) => {
      const [before, present] = [snapshots[at - 1], snapshots[at]!];
      if (before?.timestamp !== present.timestamp) return false;
      if (Bun.deepEquals([before.bids, before.asks], [present.bids, present.asks])) return false;
      const between = (id: number) => ids[at - 1]! < id && id < ids[at]!;
      return between(Math.max(...ids.slice(0, at))) || ids.slice(at + 1).some(between);
    };
    const instants = new Set(snapshots.flatMap(({ timestamp }, at) => (isSuspect(at) ? [timestamp] : [])));
    return [...instants].map((timestamp) => {
      const books = snapshots.filter((snapshot) => snapshot.timestamp === timestamp).length;
      return { assetId: assetIds[outcome], outcome, timestamp, books };
    });
  });
  return found.sort((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp));
}

/** The coverage of a market. */
export function coverageTests(suite: Suite): void {
  const get: Client = (...asked) => suite.client(...asked);

  test.each([
    ['resolved, with books that are one-sided and empty', BOOKS],
    ['with recorded quotes and books', RECORDED],
    ['with books outside its window', NEAREST],
    ['with crossed and placeholder books of one outcome', SOL],
    ['resolved, without any record', EMPTY],
  ])('of a market %s is what its snapshots come to', async (_, market) => {
    const { clobTokenIds } = (await get(coveragePath(market).replace('/coverage', ''))).json<{
      data: { clobTokenIds: string[] };
    }>().data;
    const { data } = (await get(coveragePath(market))).json<CoverageDocument>();
    expect(isCoverage(data)).toBe(true);
    const contradicting = expectedContradicting(market, { up: clobTokenIds[0], down: clobTokenIds[1] });
    expect(data).toMatchObject({
      conditionId: market.conditionId.toLowerCase(),
      slug: market.slug,
      symbol: market.symbol,
      timeframe: market.timeframe,
      startTime: market.startTime,
      endTime: market.endTime,
      resolution: market.resolvedAt == null ? null : 'recorded',
      contradictions: expectedContradictions(market),
      contradictingCount: contradicting.length,
      contradicting: contradicting.slice(0, CONTRADICTING_MAX),
      gapCount: 0,
      gaps: [],
    });
    expect(data.outcomes).toEqual([
      expectedOutcome(market, 'up', clobTokenIds[0]),
      expectedOutcome(market, 'down', clobTokenIds[1]),
    ]);
  });

  test('the recording has books of every counted kind', () => {
    const counted = [BOOKS, SOL].flatMap((market) => [
      expectedOutcome(market, 'up', ''),
      expectedOutcome(market, 'down', ''),
    ]);
    for (const field of ['oneSided', 'crossed', 'empty', 'placeholder', 'recordedSeconds', 'widestSpread']) {
      expect(Math.max(...counted.map((outcome) => Number(outcome[field]))), field).toBeGreaterThan(0);
    }
    expect(Math.max(...[BOOKS, RECORDED, NEAREST, SOL].map(expectedContradictions))).toBeGreaterThan(0);
    const instants = [BOOKS, NEAREST].map((market) => expectedContradicting(market, { up: '', down: '' }).length);
    expect(instants[0]).toBeGreaterThan(50);
    // Its ids are not consecutive, and none of another instant lies between.
    expect(instants[1]).toBe(0);
  });

  test.skipIf(!suite.reach.operated)('names gaps in order, and changes with the next import', async () => {
    const gap = (from: string, to: string, reason: string) => ({
      type: 'gap',
      conditionId: HAS_GAPS.conditionId,
      from,
      to,
      reason,
    });
    const later = gap('2026-04-16T09:00:00.000Z', '2026-04-16T09:00:00.000Z', 'recorder restarted');
    const earlier = gap('2026-04-16T08:00:00.000Z', '2026-04-16T08:30:00.500Z', 'socket closed');
    await suite.target.importRecords([HAS_GAPS, later]);
    const gaps = async () => {
      const { data } = (await get(coveragePath(HAS_GAPS))).json<CoverageDocument>();
      expect(data.gapCount).toBe(data.gaps.length);
      return data.gaps;
    };
    const { from, to, reason } = later;
    expect(await gaps()).toEqual([{ from, to, reason }]);
    await suite.target.importRecords([earlier]);
    expect(await gaps()).toEqual([
      { from: earlier.from, to: earlier.to, reason: earlier.reason },
      { from, to, reason },
    ]);
  });

  test.skipIf(!suite.reach.operated)(
    'says that the time of a resolution is assumed if only the winner is recorded',
    async () => {
      const resolution = async (query = '') =>
        (await get(`${coveragePath(ONLY_WINNER)}${query}`)).json<CoverageDocument>().data.resolution;
      await suite.target.importRecords([{ ...ONLY_WINNER, winner: 'up' }]);
      expect(await resolution()).toBe('assumed');
      // What was known then, no recording says.
      expect(await resolution(`?asOf=${Date.parse(ONLY_WINNER.endTime) + 3_600_000}`)).toBe(null);
      const resolvedMs = Date.parse(ONLY_WINNER.endTime) + 25_000;
      await suite.target.importRecords([
        { ...ONLY_WINNER, winner: 'up', resolvedAt: new Date(resolvedMs).toISOString() },
      ]);
      expect(await resolution()).toBe('recorded');
      expect(await resolution(`?asOf=${resolvedMs}`)).toBe('recorded');
      expect(await resolution(`?asOf=${resolvedMs - 1}`)).toBe(null);
    },
  );

  test.skipIf(!suite.reach.operated)('lists the instants at which imports stored different books', async () => {
    const snapshot = (id: number, timestamp: string, size: number) => ({
      type: 'snapshot',
      id,
      conditionId: CONTRADICTS.conditionId,
      outcome: 'down',
      timestamp,
      bids: [{ price: 0.4, size }],
      asks: [{ price: 0.6, size: 5 }],
    });
    const [first, second] = ['2026-04-16T08:00:00.000Z', '2026-04-16T08:00:01.000Z'];
    await suite.target.importRecords([CONTRADICTS, snapshot(7101, first, 1), snapshot(7102, second, 2)]);
    const listed = async (query = '') => {
      const { data } = (await get(`${coveragePath(CONTRADICTS)}${query}`)).json<CoverageDocument>();
      expect(isCoverage(data)).toBe(true);
      expect(data.contradictingCount).toBe(data.contradicting.length);
      return { data, contradicting: data.contradicting };
    };
    expect((await listed()).contradicting).toEqual([]);
    // A recorded id that is free keeps its place, as in a copy of an archive with such an instant.
    await suite.target.importRecords([snapshot(7103, first, 3)]);
    const { data, contradicting } = await listed();
    const { assetId } = data.outcomes[1]!;
    expect(contradicting).toEqual([{ assetId, outcome: 'down', timestamp: first, books: 2 }]);
    expect((await listed('?asOf=2026-04-16T07:59:59.999Z')).contradicting).toEqual([]);
    expect((await listed(`?asOf=${second}`)).contradicting).toEqual(contradicting);
  });

  test('is the same document for a slug, and with many requests at once', async () => {
    const whole = await get(coveragePath(BOOKS));
    const again = await Promise.all(
      Array.from({ length: 20 }, () => get(`/v1/btc/markets/${BOOKS.slug.toUpperCase()}/coverage/`)),
    );
    for (const reply of again) expect(reply.json<unknown>()).toEqual(whole.json<unknown>());
  });
}
