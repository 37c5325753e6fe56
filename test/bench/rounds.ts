/** Number of measurements of each contender; odd, so that the median is one of them. */
export const ROUNDS = 9;

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** A measured operation; `run` does it once, with the input of the given number. */
export interface Contender {
  readonly name: string;
  /** Number of runs in one round. */
  readonly times: number;
  readonly run: (nth: number) => unknown;
}

/**
 * Compares contenders: one warm-up, then rounds in which each runs in changing order, so that other load on the machine affects all
 * alike. Returns the microseconds of one run, by contender.
 */
export async function measure(contenders: readonly Contender[], rounds: number = ROUNDS): Promise<Map<string, Spread>> {
  const samples = new Map(contenders.map(({ name }): [string, number[]] => [name, []]));
  for (const contender of contenders) await timed(contender);
  for (let round = 0; round < rounds; round += 1) {
    const first = round % contenders.length;
    for (const contender of [...contenders.slice(first), ...contenders.slice(0, first)]) {
      samples.get(contender.name)!.push(await timed(contender));
    }
  }
  return new Map([...samples].map(([name, values]) => [name, spreadOf(values)]));
}

async function timed({ times, run }: Contender): Promise<number> {
  // Collects the previous contender's garbage, and allocates memory again, outside the measured time.
  Bun.gc(true);
  await run(0);
  const started = Bun.nanoseconds();
  for (let i = 0; i < times; i += 1) {
    const result = run(i);
    if (result instanceof Promise) await result;
  }
  return (Bun.nanoseconds() - started) / 1000 / times;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: percentile(sorted, 0.5), min: sorted[0]!, max: sorted.at(-1)! };
}

/** The `p` quantile of ascending values: the value whose index is the number of values times `p`, rounded down. */
export function percentile(sorted: readonly number[], p: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))]!;
}
