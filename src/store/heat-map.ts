import { powerOfTen } from '../domain/decimal.ts';
import {
  CENT_ROW_PRICES,
  type ColumnBook,
  centRowOf,
  columnsOf,
  FINE_ROW_PRICES,
  type HeatMap,
  type HeatMapColumn,
  type HeatMapQuery,
  type SideRows,
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

/** Payload read in a step: a few milliseconds of work. To sum a level takes about as long as to read some bytes. */
const STEP_BYTES = 64 * 1024;
const LEVEL_BYTES = 4;

/**
 * The heat map of one outcome, in steps of a few milliseconds, from one view of the archive. A column shows the last snapshot at
 * or before its end, of several with one timestamp that with the highest id: the book that `Snapshots.nearest` finds 'before'.
 * It shows no book if it ends before the first snapshot or begins after the last one, or if a gap touches the time after the
 * snapshot, up to the end of the column. Throws DomainError 'unavailable' when a segment is damaged.
 */
export function* heatMapSteps(
  { snapshots, gaps }: Pick<Archive, 'snapshots' | 'gaps'>,
  market: StoredMarket,
  { outcome, fromMs: startMs, toMs: endMs, columns: count, asOfMs = INSTANT_MAX_MS }: HeatMapQuery,
): Generator<void, HeatMap> {
  const lastMs = timeOf(snapshots.nearest(market, outcome, asOfMs, 'before')) ?? -Infinity;
  const shownMs = timeOf(snapshots.nearest(market, outcome, startMs, 'before')) ?? startMs;
  const gapWalk = new GapWalk(gaps.within(market.key, Math.min(shownMs, startMs), endMs, asOfMs));
  const walk = new BookWalk(snapshots, market, outcome);
  const books: ColumnBook[] = [];
  const columns: HeatMapColumn[] = [];
  let isFine = false;
  let levels = 0;
  let stepEnd = STEP_BYTES;
  for (const { fromMs, toMs } of columnsOf(startMs, endMs, count)) {
    yield* gapWalk.pass(toMs);
    const atMs = Math.min(toMs, asOfMs);
    const isKnown =
      fromMs <= lastMs &&
      walk.moveTo(atMs) &&
      (walk.timestampMs === atMs || !gapWalk.touchesFrom(walk.timestampMs + 1));
    if (isKnown && books.at(-1)?.id !== walk.id) {
      const { reader } = walk;
      books.push(columnBook(walk));
      isFine ||= hasFinePrice(reader.bids, reader) || hasFinePrice(reader.asks, reader);
      levels += reader.bids.length + reader.asks.length;
    }
    columns.push({ fromMs, toMs, hasGap: gapWalk.touchesFrom(fromMs), book: isKnown ? books.at(-1) : undefined });
    const done = walk.bytesRead + LEVEL_BYTES * levels;
    if (done < stepEnd) continue;
    yield;
    stepEnd = done + STEP_BYTES;
  }
  return isFine ? { prices: FINE_ROW_PRICES, columns } : inCents(columns, books);
}

function columnBook({ reader, id, timestampMs }: BookWalk): ColumnBook {
  const { bids, asks } = reader;
  return {
    id,
    timestampMs,
    bidPrice: bestPrice(bids, reader),
    askPrice: bestPrice(asks, reader),
    bids: rowSums(bids, reader),
    asks: rowSums(asks, reader),
  };
}

function bestPrice({ values, length }: Ladder, { priceScale }: BookReader): number | undefined {
  return length === 0 ? undefined : values[0]! / powerOfTen(priceScale);
}

/** The heat map with rows of whole cents. Columns that share a book still do. */
function inCents(columns: readonly HeatMapColumn[], books: readonly ColumnBook[]): HeatMap {
  const inCentRows = ({ rows, sizes }: SideRows) => ({ rows: rows.map(centRowOf), sizes });
  const converted = new Map(
    books.map((book) => [book, { ...book, bids: inCentRows(book.bids), asks: inCentRows(book.asks) }]),
  );
  return {
    prices: CENT_ROW_PRICES,
    columns: columns.map((column) => ({ ...column, book: column.book && converted.get(column.book) })),
  };
}

function timeOf(found: Found | undefined): InstantMs | undefined {
  return found?.head.timestamps[found.index];
}
