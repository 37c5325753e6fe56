import { beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { venueFrames } from '../../../src/import/codecs/venue-frames.ts';
import type { SnapshotPace } from '../../../src/import/rebuild/pace.ts';
import { importPaths, temporaryArchive } from '../../support/archive.ts';
import { booksOf } from '../../support/imported.ts';
import { realRecording } from '../../support/real-recordings.ts';
import { KeepingSink, readAll } from './keeping-sink.ts';
import { type Frame, naiveSnapshots, type Seen, snapshotsOf } from './venue-messages.ts';

const CAPTURE = realRecording('ws-capture-5m');
const SESSIONS = realRecording('sessions-15m');
const BOOKS = 144;
const LATER_BOOKS = 140;
const ENTRIES = 10_514;
const WINDOW_MS = 2000;

interface CapturedMarket {
  readonly slug: string;
  readonly conditionId: string;
  readonly startTs: number;
  readonly endTs: number;
  readonly upTokenId: string;
  readonly downTokenId: string;
}

interface Capture {
  readonly markets: readonly CapturedMarket[];
  readonly frames: readonly Frame[];
}

let capture: Capture;

function loadCapture(directory: string): Capture {
  const { current, next } = JSON.parse(readFileSync(join(directory, 'markets.json'), 'utf8')) as {
    current: CapturedMarket;
    next: CapturedMarket;
  };
  const lines = readFileSync(join(directory, 'market-ws.jsonl'), 'utf8').trimEnd().split('\n');
  const frames = lines.flatMap((line) => {
    const { payload } = JSON.parse(line) as { payload: Frame & (readonly Frame[] | Frame) };
    return Array.isArray(payload) ? (payload as readonly Frame[]) : [payload];
  });
  return { markets: [current, next], frames };
}

/** Reads frames as the lines of a file, and returns the results. */
async function rebuilt(frames: readonly Frame[], every: SnapshotPace = 'change') {
  using place = temporaryArchive();
  const sink = new KeepingSink(place.archive);
  for (const { slug, conditionId, startTs, endTs, upTokenId, downTokenId } of capture.markets) {
    sink.know({
      ...{ slug, conditionId, symbol: 'btc', timeframe: '5m', clobTokenIds: [upTokenId, downTokenId] },
      ...{ startMs: startTs * 1000, endMs: endTs * 1000 },
    });
  }
  const codec = venueFrames();
  await readAll(codec, sink, [frames.map((frame) => JSON.stringify(frame))], every);
  const byAsset = new Map<string, Seen[]>();
  for (const { conditionId, upTokenId, downTokenId } of capture.markets) {
    byAsset.set(upTokenId, snapshotsOf(sink.records, 'up', conditionId));
    byAsset.set(downTokenId, snapshotsOf(sink.records, 'down', conditionId));
  }
  return { sink, byAsset, gaps: sink.recordsOf('gap'), notes: sink.notes() };
}

/** In 2025 a message had `changes` of one asset; before, one change. Both have one asset per message. */
function olderShapes(frame: Frame): { former: Frame[]; flat: Frame[] } {
  if (frame.event_type !== 'price_change') return { former: [frame], flat: [frame] };
  const { market, timestamp, event_type, price_changes } = frame;
  const entries = price_changes as { asset_id: string; price: string; side: string; size: string; hash: string }[];
  const of = (asset_id: string, hash: string) => ({ asset_id, event_type, market, timestamp, hash });
  return {
    former: entries.map(({ asset_id, hash, price, side, size }) => ({
      ...of(asset_id, hash),
      changes: [{ price, side, size }],
    })),
    flat: entries.map(({ asset_id, hash, price, side, size }) => ({ ...of(asset_id, hash), price, side, size })),
  };
}

/** Moves all messages of a timestamp together, by up to this number of places: they are only ordered by arrival. */
function shuffled(frames: readonly Frame[], seed: number, places: number): Frame[] {
  let state = seed + 1;
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
  const moved = [...Map.groupBy(frames, (frame) => Number(frame.timestamp)).values()]
    .map((group, index) => ({ group, place: index + random() * places }))
    .sort((a, b) => a.place - b.place)
    .flatMap(({ group }) => group);
  for (const own of Map.groupBy(moved, (frame) => frame.market).values()) {
    if (latestMs(own) >= WINDOW_MS) throw new Error(`the test shuffles too far: ${latestMs(own)} ms`);
  }
  return moved;
}

/** The maximum time by which a frame arrives after a later one. */
function latestMs(frames: readonly Frame[]): number {
  let newestMs = 0;
  return Math.max(
    ...frames.map((frame) => {
      newestMs = Math.max(newestMs, Number(frame.timestamp));
      return newestMs - Number(frame.timestamp);
    }),
  );
}

describe.skipIf(CAPTURE === undefined)(
  'a real capture of 14 seconds of two markets (skipped where it is absent)',
  () => {
    /** The result of all frames, in their order. */
    let whole: Awaited<ReturnType<typeof rebuilt>>;
    /** The snapshots by brute force. */
    let truth: ReturnType<typeof naiveSnapshots>;
    beforeAll(async () => {
      capture = loadCapture(CAPTURE!);
      whole = await rebuilt(capture.frames);
      truth = naiveSnapshots(capture.frames, 1);
    });

    test('every later recorded book equals the rebuilt one, every hash is verified, and no gap opens', () => {
      const { sink, gaps, notes } = whole;
      expect(notes).toEqual([
        `${LATER_BOOKS} of ${LATER_BOOKS} later recorded books equal the book rebuilt from the changes; ` +
          `${BOOKS} of ${BOOKS} book hashes verified, 0 books damaged; ` +
          '8996 of 8996 checked hashes of changes verified; ' +
          `0 of ${ENTRIES} stated best prices differ from the rebuilt book`,
      ]);
      expect(gaps).toEqual([]);
      expect(sink.openItems()).toEqual([]);
      expect(sink.counts()).toEqual({
        price_change: { read: 5185, rejected: 0 },
        book: { read: 144, rejected: 0 },
        best_bid_ask: { read: 144, rejected: 0 },
        last_trade_price: { read: 71, rejected: 0 },
      });
      expect(sink.recordsOf('price')).toHaveLength(71);
    });

    test('If a level changes twice in a millisecond, the change that a recording has last counts.', () => {
      const { byAsset } = whole;
      expect([...byAsset.values()].flat().length).toBeGreaterThan(9000);
      for (const [asset, snapshots] of byAsset) expect(snapshots).toEqual(truth.get(asset) ?? []);
    });

    test.each([100, 1000, 60_000])(
      'at a pace of %d ms a snapshot is the last state of its interval, at the time of its change',
      async (every) => {
        const { byAsset, sink } = await rebuilt(capture.frames, every);
        const naive = naiveSnapshots(capture.frames, every);
        for (const [asset, snapshots] of byAsset) expect(snapshots).toEqual(naive.get(asset) ?? []);
        expect(sink.openItems()).toEqual([]);
      },
    );

    test('up and down mirror each other: a bid on one is an ask on the other', () => {
      const { byAsset } = whole;
      let compared = 0;
      for (const { upTokenId, downTokenId } of capture.markets) {
        const down = new Map(byAsset.get(downTokenId)!.map((snapshot) => [snapshot.timestampMs, snapshot]));
        for (const { timestampMs, bids, asks } of byAsset.get(upTokenId)!) {
          const other = down.get(timestampMs);
          if (other === undefined) continue;
          const mirrored = (side: Seen['bids']) =>
            side.map(([price, size]) => [(1000 - Math.round(price * 1000)) / 1000, size]);
          expect({ bids: mirrored(other.asks), asks: mirrored(other.bids) }).toEqual({
            bids: [...bids],
            asks: [...asks],
          } as never);
          compared += 1;
        }
      }
      expect(compared).toBeGreaterThan(4000);
    });

    test('messages that arrive in another order within the window make the same snapshots', async () => {
      const { byAsset } = whole;
      await fc.assert(
        fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 300 }), async (seed, places) => {
          const frames = shuffled(capture.frames, seed, places);
          const { byAsset: again, gaps, sink } = await rebuilt(frames);
          expect(gaps).toEqual([]);
          expect(sink.reasons()).toEqual([]);
          expect(again).toEqual(byAsset);
        }),
        { seed: 20_260_421, numRuns: 2 },
      );
    });

    test('after a missing change that the next recorded book reveals no wrong snapshot is stored outside a gap', async () => {
      const indexes = capture.frames.flatMap((frame, index) => (frame.event_type === 'price_change' ? [index] : []));
      let opened = 0;
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...indexes), async (dropped) => {
          const { gaps, byAsset } = await rebuilt(capture.frames.filter((_, index) => index !== dropped));
          const droppedMs = Number(capture.frames[dropped]!.timestamp);
          for (const [asset, snapshots] of byAsset) {
            const wrong = wrongUntilBook(snapshots, truth.get(asset) ?? [], bookTimesOf(asset), droppedMs);
            const isCovered = (ms: number) => gaps.some(({ gap }) => gap.fromMs <= ms && ms <= gap.toMs);
            expect(wrong.filter((ms) => !isCovered(ms))).toEqual([]);
            if (isCovered(droppedMs)) opened += 1;
          }
        }),
        { seed: 7, numRuns: 4 },
      );
      expect(opened).toBeGreaterThan(2);
    });

    test.each(['former', 'flat'] as const)('price changes in the %s shape make the same snapshots', async (shape) => {
      const { byAsset } = whole;
      const again = await rebuilt(capture.frames.flatMap((frame) => olderShapes(frame)[shape]));
      expect(again.byAsset).toEqual(byAsset);
      expect(again.gaps).toEqual([]);
    });

    test('the directory imports as it is, and a second time stores nothing', async () => {
      using place = temporaryArchive();
      const first = await importPaths(place.archive, CAPTURE!);
      const { rejected, gaps } = first.total;
      expect({ rejected, gaps, records: first.records }).toEqual({
        rejected: 0,
        gaps: 0,
        records: { market: 2, price: 71, lastTradePrice: 144, snapshot: 9132 },
      });
      expect(first.total.read).toBe(5544 + 2);
      const again = await importPaths(place.archive, CAPTURE!);
      expect({ stored: again.total.stored, duplicate: again.total.duplicate }).toEqual({ stored: 0, duplicate: 5546 });
      const { slug, upTokenId } = capture.markets[0]!;
      const stored = booksOf(place.archive, slug, 'up').map(({ timestampMs }) => timestampMs);
      expect(stored).toEqual(truth.get(upTokenId)!.map(({ timestampMs }) => timestampMs));
    });
  },
);

