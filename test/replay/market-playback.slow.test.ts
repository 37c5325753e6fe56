import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import { OUTCOMES, type Outcome, otherOutcome } from '../../src/domain/outcome.ts';
import { MarketPlayback } from '../../src/replay/market-playback.ts';
import { bookAt, lastTradeAt, MIRROR_MODES, type MirrorMode } from '../../src/replay/market-state.ts';
import { TickSizes } from '../../src/replay/tick-sizes.ts';
import type { LevelChange } from '../../src/venue/level-change.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { CONDITION_ID, START_MS } from '../support/sample-records.ts';
import { FoldedBook } from './folded-book.ts';
import { type Recorded, type RecordingStyle, randomRecording } from './random-recording.ts';

/** Those of the segment in memory come as they were read. */
const SEGMENT_RECORDS_MAX = 128;

const styles: fc.Arbitrary<RecordingStyle> = fc.record({
  outcomes: fc.constantFrom<readonly Outcome[]>(['up'], ['down'], ['up', 'down']),
  count: fc.integer({ min: 1, max: 300 }),
  priceScale: fc.constantFrom(2, 3, 4),
  trades: fc.boolean(),
  gaps: fc.nat(3),
  stepMs: fc.constantFrom(0, 1, 3, 400),
});

/** Up and down are one book: a bid at p is an ask for the other outcome at 1 - p. */
function mirrored({ bidPrices, bidSizes, askPrices, askSizes }: OrderBook): OrderBook {
  const other = (price: number) => Number((1 - price).toFixed(12));
  return { bidPrices: askPrices.map(other), bidSizes: askSizes, askPrices: bidPrices.map(other), askSizes: bidSizes };
}

/**
 * The book of an outcome, found by a scan. 'fresh': the later one of its own latest book and the other outcome's, mirrored, its
 * own of two with one time. 'recorded': its own latest book, else the other's.
 */
function scanned(
  recorded: readonly Recorded[],
  outcome: Outcome,
  atMs: number,
  mode: MirrorMode,
): { timestampMs: number; book: OrderBook } | undefined {
  let own: OrderBook | undefined;
  let other: OrderBook | undefined;
  let ownMs = -1;
  let otherMs = -1;
  for (const record of recorded) {
    if (record.kind !== 'book' || record.timestampMs > atMs) continue;
    if (record.outcome === outcome && record.timestampMs >= ownMs) [own, ownMs] = [record.book, record.timestampMs];
    if (record.outcome !== outcome && record.timestampMs >= otherMs)
      [other, otherMs] = [record.book, record.timestampMs];
  }
  if (own !== undefined && (mode === 'recorded' || ownMs >= otherMs)) return { timestampMs: ownMs, book: own };
  return other === undefined ? undefined : { timestampMs: otherMs, book: mirrored(other) };
}

function scannedTrade(recorded: readonly Recorded[], outcome: Outcome, atMs: number): number | undefined {
  const latest = (of: Outcome) => {
    let found: Extract<Recorded, { kind: 'trade' }> | undefined;
    for (const record of recorded) {
      if (record.kind !== 'trade' || record.outcome !== of || record.timestampMs > atMs) continue;
      if (found === undefined || record.timestampMs >= found.timestampMs) found = record;
    }
    return found;
  };
  const own = latest(outcome);
  const other = latest(otherOutcome(outcome));
  if (own !== undefined && (other === undefined || own.timestampMs >= other.timestampMs)) return own.price;
  return other === undefined ? undefined : Number((1 - other.price).toFixed(12));
}

