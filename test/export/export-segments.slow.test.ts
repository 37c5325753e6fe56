import { Database } from 'bun:sqlite';
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { readSnapshots } from '../../src/client/segment-reader.ts';
import { STEP_BYTES } from '../../src/export/writers/export-writer.ts';
import { FIRST_LINE } from '../../src/segment/segment-frames.ts';
import { readSegmentHeader, SEGMENT_RECORDS_MAX } from '../../src/segment/segment-header.ts';
import { VarintReader } from '../../src/segment/varint.ts';
import type { Archive } from '../../src/store/archive.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { randomBooks } from '../support/random-books.ts';
import { START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { bodyOf, framesOf, typesOf } from '../support/sealed-frames.ts';
import { exported, linesOfNdjson } from './exported.ts';
import { generatedRecording } from './generated-recording.ts';

setDefaultTimeout(120_000);

interface Run {
  readonly from: number;
  readonly count: number;
  readonly payload: Buffer;
}

const fieldsOf = (framed: Uint8Array) => JSON.parse(bodyOf(framed).toString()) as Record<string, unknown>;

/** The segments of an export. */
function slicesOf(bytes: Uint8Array): Run[] {
  const segments: Run[] = [];
  for (const framed of framesOf(bytes)) {
    const type = String.fromCharCode(framed[0]!);
    if (type !== 'R') continue;
    const body = bodyOf(framed);
    const numbers = new VarintReader(body);
    const [, from, count] = [numbers.unsigned(), numbers.unsigned(), numbers.unsigned()];
    segments.push({ from, count, payload: body.subarray(numbers.position) });
  }
  return segments;
}

/** The recorded series in the database, in no particular order. */
function storedPayloads(archive: Archive): string[] {
  using database = new Database(archive.database.path, { readonly: true });
  return database
    .query<{ payload: Uint8Array }, []>(
      "SELECT payload FROM segments JOIN series USING (series_id) WHERE kind NOT LIKE 'derived-%'",
    )
    .all()
    .map(({ payload }) => Buffer.from(payload).toString('hex'));
}

/** Many segments of both outcomes. */
function bookRecords(count: number): object[] {
  return (['up', 'down'] as const).flatMap((outcome, n) =>
    randomBooks(n, count, { priceScale: 2, sizes: 'cents', levelsMax: 12, changesMax: 2 }).map((book, i) =>
      sampleSnapshot({
        outcome,
        timestamp: START_MS + i * (7 + n),
        bids: book.bidPrices.map((price, level) => ({ price, size: book.bidSizes[level] })),
        asks: book.askPrices.map((price, level) => ({ price, size: book.askSizes[level] })),
      }),
    ),
  );
}

async function importBooks(archive: Archive, count: number): Promise<void> {
  await importRecords(archive, [sampleMarket(), ...bookRecords(count)]);
}

describe('an export of segments', () => {
  test('has every stored segment unchanged, once, and nothing that was derived', async () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      using temporary = temporaryArchive();
      await importRecords(temporary.archive, generatedRecording(seed));
      const segments = slicesOf((await exported(temporary.archive, 'segments')).bytes);
      expect(segments.map(({ payload }) => payload.toString('hex')).sort()).toEqual(
        storedPayloads(temporary.archive).sort(),
      );
      for (const { from, count, payload } of segments) {
        expect({ from, count }).toEqual({ from: 0, count: readSegmentHeader(payload).count });
      }
    }
  });

  test('has the markets and gaps of the NDJSON lines, and the counts of all records', async () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      using temporary = temporaryArchive();
      await importRecords(temporary.archive, generatedRecording(seed));
      const lines = linesOfNdjson((await exported(temporary.archive, 'ndjson')).bytes) as { type: string }[];
      const { bytes, tally } = await exported(temporary.archive, 'segments');
      const frames = framesOf(bytes);
      for (const [letter, type] of [
        ['M', 'market'],
        ['G', 'gap'],
      ] as const) {
        const written = frames.filter((framed) => String.fromCharCode(framed[0]!) === letter).map(fieldsOf);
        expect(written).toEqual(lines.filter((line) => line.type === type));
      }
      expect(fieldsOf(frames.at(-1)!)).toEqual(tally.counts);
      expect(typesOf(frames)).toMatch(/^[MGSR]*E$/);
      for (const [type, count] of Object.entries(tally.counts)) {
        expect(count).toBe(lines.filter((line) => line.type === type).length);
      }
    }
  });

  test('has a digest after every frame, which covers everything before it', async () => {
    using temporary = temporaryArchive();
    await importBooks(temporary.archive, 300);
    const { bytes } = await exported(temporary.archive, 'segments');
    expect(bytes.subarray(0, FIRST_LINE.length)).toEqual(FIRST_LINE);
    let before = FIRST_LINE as Uint8Array;
    for (const framed of framesOf(bytes)) {
      const end = framed.byteOffset - bytes.byteOffset + framed.length;
      const digest = bytes.subarray(end, end + 32);
      const expected = createHash('sha256')
        .update(Buffer.concat([before, framed]))
        .digest('hex');
      expect(digest.toString('hex')).toBe(expected);
      before = digest;
    }
  });

  test('has segments in the order of their first records, and of a window the segments that overlap it', async () => {
    using temporary = temporaryArchive();
    await importBooks(temporary.archive, 900);
    const whole = slicesOf((await exported(temporary.archive, 'segments')).bytes);
    const stored = new Set(storedPayloads(temporary.archive));
    expect(whole.length).toBeGreaterThan(10);
    expect(whole.some(({ payload }) => readSegmentHeader(payload).count === SEGMENT_RECORDS_MAX)).toBe(true);
    for (const [fromMs, toMs] of [
      [0, 2 ** 50],
      [START_MS + 700, START_MS + 3000],
      [START_MS + 701, START_MS + 701 + 7],
    ] as const) {
      const { bytes, tally } = await exported(temporary.archive, 'segments', { fromMs, toMs });
      expect(slicesOf(bytes).filter(({ payload }) => !stored.has(payload.toString('hex')))).toEqual([]);
      const firsts = slicesOf(bytes).map(({ payload, from }) => {
        const { timestamps, ids } = readSegmentHeader(payload);
        return [timestamps[from]!, ids[from]!] as const;
      });
      expect(firsts).toEqual(firsts.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]));
      const taken = slicesOf(bytes).flatMap(({ payload, from, count }) => [
        ...readSegmentHeader(payload).ids.slice(from, from + count),
      ]);
      const lines = linesOfNdjson((await exported(temporary.archive, 'ndjson', { fromMs, toMs })).bytes) as {
        type: string;
        id: string;
      }[];
      const expected = lines.filter(({ type }) => type === 'snapshot').map(({ id }) => Number(id));
      expect(taken.sort((a, b) => a - b)).toEqual(expected.sort((a, b) => a - b));
      expect(tally.counts.snapshot).toBe(expected.length);
    }
  });

  test('has the same bytes every time, and the same records for any order of import', async () => {
    using temporary = temporaryArchive();
    using other = temporaryArchive();
    const records = bookRecords(900);
    await importRecords(temporary.archive, [sampleMarket(), ...records]);
    const { bytes } = await exported(temporary.archive, 'segments');
    expect((await exported(temporary.archive, 'segments')).bytes.equals(bytes)).toBe(true);
    // The same ids, but the late records are in between.
    const lines = linesOfNdjson((await exported(temporary.archive, 'ndjson')).bytes) as object[];
    await importRecords(other.archive, [lines[0]!, ...lines.slice(900)]);
    await importRecords(other.archive, lines.slice(1, 900));
    const late = (await exported(other.archive, 'segments')).bytes;
    expect(late.equals(bytes)).toBe(false);
    expect(await Array.fromAsync(readSnapshots(late))).toEqual(await Array.fromAsync(readSnapshots(bytes)));
  });

  test('of an archive without records has a first line and an end', async () => {
    using temporary = temporaryArchive();
    const { bytes } = await exported(temporary.archive, 'segments');
    expect(typesOf(framesOf(bytes))).toBe('E');
    expect(bytes.length).toBeLessThan(150);
  });

  test('has steps of one size', async () => {
    using temporary = temporaryArchive();
    const prices = Array.from({ length: 500 }, (_, i) => (i + 1) / 1000);
    // Every level changes from book to book, each by another difference.
    const books = Array.from({ length: 1000 }, (_, n) =>
      sampleSnapshot({
        timestamp: START_MS + n,
        bids: prices.map((price, i) => ({ price, size: (1e14 + n * (i + 1) * 1_500_000_001) / 1e6 })),
      }),
    );
    await importRecords(temporary.archive, [sampleMarket(), ...books]);
    const { steps } = await exported(temporary.archive, 'segments');
    expect(steps.length).toBeGreaterThan(3);
    for (const step of steps.slice(0, -1)) {
      expect(step).toBeGreaterThanOrEqual(STEP_BYTES);
      // A segment has four large books at most.
      expect(step).toBeLessThan(STEP_BYTES + 4 * 500 * 12);
    }
  });
});
