import type { InstantMs } from '../domain/instant.ts';
import { marketAsOf } from '../domain/market-as-of.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import type { RecordedItem } from '../record/record.ts';
import type { SegmentSlice } from '../segment/segment-header.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { type ExportSelection, gapsOf, marketsOf } from './selection.ts';
import type { ExportWriter, SeriesWriter } from './writers/export-writer.ts';

type RecordType = RecordedItem['type'];

/** What an export has written so far. */
export class ExportTally {
  readonly counts: Record<RecordType, number> = {
    market: 0,
    gap: 0,
    snapshot: 0,
    quote: 0,
    price: 0,
    coinPrice: 0,
  };
  /** Of the records that have a timestamp; undefined before the first one. */
  firstMs: InstantMs | undefined;
  lastMs: InstantMs | undefined;

  /** Counts records that ascend from one time to another. */
  count(type: RecordType, count: number, fromMs: InstantMs, toMs: InstantMs): void {
    this.counts[type] += count;
    if (this.firstMs === undefined || fromMs < this.firstMs) this.firstMs = fromMs;
    if (this.lastMs === undefined || toMs > this.lastMs) this.lastMs = toMs;
  }
}

/**
 * Writes an export, in the one order there is: coins by name; of a coin its reference prices, then its markets by
 * (startMs, conditionId); of a market its own record, its gaps, then its recorded records of every kind, ascending by
 * (timestamp, id). Derived quotes and mids are left out: an import derives them again.
 *
 * Pauses whenever `writer.out` holds `writer.stepBytes` or more, behind STEP_CALLS calls of the writer at the latest, and once at
 * the end; whoever steps takes what `out` holds, which may be nothing, and empties it before going on. Everything is read as
 * the steps are taken, a segment of each series at a time.
 */
export function* exportSteps(
  archive: Archive,
  selection: ExportSelection,
  writer: ExportWriter,
  tally: ExportTally,
): Generator<void> {
  const pace = new Pace(writer);
  for (const coin of selection.coins) {
    if (selection.takesCoinPrices) yield* merged(coinSeries(archive, selection, writer, coin), pace, tally);
    for (const market of marketsOf(archive, selection, coin))
      yield* marketSteps(archive, selection, pace, tally, market);
  }
  writer.close();
  yield* pace.rest();
  yield;
}

/** Calls of a writer that a step takes at the most, however little they wrote: some milliseconds of the smallest records. */
const STEP_CALLS = 2048;

/** When an export pauses. */
class Pace {
  readonly writer: ExportWriter;
  #calls = 0;

  constructor(writer: ExportWriter) {
    this.writer = writer;
  }