function bookTimesOf(asset: string): number[] {
  const books = capture.frames.filter((frame) => frame.event_type === 'book' && frame.asset_id === asset);
  return books.map((frame) => Number(frame.timestamp));
}

/** Times of the wrong snapshots from `fromMs` to the next recorded book; none if the book was right again before it. */
function wrongUntilBook(
  snapshots: readonly Seen[],
  truth: readonly Seen[],
  bookTimes: readonly number[],
  fromMs: number,
): number[] {
  const nextBookMs = Math.min(...bookTimes.filter((timestampMs) => timestampMs >= fromMs));
  const stateAt = (states: readonly Seen[], timestampMs: number) =>
    states.findLast((state) => state.timestampMs <= timestampMs);
  const isWrong = (state: Seen | undefined, other: Seen | undefined) =>
    JSON.stringify([state?.bids, state?.asks]) !== JSON.stringify([other?.bids, other?.asks]);
  const isWrongAt = (timestampMs: number) => isWrong(stateAt(snapshots, timestampMs), stateAt(truth, timestampMs));
  if (nextBookMs === Number.POSITIVE_INFINITY || !isWrongAt(nextBookMs - 1)) return [];
  return snapshots.flatMap(({ timestampMs }) =>
    timestampMs >= fromMs && timestampMs < nextBookMs && isWrongAt(timestampMs) ? [timestampMs] : [],
  );
}

