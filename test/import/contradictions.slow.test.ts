import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { ImportReport } from '../../src/import/report.ts';
import type { Archive } from '../../src/store/archive.ts';
import { importPaths, importRecords, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { booksOf } from '../support/imported.ts';
import { CONDITION_ID, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';

const SLUG = 'btc-updown-5m-1776323400';
const AT_MS = 1_776_323_404_000;

/** A time after AT_MS and the size of the only level. */
type Book = readonly [offsetMs: number, size: number];

const lineOf = ([offsetMs, size]: Book) =>
  JSON.stringify(sampleSnapshot({ timestamp: AT_MS + offsetMs, bids: [{ price: 0.5, size }], asks: [] }));

/** Imports files in one command, in their order. */
async function importFiles(archive: Archive, ...files: readonly (readonly Book[])[]): Promise<ImportReport> {
  using directory = temporaryDirectory();
  const content = (books: readonly Book[]) => [JSON.stringify(sampleMarket()), ...books.map(lineOf)].join('\n');
  for (const [i, books] of files.entries()) writeFileSync(join(directory.path, `${i}.ndjson`), content(books));
  return await importPaths(archive, directory.path);
}

function booksIn(archive: Archive): Book[] {
  return booksOf(archive, SLUG, 'up').map(({ timestampMs, book }) => [timestampMs - AT_MS, book.bidSizes[0]!]);
}

const snapshotsOf = ({ total }: ImportReport) => total.types.find(({ type }) => type === 'snapshot');

describe('a book of one source that differs from the archive’s of the same instant', () => {
  test.each(['in a later command', 'in the same command'])('%s is counted, not stored', async (when) => {
    using place = temporaryArchive();
    const first: readonly Book[] = [
      [0, 1],
      [1, 2],
      [2, 3],
    ];
    const second: readonly Book[] = [
      [0, 1],
      [1, 7],
      [2, 8],
      [3, 9],
    ];
    const before = when === 'in a later command' ? [await importFiles(place.archive, first)] : [];
    const report = await importFiles(place.archive, ...(before.length > 0 ? [second] : [first, second]));
    expect(booksIn(place.archive)).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 9],
    ]);
    expect(report.files.at(-1)).toMatchObject({ read: 5, stored: 1, duplicate: 2, contradicted: 2, rejected: 0 });
    expect(report.files.at(-1)!.types.find(({ type }) => type === 'snapshot')).toMatchObject({
      ...{ made: 4, stored: 1, duplicate: 1, contradicted: 2 },
    });
    expect(report.notes).toEqual([
      expect.stringMatching(
        new RegExp(
          `ndjson: 2 books are not stored, because the archive has different books for the same instants, the first at 2026-04-16T07:10:04.001Z of market ${CONDITION_ID}$`,
        ),
      ),
    ]);
    const again = await importFiles(place.archive, second);
    expect(snapshotsOf(again)).toMatchObject({ stored: 0, duplicate: 2, contradicted: 2 });
  });

  test('Snapshots that contradict another source’s at one instant are not stored, but a sequence that continues the archive’s is.', async () => {
    using place = temporaryArchive();
    await importFiles(place.archive, [
      [0, 1],
      [1, 2],
    ]);
    const report = await importFiles(place.archive, [
      [0, 1],
      [0, 3],
      [0, 1],
      [1, 2],
    ]);
    expect(snapshotsOf(report)).toMatchObject({ stored: 2, contradicted: 0, duplicate: 2 });
    expect(booksIn(place.archive)).toEqual([
      [0, 1],
      [0, 3],
      [0, 1],
      [1, 2],
    ]);
  });

  test('leaves the last book of the instant where its sequence has a book in between', async () => {
    using place = temporaryArchive();
    await importFiles(place.archive, [
      [0, 1],
      [0, 2],
      [1, 1],
    ]);
    const report = await importFiles(place.archive, [
      [0, 1],
      [0, 3],
      [0, 2],
      [1, 1],
    ]);
    expect(snapshotsOf(report)).toMatchObject({ stored: 0, contradicted: 1, duplicate: 3 });
    expect(booksIn(place.archive)).toEqual([
      [0, 1],
      [0, 2],
      [1, 1],
    ]);
  });

  test('is a duplicate if the archive’s sequence contains its own', async () => {
    using place = temporaryArchive();
    await importFiles(place.archive, [
      [0, 1],
      [0, 3],
      [0, 2],
    ]);
    const report = await importFiles(
      place.archive,
      [
        [0, 1],
        [0, 2],
      ],
      [[0, 3]],
    );
    expect(snapshotsOf(report)).toMatchObject({ stored: 0, contradicted: 0, duplicate: 3 });
  });
});

describe('books with ids', () => {
  const numbered = (size: number, id: number) =>
    sampleSnapshot({ timestamp: AT_MS, bids: [{ price: 0.5, size }], asks: [], id: String(id) });

  test('are pieces of one export while their ids are free: they have the order of their ids', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket(), numbered(2, 20)]);
    const report = await importRecords(place.archive, [sampleMarket(), numbered(1, 10), numbered(3, 30)]);
    expect(snapshotsOf(report)).toMatchObject({ stored: 2, contradicted: 0 });
    expect(booksIn(place.archive)).toEqual([
      [0, 1],
      [0, 2],
      [0, 3],
    ]);
  });

  test('that are taken are of another archive, whose other books contradict', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket(), numbered(2, 20)]);
    const report = await importRecords(place.archive, [sampleMarket(), numbered(5, 20)]);
    expect(snapshotsOf(report)).toMatchObject({ stored: 0, contradicted: 1 });
    expect(booksIn(place.archive)).toEqual([[0, 2]]);
  });
});

describe('books of one instant of one source', () => {
  const books = fc
    .array(fc.tuple(fc.nat({ max: 2 }), fc.integer({ min: 1, max: 3 })), { minLength: 1, maxLength: 24 })
    .map((made): Book[] => made.toSorted(([a], [b]) => a - b));

  test('Consecutive files of one command continue an instant: a recording that is cut in pieces imports like the whole one.', async () => {
    await fc.assert(
      fc.asyncProperty(books, fc.array(fc.nat({ max: 24 }), { maxLength: 3 }), async (recorded, places) => {
        const cuts = [0, ...places.map((at) => at % (recorded.length + 1)).toSorted((a, b) => a - b), recorded.length];
        const pieces = cuts.slice(1).map((to, i) => recorded.slice(cuts[i], to));
        using whole = temporaryArchive();
        using cut = temporaryArchive();
        await importFiles(whole.archive, recorded);
        const report = await importFiles(cut.archive, ...pieces);
        expect(booksIn(cut.archive)).toEqual(booksIn(whole.archive));
        expect(report.total.contradicted).toBe(0);
        expect(report.notes).toEqual([]);
        expect(snapshotsOf(await importFiles(cut.archive, ...pieces))?.stored ?? 0).toBe(0);
        expect(snapshotsOf(await importFiles(whole.archive, recorded))?.stored ?? 0).toBe(0);
      }),
      { numRuns: 25, seed: 20_261_124 },
    );
  });

  test('are a sequence also where others come in between, or a batch ends', async () => {
    using place = temporaryArchive();
    const many = Array.from({ length: 9000 }, (_, i): Book => [i + 10, 5]);
    const report = await importFiles(place.archive, [[0, 1], ...many, [0, 2]]);
    expect(snapshotsOf(report)).toMatchObject({ made: 9002, stored: 9002, contradicted: 0 });
    expect(booksIn(place.archive).slice(0, 2)).toEqual([
      [0, 1],
      [0, 2],
    ]);
  });
});
