import { powerOfTen } from '../domain/decimal.ts';
import { centRowOf, FINE_ROW_PRICES } from '../domain/fine-rows.ts';
import {
  CENT_ROW_PRICES,
  type ColumnBook,
  columnsOf,
  type HeatMap,
  type HeatMapColumn,
  type HeatMapQuery,
} from '../domain/heat-map.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import type { BookReader } from '../segment/book-decoder.ts';
import type { Ladder } from '../segment/ladder.ts';
import { hasFinePrice, rowSums } from '../segment/row-sums.ts';
import type { Archive } from './archive.ts';
import { BookWalk } from './book-walk.ts';
import { GapWalk } from './gap-walk.ts';
import type { StoredMarket } from './markets.ts';
import type { Found } from './series-walk.ts';
import { tradedColumns } from './traded-columns.ts';

/** The bytes of payload that are read in a step, a few milliseconds of work. Summing a level counts as reading LEVEL_BYTES bytes. */
const STEP_BYTES = 64 * 1024;
const LEVEL_BYTES = 4;

/**
 * The heat map of one outcome, in steps of a few milliseconds, from one view of the archive. A column shows the last snapshot at
 * or before its end, of several with one timestamp that with the highest id: the book that `Snapshots.nearest` finds 'before'.
 * It shows no book if it ends before the first snapshot or begins after the last one, or if a gap touches the time after the
 * snapshot, up to the end of the column. Trades are those recorded in the column. Throws DomainError 'unavailable' when a segment is damaged.
 */
export function* heatMapSteps(
  { snapshots, prices, gaps }: Pick<Archive, 'snapshots' | 'prices' | 'gaps'>,
  market: StoredMarket,
  query: HeatMapQuery,
): Generator<void, HeatMap> {
  const { outcome, fromMs: startMs, toMs: endMs, columns: count, asOfMs = INSTANT_MAX_MS, hasTrades } = query;
  const ranges = columnsOf(startMs, endMs, count);
  const traded = hasTrades === true ? yield* tradedColumns(prices, market, query, ranges) : [];
  const lastMs = timeOf(snapshots.nearest(market, outcome, asOfMs, 'before')) ?? -Infinity;
  const shownMs = timeOf(snapshots.nearest(market, outcome, startMs, 'before')) ?? startMs;
  const gapWalk = new GapWalk(gaps.within(market.key, Math.min(shownMs, startMs), endMs, asOfMs));
  const walk = new BookWalk(snapshots, market, outcome);
  const columns: HeatMapColumn[] = [];
  /** The rows of each side of the books in `columns`. They are fine rows; at the end whole cents may turn out to be enough. */
  const rowsOfSides: number[][] = [];
  let book: ColumnBook | undefined;
  let isFine = false;
  let levels = 0;
  let stepEnd = STEP_BYTES;
  for (const [index, { fromMs, toMs }] of ranges.entries()) {
    yield* gapWalk.pass(toMs);
    const atMs = Math.min(toMs, asOfMs);
    const isKnown =
      fromMs <= lastMs &&
      walk.moveTo(atMs) &&
      (walk.timestampMs === atMs || !gapWalk.touchesFrom(walk.timestampMs + 1));
    if (isKnown && book?.id !== walk.id) {
      const { reader } = walk;
      const [bids, asks] = [rowSums(reader.bids, reader), rowSums(reader.asks, reader)];
      rowsOfSides.push(bids.rows, asks.rows);
      book = { id: walk.id, timestampMs: walk.timestampMs, ...bestPrices(reader), bids, asks };
      isFine ||= hasFinePrice(reader.bids, reader) || hasFinePrice(reader.asks, reader);
      levels += reader.bids.length + reader.asks.length;
    }
    const hasGap = gapWalk.touchesFrom(fromMs);
    columns.push({ fromMs, toMs, hasGap, book: isKnown ? book : undefined, traded: traded[index] });
    const done = walk.bytesRead + LEVEL_BYTES * levels;
    if (done < stepEnd) continue;
    yield;
    stepEnd = done + STEP_BYTES;
  }
  if (isFine) return { prices: FINE_ROW_PRICES, columns };
  for (const rows of rowsOfSides) for (let i = 0; i < rows.length; i += 1) rows[i] = centRowOf(rows[i]!);
  return { prices: CENT_ROW_PRICES, columns };
}

function bestPrices(reader: BookReader): Pick<ColumnBook, 'bidPrice' | 'askPrice'> {
  const one = powerOfTen(reader.priceScale);
  const best = ({ values, length }: Ladder) => (length === 0 ? undefined : values[0]! / one);
  return { bidPrice: best(reader.bids), askPrice: best(reader.asks) };
}

/** The timestamp of a record. */
export function timeOf(found: Found | undefined): InstantMs | undefined {
  return found?.head.timestamps[found.index];
}
