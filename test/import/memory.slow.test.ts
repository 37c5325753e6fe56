import { expect, test } from 'bun:test';
import { memoryOfImport, RESIDENT_MEBIBYTES_MAX, writeCaptures } from './memory.ts';

const FILES = 200;

test('the memory of an import does not grow with the number of its files', async () => {
  const { mebibytes, report } = await memoryOfImport((directory) => writeCaptures(directory, FILES));
  expect(report).toContain(`${FILES + 1} records read from ${FILES + 1} files`);
  expect(mebibytes).toBeLessThan(RESIDENT_MEBIBYTES_MAX);
});
