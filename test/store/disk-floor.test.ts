import { expect, test } from 'bun:test';
import { existsSync, statfsSync } from 'node:fs';
import { freeBytes } from '../../src/store/disk-floor.ts';

test('The free space of a disk is that of its file system, and without a bound where that does not say.', () => {
  const { bavail, bsize } = statfsSync(import.meta.dir);
  // Other programs write to the disk meanwhile.
  expect(Math.abs(freeBytes(import.meta.dir) - bavail * bsize)).toBeLessThan(1e9);
  if (existsSync('/proc/self')) expect(freeBytes('/proc')).toBe(Infinity);
});
