import { expect, test } from 'bun:test';
import type { RecorderStatus } from '../../src/domain/recorder-status.ts';
import { EarlierRecorder } from '../../src/recorder/earlier-recorder.ts';
import { REORDERED_MS } from '../../src/recorder/watched-asset.ts';

const SLUG = 'btc-updown-5m-1780272000';
const NOW_MS = Date.UTC(2026, 5, 1, 0, 1);

/** The state of a recorder that ended with an open gap of up from `gapMs` on, and a journal that was written until `writtenMs`. */
function stateOf(gapMs: number, writtenUntilMs: number | null, offsetMs: number | null) {
  const window = { slug: SLUG, endMs: NOW_MS + 240_000, conditionId: '0x1', state: 'recording' };
  return {
    writtenMs: NOW_MS,
    windows: [{ ...window, lastEventMs: [NOW_MS, NOW_MS] }],
    gaps: [{ slug: SLUG, outcome: 'up', fromMs: gapMs, toMs: null, reason: 'the disk is full' }],
    journal: { writtenUntilMs },
    clock: { offsetMs, steps: 0 },
  } as unknown as RecorderStatus;
}

test('Frames that a recorder did not write before its end are missing, also if a gap was open by then.', () => {
  const fromOf = (gapMs: number, writtenMs: number | null, offsetMs: number | null = null) =>
    new EarlierRecorder(stateOf(gapMs, writtenMs, offsetMs)).recordingOf(SLUG)?.fromMs;
  const writtenMs = NOW_MS - 800;
  const missingMs = writtenMs - REORDERED_MS;
  expect(fromOf(NOW_MS - 100, writtenMs)).toEqual([missingMs, missingMs]);
  expect(fromOf(NOW_MS - 5000, writtenMs)).toEqual([NOW_MS - 5000, missingMs]);
  expect(fromOf(NOW_MS - 5000, null)).toEqual([NOW_MS - 5000, NOW_MS - REORDERED_MS]);
  // The clock was ahead of the venue's, or behind.
  expect(fromOf(NOW_MS - 100, writtenMs, 3000)).toEqual([missingMs - 3000, missingMs - 3000]);
  expect(fromOf(NOW_MS - 100, writtenMs, -3000)).toEqual([missingMs, missingMs]);
});
