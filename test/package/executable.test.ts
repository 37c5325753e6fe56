import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXECUTABLE, HAS_EXECUTABLE } from '../support/executable.ts';

const ROOT = join(import.meta.dir, '..', '..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const MANIFEST = JSON.parse(read('package.json')) as { version: string; devDependencies: Record<string, string> };

describe.skipIf(!HAS_EXECUTABLE)('the executable (needs make build)', () => {
  test('has no path of the machine that built it, from which it could load code', () => {
    expect(readFileSync(EXECUTABLE).includes(`${ROOT}/`)).toBe(false);
  });
});

test('the runtimes for other processors have the version of Bun in the project', () => {
  const { devDependencies } = JSON.parse(read('src/package/runtimes/package.json')) as typeof MANIFEST;
  expect(Object.keys(devDependencies).sort()).toEqual(['@oven/bun-linux-aarch64', '@oven/bun-linux-x64-baseline']);
  for (const version of Object.values(devDependencies)) expect(version).toBe(MANIFEST.devDependencies.bun!);
});

test('the changelog has the version with its date, which is the time of all files in packages', () => {
  expect(read('CHANGELOG.md')).toMatch(
    new RegExp(`^## \\[${MANIFEST.version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d{2}-\\d{2}$`, 'm'),
  );
});
