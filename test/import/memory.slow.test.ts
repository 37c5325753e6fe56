import { expect, test } from 'bun:test';
import { has, run } from './containers/made-archives.ts';
import { memoryOfImport, RESIDENT_MEBIBYTES_MAX, writeCaptures } from './memory.ts';

const FILES = 200;

test('the memory of an import does not grow with the number of its files', async () => {
  const { mebibytes, report } = await memoryOfImport((directory) => writeCaptures(directory, FILES));
  expect(report).toContain(`${FILES + 1} records read from ${FILES + 1} files`);
  expect(mebibytes).toBeLessThan(RESIDENT_MEBIBYTES_MAX);
});

test.skipIf(!has('zip', 'tar')).each([
  ['zip', 'zip -qrm a.zip .'],
  ['tar.gz', 'tar --hard-dereference -czf ../packed.tar.gz --remove-files * && mv ../packed.tar.gz .'],
])('nor with the number and the size of the members of a %s', async (_, command) => {
  const { mebibytes, report } = await memoryOfImport((directory) => {
    writeCaptures(directory, FILES);
    run(directory, 'sh', '-c', command);
  });
  expect(report).toContain(`${FILES + 1} records read from ${FILES + 1} files`);
  expect(mebibytes).toBeLessThan(RESIDENT_MEBIBYTES_MAX);
});
