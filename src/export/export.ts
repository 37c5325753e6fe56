import type { InstantMs } from '../domain/instant.ts';
import { marketAsOf } from '../domain/market-as-of.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import type { PriceKind } from '../domain/price.ts';
import { NO_RECORDS, type RecordType } from '../record/record.ts';
import { firstAfter, type SegmentSlice } from '../segment/segment-header.ts';
import type { Archive } from '../store/archive.ts';
import { lastOfBuckets } from '../store/bucket-walk.ts';
import type { StoredMarket } from '../store/markets.ts';
import { type ExportSelection, marketsOf, type Sampling } from './selection.ts';
import { hasRecords } from './table-shape.ts';
import type { ExportWriter, SeriesLabels, SeriesWriter, ValueLabels } from './writers/export-writer.ts';

/** Counts the records that an export has written so far. */
export class ExportTally {
  /** The number of markets of the selection that are complete, also those that were left out. */
  marketsPassed = 0;
  readonly counts = { ...NO_RECORDS };
  /** The first and the last timestamp of the records that have one. */
  firstMs: InstantMs | undefined;
  lastMs: InstantMs | undefined;

  count(type: RecordType, count: number, fromMs: InstantMs, toMs: InstantMs): void {
    this.counts[type] += count;
    if (this.firstMs === undefined || fromMs < this.firstMs) this.firstMs = fromMs;
    if (this.lastMs === undefined || toMs > this.lastMs) this.lastMs = toMs;
  }
}

/**
 * Writes an export. Every export has the same order: coins by name; for each coin its reference prices, then its markets by
 * (startMs, conditionId); for each market its market record, its gaps, then its records of all kinds by (timestamp, id).
 * Derived quotes and mids are left out, since an import derives them again, unless the writer writes one type of records.
 *
 * Yields when `writer.out` has `writer.stepBytes` or more, after STEP_CALLS calls of the writer at the latest, and once at the
 * end. The caller takes the content of `out`, which may be empty, and clears it before the next step. The archive is read
 * step by step, one segment of each series at a time.
 */
export function* exportSteps(
  archive: Archive,
  selection: ExportSelection,
  writer: ExportWriter,
  tally: ExportTally,
): Generator<void> {
  const steps = new StepCounter(writer);
  for (const coin of selection.coins) {
    if (selection.takesCoinPrices) yield* merged(coinSeries(archive, selection, writer, coin), steps, tally);
    for (const market of marketsOf(archive, selection, coin)) {
      yield* marketSteps(archive, selection, steps, tally, market);
      tally.marketsPassed += 1;
    }
  }
  writer.close?.();
  yield* steps.afterCall();
  yield;
}

/** Maximum number of calls of the writer in one step: a few milliseconds with the smallest records. */
const STEP_CALLS = 2048;

/** Counts the calls of the writer, and yields when a step is full. */
class StepCounter {
  readonly writer: ExportWriter;
  #calls = 0;

  constructor(writer: ExportWriter) {
    this.writer = writer;
  }

