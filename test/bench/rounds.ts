/** How often each contender is measured; odd, so that the median is one of the measurements. */
export const ROUNDS = 9;

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** One thing to be measured; `run` does it once and may be told which of several inputs to take. */
export interface Contender {
  readonly name: string;
  /** How often it is done in one round. */
  readonly times: number;
  readonly run: (nth: number) => unknown;
}

/**
 * Measures contenders against each other: one warm-up, then rounds in which each has its turn, in changing order, so that
 * whatever else the machine does meets them alike. Answers microseconds for one run, per contender.
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
  // What the one before left behind is not ours to clear away, and memory is to be at hand again.
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

/** Of ascending values, the one that the share `p` of them does not exceed. */
export function percentile(sorted: readonly number[], p: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))]!;
}
