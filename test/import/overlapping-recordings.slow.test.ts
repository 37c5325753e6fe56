import { beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import type { Archive } from '../../src/store/archive.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { booksOf, marketOf } from '../support/imported.ts';
import { realRecording } from '../support/real-recordings.ts';

const CAPTURE = realRecording('ws-capture-5m');

/** Frames of the market in the capture that was open. */
let frames: readonly string[];
let market: { readonly slug: string; readonly conditionId: string };

/** The last book of each instant, and the gaps. */
interface Contents {
  readonly books: ReadonlyMap<string, string>;
  /** Snapshots of all instants: more than `books` if an instant has several. */
  readonly snapshots: number;
  readonly gaps: readonly { readonly fromMs: number; readonly toMs: number }[];
}

function contentsOf(archive: Archive): Contents {
  const books = new Map<string, string>();
  let snapshots = 0;
  for (const outcome of OUTCOMES) {
    for (const { timestampMs, book } of booksOf(archive, market.slug, outcome)) {
      snapshots += 1;
      books.set(`${outcome} ${timestampMs}`, JSON.stringify(book));
    }
  }
  return { books, snapshots, gaps: archive.gaps.list(marketOf(archive, market.slug).key) };
}

/** Imports each group of recordings with one command; a recording is a list of frames. */
async function imported(...commands: (readonly (readonly string[])[])[]): Promise<Contents> {
  using place = temporaryArchive();
  using directory = temporaryDirectory();
  const path = (name: string) => join(directory.path, name);
  for (const [c, recordings] of commands.entries()) {
    const files = recordings.map((lines, r) => {
      writeFileSync(path(`${c}-${r}.jsonl`), lines.join('\n'));
      return path(`${c}-${r}.jsonl`);
    });
    const { total } = await importPaths(place.archive, join(CAPTURE!, 'markets.json'), ...files);
    expect(total.read).toBe(total.stored + total.duplicate + total.contradicted + total.rejected);
  }
  return contentsOf(place.archive);
}

/** A recording that missed a part of the frames of changes, by a generator with a seed. */
function missing(part: number, seed: number): string[] {
  let state = seed;
  return frames.filter((frame) => {
    if (!frame.includes('"price_change"')) return true;
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32 >= part;
  });
}

/** Last books that differ from those of the perfect recording, and instants that only one of both has. */
function compared(found: Contents, perfect: Contents) {
  let [wrong, extra] = [0, 0];
  for (const [name, book] of found.books) {
    const right = perfect.books.get(name);
    if (right === undefined) extra += 1;
    else if (right !== book) wrong += 1;
  }
  return { wrong, extra, missing: perfect.books.size - found.books.size + extra };
}

/** Instants without a book that no gap covers. */
function unexplained(found: Contents, perfect: Contents): string[] {
  return [...perfect.books.keys()].filter((name) => {
    const ms = Number(name.split(' ')[1]);
    return !found.books.has(name) && !found.gaps.some(({ fromMs, toMs }) => fromMs <= ms && ms <= toMs);
  });
}

describe.skipIf(CAPTURE === undefined)('two recordings of the same time', () => {
  let perfect: Contents;

  beforeAll(async () => {
    market = JSON.parse(readFileSync(join(CAPTURE!, 'markets.json'), 'utf8')).current;
    const lines = readFileSync(join(CAPTURE!, 'market-ws.jsonl'), 'utf8').trimEnd().split('\n');
    frames = lines.filter((line) => line.includes(market.conditionId));
    perfect = await imported([frames]);
  });

  test('a perfect one has one book for each instant, and no gap', () => {
    expect(perfect.snapshots).toBe(perfect.books.size);
    expect(perfect.gaps).toEqual([]);
  });

  test.each([7, 99, 1234])(
    'a perfect one after one that missed a frame of changes in a hundred repairs it, but for books of single milliseconds (seed %d)',
    async (seed) => {
      const found = await imported([missing(0.01, seed)], [frames]);
      const { wrong, ...others } = compared(found, perfect);
      expect(found.snapshots).toBe(perfect.snapshots);
      expect({ ...others, gaps: found.gaps }).toEqual({ extra: 0, missing: 0, gaps: [] });
      // Two sizes of one level within one millisecond, of which the first recording has the first only.
      expect(wrong).toBeLessThanOrEqual(4);
    },
  );

  test.each([7, 99, 1234])(
    'one that missed frames leaves a perfect archive almost as it was, and opens no gap (seed %d)',
    async (seed) => {
      const poor = missing(0.01, seed);
      for (const commands of [[[frames], [poor]], [[frames, poor]]]) {
        const found = await imported(...commands);
        expect({ ...compared(found, perfect), wrong: 0, gaps: found.gaps }).toEqual({
          wrong: 0,
          extra: 0,
          missing: 0,
          gaps: [],
        });
        expect(found.snapshots).toBe(perfect.snapshots);
        // Two sizes of one level within one millisecond, of which the second recording has the first only.
        expect(compared(found, perfect).wrong).toBeLessThanOrEqual(8);
      }
    },
  );

  test.each([0.01, 0.05, 0.2])(
    'two that missed different frames (%d) have fewer wrong and missing books than either, and gaps for those that are missing',
    async (part) => {
      const [one, other] = [missing(part, 7), missing(part, 99)];
      const alone = await imported([one]);
      const both = await imported([one], [other]);
      expect(both.snapshots).toBe(both.books.size);
      expect(both.books.size).toBeGreaterThan(alone.books.size);
      expect(unexplained(alone, perfect).length).toBeLessThan(perfect.books.size * part * 1.5);
      expect(unexplained(both, perfect).length).toBeLessThan(unexplained(alone, perfect).length);
    },
  );

  test.each([0.01, 0.05])(
    'a poor recording (%d) that is imported again changes no gap, and no book but to one that a hash proves',
    async (part) => {
      const poor = missing(part, 7);
      const [once, twice] = [await imported([poor]), await imported([poor], [poor])];
      expect(twice.gaps.length).toBeLessThanOrEqual(once.gaps.length);
      expect(unexplained(twice, perfect).length).toBeLessThanOrEqual(unexplained(once, perfect).length);
      expect(compared(twice, perfect).wrong).toBeLessThanOrEqual(compared(once, perfect).wrong);
      expect(await imported([frames], [frames])).toEqual(perfect);
    },
  );

  test('a recording that is cut into files has the books of the whole one with one command', async () => {
    const cuts = [0, 900, 901, 2500, 4000, frames.length];
    const pieces = cuts.slice(1).map((to, index) => frames.slice(cuts[index]!, to));
    expect(await imported(pieces)).toEqual(perfect);
  });
});
