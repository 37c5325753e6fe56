import { expect, test } from 'bun:test';
import { comparePositions, type Position } from '../../src/domain/page.ts';
import type { OpenSegment } from '../../src/segment/segment-header.ts';
import { KeptSegments } from '../../src/store/kept-segments.ts';
import { randomsOf } from '../support/random-books.ts';

const PAYLOAD_BYTES = 1000;

/** A segment of records with these positions. */
function segmentOf(positions: readonly Position[]): OpenSegment {
  return {
    payload: new Uint8Array(PAYLOAD_BYTES),
    head: {
      count: positions.length,
      timestamps: Float64Array.from(positions, ({ timestampMs }) => timestampMs),
      ids: Float64Array.from(positions, ({ id }) => id),
      arrivalsOffset: 0,
      bodyOffset: 0,
    },
  };
}

/** The segments of a series: 1 to 5 records each, several at most instants. */
function seriesOf(random: () => number, segments: number): readonly OpenSegment[] {
  let [timestampMs, id] = [0, 0];
  return Array.from({ length: segments }, () =>
    segmentOf(
      Array.from({ length: 1 + Math.floor(random() * 5) }, () => {
        timestampMs += Math.floor(random() * 2);
        id += 1;
        return { timestampMs, id };
      }),
    ),
  );
}

const lastOf = ({ head }: OpenSegment) => ({
  timestampMs: head.timestamps[head.count - 1]!,
  id: head.ids[head.count - 1]!,
});

test('Kept segments are those that a scan finds, whatever the order of requests, the room and the changes.', () => {
  for (const bytesMax of [0, 3 * PAYLOAD_BYTES, 1_000_000]) {
    const random = randomsOf(bytesMax + 7);
    let state: number | undefined = 0;
    let series = [seriesOf(random, 20), seriesOf(random, 20)];
    const kept = new KeptSegments(bytesMax, () => state);
    let reads = 0;
    for (let i = 0; i < 5000; i += 1) {
      if (i % 1000 === 500) state = undefined;
      // In a transaction that writes, segments change without a new state.
      if (state === undefined && i % 10 === 0) series = series.map(() => seriesOf(random, 20));
      if (i % 1000 === 600) state = i;
      const seriesId = i % 2;
      const position = { timestampMs: Math.floor(random() * 40), id: Math.floor(random() * 60) };
      const scan = () => series[seriesId]!.find((each) => comparePositions(lastOf(each), position) > 0) ?? null;
      const found = kept.following(seriesId, position, () => {
        reads += 1;
        return scan();
      });
      expect(found).toBe(scan());
    }
    // With enough room only positions before the known ones, and after the last, are read.
    if (bytesMax === 1_000_000) expect(reads).toBeLessThan(2500);
    else expect(reads).toBeGreaterThan(2500);
  }
});

test('A reader in small steps reads each segment once, also where one has room only.', () => {
  const segments = seriesOf(randomsOf(1), 20);
  const positions = segments.flatMap(({ head }) =>
    [...head.ids].map((id, i) => ({ timestampMs: head.timestamps[i]!, id: id - 1 })),
  );
  const kept = new KeptSegments(1, () => 1);
  let reads = 0;
  for (const position of positions) {
    kept.following(1, position, () => {
      reads += 1;
      return segments.find((each) => comparePositions(lastOf(each), position) > 0) ?? null;
    });
  }
  expect(reads).toBe(segments.length);
});
