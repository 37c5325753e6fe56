import type { Snapshot } from '../../../client/segment-reader.ts';
import { decimalPlaces, toScaled } from '../../../domain/decimal.ts';
import { centRowOf, FINE_ROW_PRICES } from '../../../domain/fine-rows.ts';
import { firstIndex } from '../../../domain/first-index.ts';
import {
  CENT_ROW_PRICES,
  type ColumnBook,
  columnsOf,
  type HeatMap,
  type HeatMapColumn,
} from '../../../domain/heat-map.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import { Ladder } from '../../../segment/ladder.ts';
import { hasFinePrice, rowSums } from '../../../segment/row-sums.ts';
import { divisorOf, scaleOf } from '../../../segment/scale.ts';

/** A recorded gap, both inclusive. */
export interface RecordedGap {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface HeatMapWindow {
  readonly outcome: Outcome;
  /** Both inclusive. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly columns: number;
}

type Side = Snapshot['bids'];

/** One market's snapshots and gaps, in memory: it answers as the API does. */
export class Recording {
  readonly #snapshots: Readonly<Record<Outcome, readonly Snapshot[]>>;
  readonly #times: Readonly<Record<Outcome, Float64Array>>;
  readonly #gaps: readonly RecordedGap[];

  /** `snapshots` ascend by (timestamp, id), and `gaps` by their starts. */
  constructor(snapshots: readonly Snapshot[], gaps: readonly RecordedGap[]) {
    const of = (outcome: Outcome) => snapshots.filter((snapshot) => snapshot.outcome === outcome);
    this.#snapshots = { up: of('up'), down: of('down') };
    const timesOf = (list: readonly Snapshot[]) => Float64Array.from(list, ({ timestamp }) => Date.parse(timestamp));
    this.#times = { up: timesOf(this.#snapshots.up), down: timesOf(this.#snapshots.down) };
    this.#gaps = gaps;
  }

  /** The last snapshot at or before an instant: `…/at/{ts}?mode=before`. */
  before(outcome: Outcome, atMs: number): Snapshot | undefined {
    return this.#snapshots[outcome][countUntil(this.#times[outcome], atMs) - 1];
  }

  /** The time of the first snapshot after an instant, or of the last one before it. */
  neighbour(outcome: Outcome, atMs: number, direction: -1 | 1): number | undefined {
    const times = this.#times[outcome];
    return direction === 1 ? times[countUntil(times, atMs)] : times[countUntil(times, atMs - 1) - 1];
  }

  /** The heat map of a window: equal to `…/heatmap`. */
  heatMap({ outcome, fromMs: startMs, toMs: endMs, columns: count }: HeatMapWindow): HeatMap {
    const times = this.#times[outcome];
    const lastMs = times.at(-1) ?? -Infinity;
    const columns: HeatMapColumn[] = [];
    const made: ColumnBook[] = [];
    let isFine = false;
    let shown = -1;
    let [passed, gapEndMs] = [0, -Infinity];
    for (const { fromMs, toMs } of columnsOf(startMs, endMs, count)) {
      for (; passed < this.#gaps.length && this.#gaps[passed]!.fromMs <= toMs; passed += 1) {
        gapEndMs = Math.max(gapEndMs, this.#gaps[passed]!.toMs);
      }
      const at = countUntil(times, toMs) - 1;
      const atMs = times[at];
      const isKnown = atMs !== undefined && fromMs <= lastMs && (atMs === toMs || gapEndMs <= atMs);
      if (isKnown && at !== shown) {
        const { book, hasFine } = summed(this.#snapshots[outcome][at]!, atMs);
        isFine ||= hasFine;
        made.push(book);
        shown = at;
      }
      columns.push({ fromMs, toMs, hasGap: gapEndMs >= fromMs, book: isKnown ? made.at(-1) : undefined });
    }
    if (isFine) return { prices: FINE_ROW_PRICES, columns };
    const cents = new Map(made.map((book) => [book, inCents(book)]));
    return {
      prices: CENT_ROW_PRICES,
      columns: columns.map((column) => ({ ...column, book: column.book && cents.get(column.book)! })),
    };
  }
}

/** Number of the times at or before `ms`. */
function countUntil(times: Float64Array, ms: number): number {
  return firstIndex(times.length, (index) => times[index]! > ms);
}

function summed({ id, bids, asks }: Snapshot, timestampMs: number): { book: ColumnBook; hasFine: boolean } {
  const [bidLadder, askLadder] = [ladderOf(bids), ladderOf(asks)];
  const book = {
    id: Number(id),
    timestampMs,
    bidPrice: bids[0]?.price,
    askPrice: asks[0]?.price,
    bids: rowSums(bidLadder.ladder, bidLadder),
    asks: rowSums(askLadder.ladder, askLadder),
  };
  return { book, hasFine: hasFinePrice(bidLadder.ladder, bidLadder) || hasFinePrice(askLadder.ladder, askLadder) };
}

/** A side in whole units, as segments have it: the server sums it the same way. */
function ladderOf(side: Side) {
  const priceScale = side.reduce((most, { price }) => Math.max(most, decimalPlaces(price) ?? 0), 0);
  const sizeScale = scaleOf(side.map(({ size }) => size));
  const ladder = new Ladder();
  const units = divisorOf(sizeScale);
  for (const [position, { price, size }] of side.entries()) {
    ladder.insert(position, toScaled(price, priceScale), units === 1 ? size : Math.round(size * units));
  }
  return { ladder, priceScale, sizeScale };
}

function inCents(book: ColumnBook): ColumnBook {
  const sideInCents = ({ rows, sizes }: ColumnBook['bids']) => ({ rows: rows.map(centRowOf), sizes });
  return { ...book, bids: sideInCents(book.bids), asks: sideInCents(book.asks) };
}
