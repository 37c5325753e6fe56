import type { SnapshotCounts } from '../domain/coverage.ts';
import { powerOfTen } from '../domain/decimal.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { BookReader } from '../segment/book-decoder.ts';

/** Counts the snapshots of one outcome while its segments are read, by their ladders: no book is built. */
export class SnapshotTally implements SnapshotCounts {
  snapshots = 0;
  firstMs: InstantMs | undefined;
  lastMs: InstantMs | undefined;
  oneSided = 0;
  empty = 0;
  crossed = 0;
  placeholder = 0;

  /** Counts the present book of `reader`. Snapshots come in ascending order. */
  add({ bids, asks, priceScale, head, index }: BookReader): void {
    this.snapshots += 1;
    this.lastMs = head.timestamps[index]!;
    this.firstMs ??= this.lastMs;
    if (bids.length === 0 || asks.length === 0) {
      if (bids.length === asks.length) this.empty += 1;
      else this.oneSided += 1;
      return;
    }
    const bid = bids.values[0]!;
    const ask = asks.values[0]!;
    if (bid >= ask) this.crossed += 1;
    const one = powerOfTen(priceScale);
    if (100 * bid <= one && 100 * ask >= 99 * one) this.placeholder += 1;
  }
}