  /** Call it after every call of the writer. It lets the writer finish its work. */
  *afterCall(): Generator<void> {
    const { writer } = this;
    do {
      this.#calls += 1;
      if (writer.out.length < writer.stepBytes && this.#calls < STEP_CALLS) continue;
      this.#calls = 0;
      yield;
    } while (writer.continueWriting?.() === true);
  }
}

function* marketSteps(
  archive: Archive,
  selection: ExportSelection,
  steps: StepCounter,
  tally: ExportTally,
  market: StoredMarket,
): Generator<void> {
  const { writer } = steps;
  const { fromMs, toMs, asOfMs } = selection;
  const gaps = archive.gaps.within(market.key, fromMs, toMs, asOfMs);
  let gap = gaps.next();
  const series = marketSeries(archive, selection, writer, market);
  // A market that the user named is exported even if it has no records in the window.
  const isWanted = !selection.skipsEmptyMarkets || selection.markets !== undefined;
  const hasGap = gap.done !== true && takes(writer, { type: 'gap' });
  if (!isWanted && !hasGap && series.length === 0) return;
  // The archive does not know when details were first stated.
  if (asOfMs === undefined) writer.market(market, archive.markets.details.of(market.key));
  else writer.market(marketAsOf(market, asOfMs), {});
  if (takes(writer, { type: 'market' })) tally.counts.market += 1;
  yield* steps.afterCall();
  for (; gap.done !== true && takes(writer, { type: 'gap' }); gap = gaps.next()) {
    writer.gap(market, gap.value);
    tally.counts.gap += 1;
    yield* steps.afterCall();
  }
  yield* merged(series, steps, tally);
}

/** The timestamp of a market's first record of a selection that has a table; undefined without any. */
export function firstRecordMs(
  archive: Archive,
  selection: ExportSelection,
  market: StoredMarket,
): InstantMs | undefined {
  const { table } = selection.sampling;
  const sampling = { ...selection.sampling, intervalMs: undefined };
  const probe = { takes: (labels) => hasRecords(table!, labels), series: () => NO_WRITER } satisfies SeriesSource;
  const series = marketSeries(archive, { ...selection, sampling }, probe, market);
  const times = series.map(({ slice: { head, from } }) => head.timestamps[from]!);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** The part of a writer that opens series. */
type SeriesSource = Pick<ExportWriter, 'takes' | 'series'>;
const NO_WRITER: SeriesWriter = { open: () => undefined, writeNext: () => undefined };

interface Series {
  readonly type: RecordType;
  readonly writer: SeriesWriter;
  readonly slices: Iterator<SegmentSlice>;
  slice: SegmentSlice;
  /** Index of the next record within the slice's segment. */
  next: number;
}

function coinSeries(
  archive: Archive,
  { fromMs, toMs, sampling }: ExportSelection,
  writer: ExportWriter,
  coin: string,
): Series[] {
  return archive.prices
    .slicesOfCoin(coin, fromMs, toMs)
    .flatMap(({ source, slices }) =>
      openedSeries(writer, { type: 'coinPrice', symbol: coin, source }, sampled(slices, sampling)),
    );
}

function marketSeries(
  { snapshots, quotes, prices }: Archive,
  { fromMs, toMs, asOfMs, sampling }: ExportSelection,
  writer: SeriesSource,
  market: StoredMarket,
): Series[] {
  const isOfOneType = writer.takes !== undefined;
  const { outcome: only } = sampling;
  return OUTCOMES.filter((outcome) => only === undefined || outcome === only).flatMap((outcome) => {
    const labels = { conditionId: market.conditionId, outcome };
    const recordedFromMs = snapshots.recordedFromMs(market, outcome);
    const booksFrom = (startMs: InstantMs) => sampled(snapshots.slices(market, outcome, startMs, toMs), sampling);
    const mirrored = endingBefore(booksFrom(fromMs), recordedFromMs);
    const values = (of: ValueLabels, slices: Iterable<SegmentSlice>) =>
      openedSeries(writer, of, sampled(slices, sampling));
    return [
      ...openedSeries(writer, { type: 'snapshot', ...labels, mirrored: true }, mirrored),
      ...openedSeries(writer, { type: 'snapshot', ...labels }, booksFrom(Math.max(fromMs, recordedFromMs))),
      ...values(
        { type: 'quote', ...labels },
        isOfOneType
          ? quotes.shownSlices(market, outcome, fromMs, toMs, asOfMs)
          : quotes.slices(market, outcome, fromMs, toMs),
      ),
      ...(['mid', 'trade'] as const).flatMap((kind) =>
        values(
          { type: 'price', ...labels, kind },
          isOfOneType && kind === 'mid'
            ? prices.shownMids(market, outcome, fromMs, toMs, asOfMs)
            : prices.slices(market, outcome, kind, fromMs, toMs),
        ),
      ),
      ...values({ type: 'lastTradePrice', ...labels }, prices.slices(market, outcome, 'last-trade', fromMs, toMs)),
    ];
  });
}

function takes(writer: SeriesSource, labels: { readonly type: RecordType; readonly kind?: PriceKind }): boolean {
  return writer.takes?.(labels) ?? true;
}

function sampled(slices: Iterable<SegmentSlice>, { intervalMs }: Sampling): Iterable<SegmentSlice> {
  return intervalMs === undefined ? slices : lastOfBuckets(slices, intervalMs);
}

/** The records of ascending slices that are earlier than `endMs`. Sampling comes first: a bucket may span `endMs`. */
function* endingBefore(slices: Iterable<SegmentSlice>, endMs: InstantMs): Generator<SegmentSlice> {
  for (const slice of slices) {
    const to = Math.min(slice.to, firstAfter(slice.head, { timestampMs: endMs, id: -1 }));
    if (to > slice.from) yield { ...slice, to };
    if (to < slice.to) return;
  }
}

/** One series at its first record; none if the series has no records. */
function openedSeries(writer: SeriesSource, labels: SeriesLabels, slices: Iterable<SegmentSlice>): Series[] {
  if (!takes(writer, labels)) return [];
  const iterator = slices[Symbol.iterator]();
  const first = iterator.next();
  if (first.done === true) return [];
  const seriesWriter = writer.series(labels);
  seriesWriter.open(first.value);
  return [{ type: labels.type, writer: seriesWriter, slices: iterator, slice: first.value, next: first.value.from }];
}

/** Writes the records of all series in the order of (timestamp, id). */
function* merged(series: readonly Series[], steps: StepCounter, tally: ExportTally): Generator<void> {
  const open = [...series];
  while (open.length > 0) {
    const first = earliest(open, undefined)!;
    const { slice, writer, type } = first;
    const { timestamps } = slice.head;
    const end = endBefore(first, earliest(open, first));
    tally.count(type, end - first.next, timestamps[first.next]!, timestamps[end - 1]!);
    while (first.next < end) {
      writer.writeNext();
      first.next += 1;
      yield* steps.afterCall();
    }
    if (end === slice.to && !advance(first)) open.splice(open.indexOf(first), 1);
  }
}

/** The end (exclusive) of the slice's records that come before the next record of `rival`: at least one record. */
function endBefore({ slice, next }: Series, rival: Series | undefined): number {
  if (rival === undefined) return slice.to;
  const { timestamps, ids } = slice.head;
  const rivalMs = rival.slice.head.timestamps[rival.next]!;
  const rivalId = rival.slice.head.ids[rival.next]!;
  let end = next + 1;
  while (end < slice.to && (timestamps[end]! < rivalMs || (timestamps[end] === rivalMs && ids[end]! < rivalId)))
    end += 1;
  return end;
}

/** Goes to the next slice; false at the end of the series. */
function advance(series: Series): boolean {
  const following = series.slices.next();
  if (following.done === true) return false;
  series.slice = following.value;
  series.next = following.value.from;
  series.writer.open(following.value);
  return true;
}

/** The series with the earliest next record, except `except`. */
function earliest(all: readonly Series[], except: Series | undefined): Series | undefined {
  let found: Series | undefined;
  for (const series of all) if (series !== except && (found === undefined || isBefore(series, found))) found = series;
  return found;
}

function isBefore(a: Series, b: Series): boolean {
  const aMs = a.slice.head.timestamps[a.next]!;
  const bMs = b.slice.head.timestamps[b.next]!;
  return aMs < bMs || (aMs === bMs && a.slice.head.ids[a.next]! < b.slice.head.ids[b.next]!);
}
