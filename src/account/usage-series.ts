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

/** As many series as a chart has colours: of more names the last one is that of the others. */
export const LEADING_MAX = 8;

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

  /** At most LEADING_MAX series: of those with most requests, and if there are more names last that of the others. */
  series(): NamedUsage<Name | string>[] {
    if (this.#othersCount === 0) return [...this.#leading];
    const last = this.#leading[LEADING_MAX - 1]!;
    const others = new UsageSeries();
    for (const { intervals } of [last.series, this.#others]) {
      for (const [startMs, counts] of intervals) others.add(startMs, counts);
    }
    return [...this.#leading.slice(0, -1), { name: `${this.#othersCount + 1} others`, series: others }];
  }
}

export interface NamedUsage<Name = string> {
  readonly name: Name;
  readonly series: UsageSeries;
}