describe.skipIf(SESSIONS === undefined)(
  'real sessions with frames as strings, of several feeds (skipped where they are absent)',
  () => {
    const folders = SESSIONS === undefined ? [] : readdirSync(SESSIONS);

    test.each(folders)('every line of %s is stored, a duplicate, or without a record', async (folder) => {
      using place = temporaryArchive();
      const directory = join(SESSIONS!, folder);
      const report = await importPaths(place.archive, directory);
      const file = report.files.find(({ path }) => path.endsWith('raw_messages.jsonl'))!;
      expect(file.format).toBe('venue frames');
      expect(report.rejections).toEqual([]);
      expect(file.read).toBe(file.stored + file.duplicate + file.contradicted);
      const lines = readFileSync(join(directory, 'raw_messages.jsonl'), 'utf8').trimEnd().split('\n');
      const messages = lines.flatMap(
        (line) => JSON.parse((JSON.parse(line) as { payload: string }).payload) as Frame[],
      );
      expect(file.read + file.ignored).toBe(messages.length);
      expect(file.ignored).toBe(messages.filter(({ type }) => type === 'subscriptions').length);
      expect(report.notes.join()).toMatch(/(\d+) of \1 book hashes verified, 0 books damaged; .*; 0 of /);
    });

    test('a book that changed while nothing was recorded opens a gap', async () => {
      using place = temporaryArchive();
      const report = await importPaths(place.archive, SESSIONS!);
      expect(report.total.gaps).toBe(18);
      const market = place.archive.markets.findBySlug('btc-updown-15m-1777452300')!;
      expect(place.archive.gaps.list(market.key)[0]).toEqual({
        fromMs: 1_777_366_470_133,
        toMs: 1_777_366_911_437,
        reason: 'the book of down changed in 57 levels, and no change was recorded',
      });
      expect((await importPaths(place.archive, SESSIONS!)).total.stored).toBe(0);
    });
  },
);