  /** To stand behind every call of the writer: has it do the rest, and pauses as often as a step is over. */
  *rest(): Generator<void> {
    const { writer } = this;
    do {
      this.#calls += 1;
      if (writer.out.length < writer.stepBytes && this.#calls < STEP_CALLS) continue;
      this.#calls = 0;
      yield;
    } while (writer.goOn());
  }
}

function* marketSteps(
  archive: Archive,
  selection: ExportSelection,
  pace: Pace,
  tally: ExportTally,
  market: StoredMarket,
): Generator<void> {
  const { writer } = pace;
  const gaps = gapsOf(archive, selection, market);
  let gap = gaps.next();
  const lanes = marketSeries(archive, selection, writer, market);
  // A market that was named stays: what reads the export can count on its record.
  const isWanted = !selection.isWindow || selection.markets !== undefined;
  if (!isWanted && gap.done === true && lanes.length === 0) return;
  writer.market(selection.asOfMs === undefined ? market : marketAsOf(market, selection.asOfMs));
  tally.counts.market += 1;
  yield* pace.rest();
  for (; gap.done !== true; gap = gaps.next()) {
    writer.gap(market, gap.value);
    tally.counts.gap += 1;
    yield* pace.rest();
  }
  yield* merged(lanes, pace, tally);
}

/** A series on its way out: where it stands, and who writes it. */
interface Series {
  readonly type: RecordType;
  readonly writer: SeriesWriter;
  readonly slices: Iterator<SegmentSlice>;
  slice: SegmentSlice;
  /** Index of the next record within the slice's segment. */
  next: number;
}

function coinSeries(archive: Archive, { fromMs, toMs }: ExportSelection, writer: ExportWriter, coin: string): Series[] {
  return archive.prices
    .slicesOfCoin(coin, fromMs, toMs)
    .flatMap(({ source, slices }) => seriesOf('coinPrice', slices, () => writer.coinPrices(coin, source)));
}

function marketSeries(
  archive: Archive,
  { fromMs, toMs }: ExportSelection,
  writer: ExportWriter,
  market: StoredMarket,
): Series[] {
  const { snapshots, quotes, prices } = archive;
  return OUTCOMES.flatMap((outcome) => [
    ...seriesOf('snapshot', snapshots.slices(market, outcome, fromMs, toMs), () =>
      writer.snapshots(market, outcome, snapshots.isMirrored(market, outcome)),
    ),
    ...seriesOf('quote', quotes.slices(market, outcome, fromMs, toMs), () => writer.quotes(market, outcome)),
    ...(['mid', 'trade'] as const).flatMap((kind) =>
      seriesOf('price', prices.slices(market, outcome, kind, fromMs, toMs), () => writer.prices(market, outcome, kind)),
    ),
  ]);
}

/** One lane, at its first record; none where there is no record. */
function seriesOf(type: RecordType, slices: Iterable<SegmentSlice>, writerOf: () => SeriesWriter): Series[] {
  const iterator = slices[Symbol.iterator]();
  const first = iterator.next();
  if (first.done === true) return [];
  const writer = writerOf();
  writer.open(first.value);
  return [{ type, writer, slices: iterator, slice: first.value, next: first.value.from }];
}

/** Writes the records of all `lanes` in one order. */
function* merged(lanes: Series[], pace: Pace, tally: ExportTally): Generator<void> {
  const open = [...lanes];
  while (open.length > 0) {
    const lane = leading(open, undefined)!;
    const { slice, writer, type } = lane;
    const { timestamps } = slice.head;
    const end = endOfStretch(lane, leading(open, lane));
    tally.count(type, end - lane.next, timestamps[lane.next]!, timestamps[end - 1]!);
    while (lane.next < end) {
      writer.writeNext();
      lane.next += 1;
      yield* pace.rest();
    }
    if (end === slice.to && !advance(lane)) open.splice(open.indexOf(lane), 1);
  }
}

/** How far the records of `lane`'s slice go until one of `rival` comes; at least its next one does. */
function endOfStretch({ slice, next }: Series, rival: Series | undefined): number {
  if (rival === undefined) return slice.to;
  const { timestamps, ids } = slice.head;
  const rivalMs = rival.slice.head.timestamps[rival.next]!;
  const rivalId = rival.slice.head.ids[rival.next]!;
  let end = next + 1;
  while (end < slice.to && (timestamps[end]! < rivalMs || (timestamps[end] === rivalMs && ids[end]! < rivalId)))
    end += 1;
  return end;
}

/** Moves on to the next slice; false at the end of the series. */
function advance(lane: Series): boolean {
  const following = lane.slices.next();
  if (following.done === true) return false;
  lane.slice = following.value;
  lane.next = following.value.from;
  lane.writer.open(following.value);
  return true;
}

/** The lane with the earliest record, `apart` from one. */
function leading(lanes: readonly Series[], apart: Series | undefined): Series | undefined {
  let found: Series | undefined;
  for (const lane of lanes) if (lane !== apart && (found === undefined || isBefore(lane, found))) found = lane;
  return found;
}

function isBefore(a: Series, b: Series): boolean {
  const aMs = a.slice.head.timestamps[a.next]!;
  const bMs = b.slice.head.timestamps[b.next]!;
  return aMs < bMs || (aMs === bMs && a.slice.head.ids[a.next]! < b.slice.head.ids[b.next]!);
}
