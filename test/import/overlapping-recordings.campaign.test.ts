import { describe, expect, test } from 'bun:test';
import {
  CAPTURE,
  type Command,
  capturedMarket,
  cut,
  faultsOf,
  imported,
  interrupted,
  missing,
  type Recording,
  shuffled,
} from './capture.ts';

/** Sets of recordings; OVERLAPS=200 takes ten minutes. */
const SETS = Number(process.env.OVERLAPS ?? 3);
const TIMEOUT_MS = 120_000 + SETS * 60_000;
const FIRST_SEED = Number(process.env.SEED ?? 0);
const KINDS = [0.01, 0.05, 0.2, 'bursts'] as const;

/** Two recordings, or three, that missed other changes each. */
function recordingsOf(frames: Recording, seed: number): Recording[] {
  const kind = KINDS[seed % KINDS.length]!;
  return Array.from({ length: seed % 5 === 0 ? 3 : 2 }, (_, index) => {
    const own = seed * 10 + index;
    return kind === 'bursts' ? interrupted(frames, 4, 200 + (own % 7) * 300, own) : missing(frames, kind, own);
  });
}

/** The same recordings with other commands: in another order, at once, or cut into files with a command each. */
function otherCommands(recordings: readonly Recording[], seed: number): Command[] {
  if (seed % 3 === 0) return [recordings.toReversed()];
  if (seed % 3 === 1) return recordings.toReversed().map((recording) => [recording]);
  const parts = recordings.flatMap((recording, index) => cut(recording, 3, seed + index));
  return shuffled(parts, seed).map((part) => [part]);
}

describe.skipIf(CAPTURE === undefined)(
  'random recordings of the same time (skipped where the capture is absent)',
  () => {
    const seeds = Array.from({ length: SETS }, (_, index) => FIRST_SEED + index);

    test(
      `${SETS} sets have every book that one of them has, gaps where all miss a change, and the same export in any order`,
      async () => {
        const { frames } = capturedMarket();
        const perfect = await imported([frames]);
        const failures: unknown[] = [];
        for (const seed of seeds) {
          const recordings = recordingsOf(frames, seed);
          const found = await imported(...recordings.map((recording) => [recording]));
          const faults = faultsOf(found, perfect, frames, recordings);
          const other = await imported(...otherCommands(recordings, seed));
          const different = new Set(found.exported).symmetricDifference(new Set(other.exported)).size;
          const wrong = faults.wrong.length + faults.absent.length + faults.extra.length;
          if (wrong + different > 0) failures.push({ seed, ...faults, different });
        }
        expect(failures).toEqual([]);
      },
      TIMEOUT_MS,
    );
  },
);
