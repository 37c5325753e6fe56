import { expect, setDefaultTimeout, test } from 'bun:test';
import { sized } from '../support/campaign-size.ts';
import { has, run } from './containers/made-archives.ts';
import {
  mappingOfBooks,
  memoryOfImport,
  RESIDENT_MEBIBYTES_MAX,
  writeCaptures,
  writeMappedCsv,
  writeMappedJson,
  writeMappedParquet,
  writeMappedSqlite,
  writeMessagesParquet,
  writePmxtParquet,
} from './memory.ts';

setDefaultTimeout(600_000);

/** Twice and more of the memory that an import may take. */
const FILES = sized(500, 2000);
const MEMBERS = sized(100, 200);
/** 20 MB of Parquet and more. */
const ROWS = 30_000;

test.each([
  [`${FILES} files of 1.4 MB`, FILES, (directory: string) => writeCaptures(directory, FILES)],
  ['Parquet with 20 MB of book messages', ROWS, (directory: string) => writeMessagesParquet(directory, ROWS)],
  ['Parquet with 20 MB of book rows of PMXT', ROWS, (directory: string) => writePmxtParquet(directory, ROWS)],
] as const)(`an import of %s takes less than ${RESIDENT_MEBIBYTES_MAX} MiB of memory`, async (_, records, fill) => {
  const { mebibytes, report } = await memoryOfImport(fill);
  expect(report).toContain(`${records + 1} records read`);
  expect(mebibytes).toBeLessThan(RESIDENT_MEBIBYTES_MAX);
});

test.each([
  ['CSV', 'csv', (directory: string) => writeMappedCsv(directory, ROWS)],
  ['SQLite of 120 MB', 'sqlite', (directory: string) => writeMappedSqlite(directory, ROWS)],
  ['Parquet of 120 MB before compression', 'parquet', (directory: string) => writeMappedParquet(directory, ROWS)],
  ['an array of JSON over many lines', 'json', (directory: string) => writeMappedJson(directory, ROWS)],
] as const)(`an import of ${ROWS} books as %s by a mapping takes as little`, async (_, format, fill) => {
  let { mebibytes, report } = await memoryOfImport(fill, mappingOfBooks(format));
  expect(report).toContain(`${ROWS + 1} records read`);
  // On a busy machine the collector may run late once.
  if (mebibytes >= RESIDENT_MEBIBYTES_MAX) ({ mebibytes, report } = await memoryOfImport(fill, mappingOfBooks(format)));
  expect(mebibytes).toBeLessThan(RESIDENT_MEBIBYTES_MAX);
});

test.skipIf(!has('zip', 'tar')).each([
  ['zip', 'zip -qrm a.zip .'],
  ['tar.gz', 'tar --hard-dereference -czf ../packed.tar.gz --remove-files * && mv ../packed.tar.gz .'],
])('nor does it grow with the number and the size of the members of a %s', async (_, command) => {
  const { mebibytes, report } = await memoryOfImport((directory) => {
    writeCaptures(directory, MEMBERS);
    run(directory, 'sh', '-c', command);
  });
  expect(report).toContain(`${MEMBERS + 1} records read from ${MEMBERS + 1} files`);
  expect(mebibytes).toBeLessThan(RESIDENT_MEBIBYTES_MAX);
});
