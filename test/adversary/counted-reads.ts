import { spyOn } from 'bun:test';
import type { Archive } from '../../src/store/archive.ts';

/** When nothing was read for this time, no long work is in progress. */
const QUIET_MS = 150;

/** Counts the read transactions of an archive: each step of an export or of a replay is one. */
export class CountedReads {
  readonly #spy;

  constructor({ database }: Archive) {
    this.#spy = spyOn(database, 'read');
  }

  get count(): number {
    return this.#spy.mock.calls.length;
  }

  /** Resolves to the count when it does not change any more. */
  async settled(): Promise<number> {
    for (let before = -1; before !== this.count; ) {
      before = this.count;
      await Bun.sleep(QUIET_MS);
    }
    return this.count;
  }

  [Symbol.dispose](): void {
    this.#spy.mockRestore();
  }
}

/**
 * The number of reads by which `one` is done while another key has `crowdSize` of the same requests open, and the number that it
 * needs alone.
 */
export async function readsInCrowd(
  reads: CountedReads,
  one: () => Promise<unknown>,
  another: () => Promise<unknown>,
  crowdSize: number,
): Promise<{ readonly inCrowd: number; readonly alone: number }> {
  const start = await reads.settled();
  await one();
  const alone = (await reads.settled()) - start;
  const crowd = Array.from({ length: crowdSize }, another);
  const before = reads.count;
  while (reads.count < before + crowdSize) await new Promise(setImmediate);
  const begun = reads.count;
  await one();
  const inCrowd = reads.count - begun;
  await Promise.all(crowd);
  return { inCrowd, alone };
}
