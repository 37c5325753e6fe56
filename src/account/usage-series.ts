import type { InstantMs } from '../domain/instant.ts';
import { addUsage, NO_USAGE, type UsageCounts, type UsageSum } from '../domain/usage.ts';

/** Usage in a range of time: its sum, and the sum of each interval. */
export class UsageSeries {
  readonly #sum: UsageSum = { ...NO_USAGE };
  readonly #intervals = new Map<InstantMs, UsageSum>();

  get sum(): UsageCounts {
    return this.#sum;
  }

  /** The start and the sum of each interval with usage, in order. */
  get intervals(): readonly (readonly [InstantMs, UsageCounts])[] {
    return [...this.#intervals].sort(([a], [b]) => a - b);
  }

  /** `startMs`: the start of the interval. */
  add(startMs: InstantMs, counts: UsageCounts): void {
    const interval = this.#intervals.getOrInsertComputed(startMs, () => ({ ...NO_USAGE }));
    addUsage(interval, counts);
    addUsage(this.#sum, counts);
  }
}

/** A series for each name, which is that of a key, a route, an account or a tier. */
export class UsageByName<Name> {
  readonly #series = new Map<Name, UsageSeries>();

  add(name: Name, startMs: InstantMs, counts: UsageCounts): void {
    this.#series.getOrInsertComputed(name, () => new UsageSeries()).add(startMs, counts);
  }

  /** The one with most requests first. */
  list(): NamedUsage<Name>[] {
    const list = [...this.#series].map(([name, series]) => ({ name, series }));
    return list.sort((a, b) => b.series.sum.requests - a.series.sum.requests);
  }
}

export interface NamedUsage<Name = string> {
  readonly name: Name;
  readonly series: UsageSeries;
}
