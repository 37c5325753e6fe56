import type { Labels, Sample } from './metrics.ts';

/** Counts values by their size. */
export class Histogram {
  readonly #bounds: readonly number[];
  /** One more than bounds: the last one has the values above all bounds. */
  readonly #counts: Float64Array;
  #sum = 0;

  /** `bounds`: the largest value of each bucket, ascending. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let bucket = 0;
    // Most values are small: the first buckets have them.
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket += 1;
    this.#counts[bucket]! += 1;
    this.#sum += value;
  }

  *samples(labels: Labels = {}): Generator<Sample> {
    let count = 0;
    for (const [bucket, own] of this.#counts.entries()) {
      count += own;
      yield { suffix: '_bucket', labels: { ...labels, le: boundText(this.#bounds[bucket]) }, value: count };
    }
    yield { suffix: '_sum', labels, value: this.#sum };
    yield { suffix: '_count', labels, value: count };
  }
}

function boundText(bound: number | undefined): string {
  return bound === undefined ? '+Inf' : String(bound);
}
