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

/** The number of series that are kept apart. */
const LEADING_MAX = 7;

/** The sum of each name, and the series of those with most requests: of the others only the sum of all is kept. */
export class LeadingUsage<Name> {
  readonly #sums: { readonly name: Name; readonly sum: UsageCounts }[] = [];
  /** The one with most requests first; of equal ones the first added. */
  readonly #leading: NamedUsage<Name>[] = [];
  readonly #others = new UsageSeries();
  #othersCount = 0;

  /** Adds a name that was not added before. Without usage it is left out. */
  add(name: Name, series: UsageSeries): void {
    const { sum } = series;
    if (series.intervals.length === 0) return;
    this.#sums.push({ name, sum });
    const place = this.#leading.findIndex((one) => one.series.sum.requests < sum.requests);
    this.#leading.splice(place === -1 ? this.#leading.length : place, 0, { name, series });
    if (this.#leading.length <= LEADING_MAX) return;
    this.#othersCount += 1;
    for (const [startMs, counts] of this.#leading.pop()!.series.intervals) this.#others.add(startMs, counts);
  }

  /** The one with most requests first. */
  sums(): readonly { readonly name: Name; readonly sum: UsageCounts }[] {
    return this.#sums.toSorted((a, b) => b.sum.requests - a.sum.requests);
  }

  /** The series of those with most requests, and last that of the others. */
  series(): NamedUsage<Name | string>[] {
    const others = { name: `${this.#othersCount} others`, series: this.#others };
    return this.#othersCount === 0 ? [...this.#leading] : [...this.#leading, others];
  }
}

export interface NamedUsage<Name = string> {
  readonly name: Name;
  readonly series: UsageSeries;
}
