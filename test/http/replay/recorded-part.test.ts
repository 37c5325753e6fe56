import { expect, test } from 'bun:test';
import { recordedPart } from '../../../src/http/replay/recorded-part.ts';
import { START_MS } from '../../support/sample-records.ts';

const HOUR_MS = 3_600_000;
const range = ([from, to]: readonly [number, number]) => ({
  fromMs: START_MS + from * HOUR_MS,
  toMs: START_MS + to * HOUR_MS,
});

// Hours after the start of a replay of 1,000 hours; recordings at most an hour apart are one.
test.each([
  ['before the first recording', 3, [0, 10]],
  ['in a recording, with a pause of less than an hour', 11.5, [10, 13]],
  ['at the end of a recording', 13, [10, 13]],
  ['between two recordings', 14, [13, 500]],
  ['in a recording of one book, of which a minute is shown', 500, [500, 500 + 1 / 60]],
  ['in the last recording, which ends less than an hour before the replay', 999.9, [990, 1000]],
] as const)('The slider of a replay whose clock is %s has this part of its time.', (_, nowHours, part) => {
  const clock = { nowMs: START_MS + nowHours * HOUR_MS, span: range([0, 1000]) };
  const recordedSpans = [range([990, 999.5]), range([10, 11]), range([11.8, 13]), range([500, 500]), range([-5, -4])];
  expect(recordedPart({ clock, recordedSpans } as never)).toEqual(range(part));
});

test('The slider of a replay has its whole time if all of it is recorded, or nothing.', () => {
  const clock = { nowMs: START_MS + HOUR_MS, span: range([0, 2]) };
  for (const recordedSpans of [[], [range([0.5, 1.5])]]) {
    expect(recordedPart({ clock, recordedSpans } as never)).toEqual(clock.span);
  }
});
