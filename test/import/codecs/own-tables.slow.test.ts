import { Database } from 'bun:sqlite';
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { inspect } from '../../../src/import/inspection/inspection.ts';
import { exported, linesOfNdjson } from '../../export/exported.ts';
import { generatedRecording } from '../../export/generated-recording.ts';
import { importPaths, importRecords, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import { booksOf, importFile } from '../../support/imported.ts';
import { sampleCoinPrice, sampleGap, sampleMarket, sampleQuote, sampleSnapshot } from '../../support/sample-records.ts';

setDefaultTimeout(120_000);

const FORMATS = ['csv', 'parquet', 'sqlite'] as const;
const NAMES = { csv: 'bookreel CSV export', parquet: 'bookreel Parquet export', sqlite: 'bookreel SQLite export' };

describe.each(FORMATS)('an export as %s', (format) => {
  test('CSV, Parquet and SQLite exports import again with their ids, but without texts and fees of markets, as a note says.', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 2 ** 30 }), async (seed) => {
        using first = temporaryArchive();
        using second = temporaryArchive();
        await importRecords(first.archive, generatedRecording(seed, { hasArrivals: true }));
        const { bytes } = await exported(first.archive, format);
        const report = await importFile(second.archive, `any.${format}`, bytes);
        expect(report.rejections).toEqual([]);
        expect(report.files.map((file) => file.format)).toEqual([NAMES[format]]);
        expect((await exported(second.archive, 'ndjson')).bytes.toString()).toBe(
          (await exported(first.archive, 'ndjson')).bytes.toString(),
        );
        expect((await importFile(second.archive, `any.${format}`, bytes)).total.stored).toBe(0);
      }),
      { seed: 20_260_416, numRuns: 5 },
    );
  });

  test('keeps the order of equal and different books of one instant, and books without levels', async () => {
    using first = temporaryArchive();
    using second = temporaryArchive();
    const sides = [[1], [2], [1], [], [1, 3]];
    const books = sides.map((sizes) =>
      sampleSnapshot({ bids: sizes.map((size, i) => ({ price: 0.5 - i / 100, size })), asks: [] }),
    );
    await importRecords(first.archive, [sampleMarket(), ...books]);
    const { bytes } = await exported(first.archive, format);
    const { total, files } = await importFile(second.archive, `any.${format}`, bytes);
    const stored = booksOf(second.archive, 'btc-updown-5m-1776323400', 'up');
    expect(stored.map(({ book }) => book.bidSizes)).toEqual(sides);
    // The market, and a row per level or empty book: the records are fewer.
    expect(total).toMatchObject({ read: 7, stored: 7 });
    expect(files[0]!.types.map(({ type, made, stored }) => [type, made, stored])).toEqual([
      ['market', 1, 1],
      ['snapshot', 5, 5],
    ]);
  });

  test('says that it has no texts of markets', async () => {
    using first = temporaryArchive();
    using second = temporaryArchive();
    await importRecords(first.archive, [sampleMarket({ details: { question: 'Up or down?' } })]);
    const { notes } = await importFile(second.archive, 'any', (await exported(first.archive, format)).bytes);
    expect(notes).toEqual([
      `a ${NAMES[format]} lacks the texts and fees of markets: to get them, import an ndjson or segments export`,
    ]);
  });

  test('is named by inspect', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    await importRecords(place.archive, [sampleMarket(), sampleSnapshot()]);
    const path = join(directory.path, 'any');
    writeFileSync(path, (await exported(place.archive, format)).bytes);
    expect((await inspect({ path, name: path, named: true })).recording).toBe(NAMES[format]);
  });

  test('beside other recordings in a directory is read as itself', async () => {
    using first = temporaryArchive();
    using second = temporaryArchive();
    using directory = temporaryDirectory();
    await importRecords(first.archive, [sampleMarket(), sampleSnapshot(), sampleQuote(), sampleGap()]);
    writeFileSync(join(directory.path, 'a.ndjson'), JSON.stringify(sampleCoinPrice()));
    writeFileSync(join(directory.path, 'b'), (await exported(first.archive, format)).bytes);
    const report = await importPaths(second.archive, directory.path);
    expect(report.files.map((file) => file.format).sort()).toEqual([NAMES[format], 'bookreel NDJSON'].sort());
    expect(linesOfNdjson((await exported(second.archive, 'ndjson')).bytes)).toHaveLength(5);
  });
});

test('a row of a CSV export that is not a record is rejected with its line, and the others are stored', async () => {
  using first = temporaryArchive();
  using second = temporaryArchive();
  await importRecords(first.archive, [sampleMarket(), sampleSnapshot(), sampleSnapshot({ outcome: 'down' })]);
  const lines = (await exported(first.archive, 'csv')).bytes.toString().split('\n');
  // The second level of the first book.
  lines[3] = lines[3]!.replace(/,bid,2,0\.5,/, ',bid,2,1.5,');
  lines.splice(2, 0, 'nonsense');
  const report = await importFile(second.archive, 'any.csv', lines.join('\n'));
  expect(report.rejections.map(({ line, kind }) => [line, kind])).toEqual([
    [3, 'unknown'],
    [4, 'snapshot'],
    [5, 'snapshot'],
    [6, 'snapshot'],
  ]);
  expect(report.total).toMatchObject({ read: 8, stored: 4, rejected: 4 });
});

test('a database with tables of the same names is not taken for an export', async () => {
  using place = temporaryArchive();
  using directory = temporaryDirectory();
  const path = join(directory.path, 'other.sqlite');
  const database = new Database(path);
  for (const table of ['markets', 'snapshots', 'levels', 'coin_prices'])
    database.run(`CREATE TABLE ${table} (id INTEGER)`);
  database.close();
  expect(importPaths(place.archive, path)).rejects.toThrow('it is a SQLite database: describe it with a mapping');
});

test('A SQLite export of an earlier version, without arrivals, is imported.', async () => {
  using first = temporaryArchive();
  using second = temporaryArchive();
  using directory = temporaryDirectory();
  await importRecords(first.archive, generatedRecording(7, { hasArrivals: false }));
  const path = join(directory.path, 'earlier.sqlite');
  writeFileSync(path, (await exported(first.archive, 'sqlite')).bytes);
  const database = new Database(path);
  for (const table of ['snapshots', 'quotes', 'prices', 'coin_prices'])
    database.run(`ALTER TABLE ${table} DROP COLUMN received_ms`);
  database.close();
  expect((await importPaths(second.archive, path)).rejections).toEqual([]);
  const [before, after] = await Promise.all([first, second].map(({ archive }) => exported(archive, 'ndjson')));
  expect(after!.bytes.toString()).toBe(before!.bytes.toString());
});
