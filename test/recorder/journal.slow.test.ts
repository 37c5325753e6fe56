import { expect, test } from 'bun:test';
import { appendFileSync, existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { SeededRandom } from '../../fixtures/random.ts';
import { Journal, type JournalPosition } from '../../src/recorder/journal.ts';
import { JournalFollower } from '../../src/recorder/journal-follower.ts';
import { AnchoredClock } from '../../src/recorder/recorder-clock.ts';
import { frameEnds } from '../../src/recorder/zstd-frames.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { busyDisk } from './busy-disk.ts';
import { SimulatedClock } from './simulated-clock.ts';

const START_US = Date.UTC(2026, 10, 26, 3, 59, 59) * 1000;
const NOTHING = { repeatedEvents: 0, hashesMatched: 0, hashesFailed: 0, gaps: 0, doubtful: [], rejected: null };

const STORED = { ...NOTHING, isWaiting: false };

/** The end of the whole frames at the beginning of bytes, which are written to a file first. */
function wholeEnd(path: string, bytes: Uint8Array): number {
  writeFileSync(path, bytes);
  return frameEnds(path, 0).at(-1) ?? 0;
}

function newJournal(directory: string) {
  const written: JournalPosition[] = [];
  const clock = new AnchoredClock(
    () => performance.now(),
    () => Date.now(),
  );
  const fail = (error: unknown) => {
    throw error;
  };
  return { written, journal: new Journal(directory, clock, (position) => void written.push(position), fail) };
}

const frameAt = (seconds: number, frame: string) => ({ receivedUs: START_US + seconds * 1_000_000, socket: 1, frame });
/** Writes three zstd frames with a line each, and returns the path of their file. */
async function writeThree(directory: string, journal: Journal, written: readonly JournalPosition[]): Promise<string> {
  for (const text of ['one', 'two', 'three']) {
    journal.append(frameAt(5, text));
    await journal.flush();
  }
  await journal.close();
  return join(directory, 'journal', written[0]!.file);
}

const linesIn = (path: string) => Bun.zstdDecompressSync(readFileSync(path)).toString().trimEnd().split('\n');

test('lines are in the file of the hour in which they arrived, as they arrived', async () => {
  using directory = temporaryDirectory();
  const { journal, written } = newJournal(directory.path);
  const frames = ['{"a": 1}', '[]', '"\\n"', 'x'.repeat(300_000)];
  for (const [index, frame] of frames.entries()) journal.append(frameAt(index, frame));
  await journal.close();
  const [first, second, ...others] = readdirSync(join(directory.path, 'journal')).toSorted();
  expect([first, second, others]).toEqual(['2026-11-26T03.frames.zst', '2026-11-26T04.frames.zst', []]);
  const lines = [first!, second!].flatMap((name) => linesIn(join(directory.path, 'journal', name)));
  expect(lines.map((line) => JSON.parse(line))).toEqual(
    frames.map((frame, index) => ({ receivedAt: START_US + index * 1_000_000, socket: 1, frame })),
  );
  expect(written.map(({ file }) => file).toSorted()).toEqual(written.map(({ file }) => file));
  expect(journal.queuedBytes).toBe(0);
});

test('Frames with any characters, and of any length, are in the journal as they arrived.', async () => {
  const long = fc.tuple(fc.string({ unit: 'binary', minLength: 1 }), fc.integer({ min: 1, max: 200_000 }));
  const frames = fc.array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      long.map(([text, times]) => text.repeat(times / text.length)),
    ),
  );
  await fc.assert(
    fc.asyncProperty(frames, async (texts) => {
      using directory = temporaryDirectory();
      const { journal, written } = newJournal(directory.path);
      for (const text of texts) journal.append(frameAt(1, text));
      await journal.close();
      const { file } = written[0] ?? {};
      const lines = file === undefined ? [] : linesIn(join(directory.path, 'journal', file));
      expect(lines).toEqual(
        texts.map((frame) => JSON.stringify({ receivedAt: frameAt(1, '').receivedUs, socket: 1, frame })),
      );
    }),
    { numRuns: 30 },
  );
});

test('A line is cut off for the disk half a second after it was appended, so that a killed process loses a second at most.', async () => {
  using directory = temporaryDirectory();
  const clock = new SimulatedClock(START_US / 1000);
  const { promise, resolve, reject } = Promise.withResolvers<JournalPosition>();
  const journal = new Journal(directory.path, clock, resolve, reject);
  journal.append(frameAt(0, 'one'));
  await clock.run(START_US / 1000 + 500);
  const { file } = await promise;
  expect(linesIn(join(directory.path, 'journal', file))).toHaveLength(1);
  await journal.close();
});

