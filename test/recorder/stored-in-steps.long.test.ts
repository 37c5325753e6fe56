import { expect, test } from 'bun:test';
import { SeededRandom } from '../../fixtures/random.ts';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { difference } from './difference.ts';
import type { LinkFaults } from './link-faults.ts';
import {
  expectJournalStored,
  isChangeOf,
  linesOutside,
  messageTime,
  recordedPlace,
  START_MS,
  timeIn,
} from './recorded-place.ts';
import { figureOfAll, SEEDS } from './results.ts';

const PACES = [0.5, 2, 8, 20] as const;
/** The shares of changes that reach no socket. */
const LOST = [0, 0.01, 0.05, 0.2] as const;
const FAULTS: readonly Partial<LinkFaults>[] = [
  {},
  { reorderMsMax: 90 },
  { drop: 0.05 },
  { delayMsMax: 200, double: 0.1, recuts: true },
];
/** Losses one by one, or of all that is sent within such a time. */
const BURST_MS = 3000;
const LOST_FROM_MS = START_MS + 10_000;
/** Later hashes show what was lost. */
const LOST_UNTIL_MS = START_MS + 40_000;

/** Each pace once, or more often in a campaign. */
const RUNS = Array.from({ length: PACES.length * SEEDS.length }, (_, index) => index);
const equal: string[] = [];
const stepsText = `${RUNS.length} recordings with losses and faults, 4 paces`;
figureOfAll('stored step by step', stepsText, equal, RUNS.length);

test.each(RUNS)(
  'Whatever is lost, a recorder stores no wrong book outside its gaps, and the records that an import of its whole journal gives, apart from arrivals. (seed %d)',
  async (seed) => {
    const random = new SeededRandom(`steps ${seed}`);
    const one = <T>(values: readonly T[]) => values[random.below(values.length)]!;
    const eventsPerSecond = PACES[seed % PACES.length]!;
    const [faults, lost, sockets] = [one(FAULTS), one(LOST), one([1, 2])];
    const isBurst = random.chance(0.5);
    using place = recordedPlace({ eventsPerSecond, faults, sockets, seed: String(seed) });
    const decided = new Map<string, boolean>();
    place.venue.change = (text) => {
      const timeMs = messageTime(text);
      if (!isChangeOf(text, place.market) || timeMs < LOST_FROM_MS || timeMs > LOST_UNTIL_MS) return text;
      const event = isBurst ? String(Math.floor(timeMs / BURST_MS)) : text;
      return decided.getOrInsertComputed(event, () => random.chance(lost)) ? '[]' : text;
    };
    place.run.recorder.start();
    await place.record(START_MS + 80_000);
    await place.run.recorder.stop();
    for (const outcome of OUTCOMES) {
      const stored = linesOutside(place.archive, outcome).filter((line) => timeIn(line) < LOST_UNTIL_MS);
      const { extra } = difference(stored, place.market.expected[outcome].lines);
      expect(extra).toEqual([]);
    }
    await expectJournalStored(place);
    equal.push(
      'no wrong book outside the gaps; the records of the archive are those of an import of the journal, apart from arrivals',
    );
  },
);