describe('the playback of a market', () => {
  test('In a replay an outcome has the later of its own book and the other’s, mirrored; in mode recorded the other’s only before its first own.', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        styles,
        fc.double({ min: -0.1, max: 1.1, noNaN: true }),
        fc.constantFrom(...MIRROR_MODES),
        async (seed, style, part, mode) => {
          const { recorded, lines } = randomRecording(seed, style);
          using place = temporaryArchive();
          await importRecords(place.archive, lines);
          const market = place.archive.markets.findByConditionId(CONDITION_ID)!;
          const times = recorded.map(({ timestampMs }) => timestampMs);
          const endMs = Math.max(START_MS, ...times);
          const atMs = Math.round(START_MS + part * (endMs - START_MS));
          const playback = new MarketPlayback(place.archive, new TickSizes(place.archive), market, atMs, mode);
          const held: Partial<Record<Outcome, FoldedBook>> = {};
          const expectState = (instantMs: number) => {
            for (const outcome of OUTCOMES) {
              const book = scanned(recorded, outcome, instantMs, mode);
              for (const known of [
                playback.state(outcome).known,
                bookAt(place.archive, market, outcome, instantMs, mode),
              ]) {
                expect(known?.book).toEqual(book?.book as OrderBook);
                expect(known?.timestampMs).toBe(book?.timestampMs as number);
              }
              expect(held[outcome]?.book()).toEqual(book?.book as OrderBook);
              const trade = scannedTrade(recorded, outcome, instantMs);
              expect(playback.state(outcome).lastTrade?.price).toEqual(trade as number);
              expect(lastTradeAt(place.archive, market, outcome, instantMs)?.price).toEqual(trade as number);
            }
          };
          for (const outcome of OUTCOMES) {
            const { known } = playback.state(outcome);
            if (known !== undefined) held[outcome] = new FoldedBook(known.book);
          }
          expectState(atMs);
          let trades = 0;
          let gaps = 0;
          let lastMs = atMs;
          for (let nextMs = playback.nextMs; nextMs !== undefined; nextMs = playback.nextMs) {
            if (nextMs !== lastMs) expectState(lastMs);
            expect(nextMs).toBeGreaterThan(atMs);
            expect(nextMs).toBeGreaterThanOrEqual(lastMs);
            lastMs = nextMs;
            const event = playback.next();
            expect(event.timestampMs).toBe(nextMs);
            if (event.kind === 'trade') trades += 1;
            if (event.kind === 'gap') gaps += 1;
            if (event.kind !== 'books') continue;
            for (const outcome of OUTCOMES) {
              const change = event[outcome];
              if (change === undefined) continue;
              if (change.before === undefined) held[outcome] = new FoldedBook(change.after);
              else {
                const isChanged = ({ isBid, price, size }: LevelChange) => held[outcome]!.set(isBid, price, size);
                expect(change.changes.filter((each) => !isChanged(each))).toEqual([]);
              }
              expect(held[outcome]!.book()).toEqual(change.after);
            }
          }
          expectState(lastMs);
          const later = (kind: Recorded['kind']) =>
            new Set(
              recorded
                .filter((record) => record.kind === kind && record.timestampMs > atMs)
                .map((record) => JSON.stringify(record)),
            ).size;
          expect(gaps).toBe(later('gap'));
          expect(trades).toBe(later('trade'));
        },
      ),
      { numRuns: 25 },
    );
  });

  test('books that replace mirrored ones during the playback are read from the next segment on', async () => {
    for (const [seed, mode] of [3, 4, 5].flatMap((each) => MIRROR_MODES.map((mode) => [each, mode] as const))) {
      const style = { priceScale: 2, trades: false, gaps: 0, stepMs: 400 };
      const { lines } = randomRecording(seed, { ...style, outcomes: ['up', 'down'], count: 300 });
      const isDown = (line: object) => 'outcome' in line && line.outcome === 'down';
      using place = temporaryArchive();
      const recorded = lines.filter((line) => !isDown(line));
      const { mirrored } = await importRecords(place.archive, recorded, { mirror: true });
      expect(mirrored).toBeGreaterThan(200);
      const market = place.archive.markets.findByConditionId(CONDITION_ID)!;
      const playback = new MarketPlayback(place.archive, new TickSizes(place.archive), market, 0, mode);
      let events = 0;
      for (; playback.nextMs !== undefined; events += 1) {
        if (events === 40) await importRecords(place.archive, [lines[0]!, ...lines.filter(isDown)]);
        const event = playback.next();
        if (event.kind !== 'books' || event.down === undefined) continue;
        const isLast = playback.nextMs !== event.timestampMs;
        if (!isLast || (events >= 40 && events < SEGMENT_RECORDS_MAX)) continue;
        expect(event.down.after).toEqual(bookAt(place.archive, market, 'down', event.timestampMs, mode)!.book);
      }
      expect(events).toBeGreaterThan(400);
    }
  });

  test('Ticks are derived from the books: 0.001 from the first price with three decimals on.', async () => {
    using place = temporaryArchive();
    const snapshot = (ms: number, price: number) => ({
      type: 'snapshot',
      conditionId: CONDITION_ID,
      outcome: 'up',
      timestamp: new Date(START_MS + ms).toISOString(),
      bids: [{ price, size: 5 }],
      asks: [],
    });
    const { lines } = randomRecording(1, { outcomes: [], count: 0, priceScale: 2, trades: false, gaps: 0, stepMs: 1 });
    await importRecords(place.archive, [
      ...lines,
      snapshot(10, 0.97),
      snapshot(20, 0.971),
      snapshot(30, 0.9),
      snapshot(40, 0.9715),
    ]);
    const market = place.archive.markets.findByConditionId(CONDITION_ID)!;
    const ticks = new TickSizes(place.archive);
    expect([0, 19, 20, 30, 39, 40, 99].map((ms) => ticks.at(market, START_MS + ms))).toEqual([
      ...['0.01', '0.01', '0.001', '0.001', '0.001', '0.0001', '0.0001'],
    ]);
    const playback = new MarketPlayback(place.archive, ticks, market, START_MS, 'fresh');
    const sent: string[] = [];
    while (playback.nextMs !== undefined) {
      const event = playback.next();
      sent.push(event.kind === 'tick' ? `${event.change.oldTickSize} > ${event.change.newTickSize}` : event.kind);
    }
    expect(sent).toEqual(['books', '0.01 > 0.001', 'books', 'books', '0.001 > 0.0001', 'books']);
  });
});