test('A part of the journal is in its file while the disk is still busy with the one before, and counts as written in its turn.', async () => {
  using directory = temporaryDirectory();
  using disk = await busyDisk(directory.path);
  const { journal, written } = newJournal(directory.path);
  const path = join(directory.path, 'journal', '2026-11-26T03.frames.zst');
  const endsInFile = () => (existsSync(path) ? frameEnds(path, 0) : []);
  for (const text of ['one', 'two']) journal.append(frameAt(0, text.repeat(100_000)));
  while (endsInFile().length < 2) await Bun.sleep(1);
  expect(written).toEqual([]);
  expect(journal.queuedBytes).toBeGreaterThan(600_000);
  disk.wake();
  await journal.close();
  expect(written.map(({ end }) => end)).toEqual(endsInFile());
  expect(journal.queuedBytes).toBe(0);
});

test('A journal refuses frames while the disk is 64 MB behind, but no gap, and takes frames again after it.', async () => {
  using directory = temporaryDirectory();
  using disk = await busyDisk(directory.path);
  const { journal, written } = newJournal(directory.path);
  const frame = frameAt(0, 'x'.repeat(4_000_000));
  const taken = Array.from({ length: 20 }, () => journal.append(frame));
  expect(taken.filter((isTaken) => isTaken)).toHaveLength(17);
  expect(taken.lastIndexOf(true)).toBe(16);
  const gap = { fromMs: START_US / 1000, toMs: START_US / 1000, reason: 'the disk did not keep up' };
  expect(journal.append({ receivedUs: START_US, market: { slug: 'a' }, gap }, { isForced: true })).toBe(true);
  disk.wake();
  await journal.flush();
  expect(journal.queuedBytes).toBe(0);
  expect(journal.append(frameAt(0, 'y'))).toBe(true);
  await journal.close();
  expect(linesIn(join(directory.path, 'journal', written[0]!.file))).toHaveLength(19);
});

test('What a killed process wrote in part is cut off, at every length, and the file goes on.', async () => {
  using directory = temporaryDirectory();
  const { journal, written } = newJournal(directory.path);
  const path = await writeThree(directory.path, journal, written);
  const bytes = readFileSync(path);
  const ends = written.map(({ end }) => end);
  for (let length = 0; length <= bytes.length; length += 1) {
    const cut = wholeEnd(join(directory.path, 'cut'), bytes.subarray(0, length));
    expect(cut).toBe(ends.findLast((end) => end <= length) ?? 0);
  }
  truncateSync(path, bytes.length - 3);
  const next = newJournal(directory.path);
  next.journal.append(frameAt(6, 'four'));
  await next.journal.close();
  expect(linesIn(path).map((line) => JSON.parse(line).frame)).toEqual(['one', 'two', 'four']);
});

test('the end of whole frames is found in frames of all kinds, and noise has none', () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'frames');
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(1, 3, 19), fc.nat({ max: 400_000 }), fc.boolean()), { maxLength: 4 }),
      fc.uint8Array({ maxLength: 3 }),
      (parts, tail) => {
        const frames = parts.map(([level, length, isNoise]) => {
          const bytes = new Uint8Array(length);
          if (isNoise) crypto.getRandomValues(bytes.subarray(0, 65_536));
          return Bun.zstdCompressSync(bytes, { level });
        });
        const whole = Buffer.concat(frames);
        expect(wholeEnd(path, Buffer.concat([whole, tail]))).toBe(whole.length);
      },
    ),
    { numRuns: 30 },
  );
  expect(wholeEnd(path, new TextEncoder().encode('no zstd frame at all'))).toBe(0);
});

test('Each part of the journal is stored once, in order, over hours and restarts; what is on the disk of a torn file too.', async () => {
  using directory = temporaryDirectory();
  const { journal, written } = newJournal(directory.path);
  const ranges: string[] = [];
  const follower = () =>
    new JournalFollower(directory.path, async (lines) => {
      ranges.push(...lines.map((line) => JSON.parse(line).frame as string));
      return { ...NOTHING, repeatedEvents: lines.length };
    });
  journal.append(frameAt(0, 'a'));
  await journal.flush();
  expect(await follower().store(written.at(-1)!, false)).toEqual({ ...STORED, repeatedEvents: 1 });
  journal.append(frameAt(0, 'b'));
  journal.append(frameAt(2, 'c'));
  await journal.flush();
  appendFileSync(join(directory.path, 'journal', written[0]!.file), 'torn');
  writeFileSync(join(directory.path, 'journal', 'notes.txt'), 'not a part of the journal');
  expect(await follower().store(written.at(-1)!, false)).toEqual({ ...STORED, repeatedEvents: 2 });
  expect(await follower().store(written.at(-1)!, false)).toEqual(STORED);
  await journal.close();
  expect(ranges).toEqual(['a', 'b', 'c']);
  // Only files that are stored as a whole are deleted, and only old ones.
  follower().deleteBefore(START_US / 1000);
  expect(readdirSync(join(directory.path, 'journal')).toSorted()).toContain('2026-11-26T03.frames.zst');
  follower().deleteBefore(START_US / 1000 + 7_200_000);
  expect(readdirSync(join(directory.path, 'journal')).toSorted()).toEqual([
    '2026-11-26T04.frames.zst',
    'notes.txt',
    'stored.json',
  ]);
});

test('A frame that the disk has damaged is left out and reported, and those after it are stored.', async () => {
  using directory = temporaryDirectory();
  const { journal, written } = newJournal(directory.path);
  const path = await writeThree(directory.path, journal, written);
  const bytes = readFileSync(path);
  // The content of the second frame, not its headers.
  bytes.fill(0xff, written[1]!.end - 12, written[1]!.end - 6);
  writeFileSync(path, bytes);
  const stored: string[] = [];
  const follower = new JournalFollower(directory.path, async (lines) => {
    stored.push(...lines.map((line) => JSON.parse(line).frame));
    return NOTHING;
  });
  const { rejected } = await follower.store(written.at(-1)!, true);
  expect(stored).toEqual(['one', 'three']);
  expect(rejected).toEqual({ lines: 1, reason: `a part of '${written[0]!.file}' is damaged, and was left out` });
});

test('A journal goes on in its latest file when the clock was set back, also after a restart, and all of it is stored in order.', async () => {
  using directory = temporaryDirectory();
  const stored: string[] = [];
  const follower = new JournalFollower(directory.path, async (lines) => {
    stored.push(...lines.map((line) => JSON.parse(line).frame));
    return NOTHING;
  });
  for (const [seconds, text] of [
    [2, 'a'],
    [-3000, 'b'],
    [-4000, 'c'],
    [4000, 'd'],
  ] as const) {
    const { journal, written } = newJournal(directory.path);
    journal.append(frameAt(seconds, text));
    await journal.close();
    await follower.store(written.at(-1)!, true);
  }
  expect(stored).toEqual(['a', 'b', 'c', 'd']);
  expect(readdirSync(join(directory.path, 'journal')).toSorted()).toEqual([
    '2026-11-26T04.frames.zst',
    '2026-11-26T05.frames.zst',
    'stored.json',
  ]);
});

test('A part that could not be stored is stored the next time.', async () => {
  using directory = temporaryDirectory();
  const { journal, written } = newJournal(directory.path);
  journal.append(frameAt(0, 'a'));
  await journal.close();
  let attempts = 0;
  const follower = new JournalFollower(directory.path, async () => {
    attempts += 1;
    if (attempts === 1) throw new Error('the disk is full');
    return NOTHING;
  });
  await expect(follower.store(written[0]!, false)).rejects.toThrow('the disk is full');
  await follower.store(written[0]!, false);
  await follower.store(written[0]!, false);
  expect(attempts).toBe(2);
});

test('No message is stored before one that arrives up to 250 ms later and belongs before it, however the journal is cut.', async () => {
  const random = new SeededRandom('reordered');
  for (let round = 0; round < 20; round += 1) {
    using directory = temporaryDirectory();
    const { journal, written } = newJournal(directory.path);
    const stored: number[] = [];
    let latestMs = 0;
    let follower: JournalFollower | undefined;
    const newFollower = () =>
      new JournalFollower(directory.path, async (lines) => {
        const times = lines.map((line) => Number(JSON.parse(JSON.parse(line).frame).timestamp));
        // A follower that was started again stores some twice.
        const fresh = times.filter((time) => !stored.includes(time));
        for (const time of fresh) expect(time).toBeGreaterThan(latestMs);
        latestMs = Math.max(latestMs, ...fresh);
        stored.push(...fresh);
        return NOTHING;
      });
    const messages = Array.from({ length: 60 }, (_, index) => {
      const timestamp = START_US / 1000 + index * 40;
      return { timestamp, receivedUs: (timestamp + random.below(90)) * 1000 };
    }).toSorted((a, b) => a.receivedUs - b.receivedUs);
    for (const { timestamp, receivedUs } of messages) {
      const frame = JSON.stringify({ event_type: 'price_change', timestamp: String(timestamp) });
      journal.append({ receivedUs, socket: 1, frame });
      if (!random.chance(0.15)) continue;
      await journal.flush();
      if (follower === undefined || random.chance(0.2)) follower = newFollower();
      await follower.store(written.at(-1)!, false);
    }
    await journal.close();
    follower ??= newFollower();
    await follower.store(written.at(-1)!, false);
    // Nothing new has arrived: what waits is stored.
    expect((await follower.store(written.at(-1)!, random.chance(0.5))).isWaiting).toBe(false);
    expect(stored.toSorted()).toEqual(messages.map(({ timestamp }) => timestamp).toSorted());
  }
});

test('the clock follows steps of the wall clock, and never goes back', () => {
  let [monotonicMs, wallMs] = [100, 1_000_000];
  const clock = new AnchoredClock(
    () => monotonicMs,
    () => wallMs,
  );
  expect(clock.nowUs()).toBe(1_000_000_000);
  monotonicMs += 5;
  wallMs += 55;
  expect(clock.takeStep()).toBeUndefined();
  expect(clock.nowUs()).toBe(1_000_005_000);
  wallMs -= 10_000;
  expect(clock.takeStep()).toBe(-9950);
  expect([clock.nowUs(), clock.steps, clock.takeStep()]).toEqual([1_000_005_000, 1, undefined]);
  monotonicMs += 20_000;
  wallMs += 20_000;
  expect(clock.nowUs()).toBe(1_010_055_000);
});
