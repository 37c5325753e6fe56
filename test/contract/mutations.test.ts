import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MUTATIONS } from './mutations.ts';

const ROOT = join(import.meta.dir, '..', '..');
const WRITTEN = join(import.meta.dir, 'MUTATIONS.md');

/** `make mutate` takes too long for every run of the tests; its table must not rot meanwhile. */
test('what breaks a rule of the contract still stands in the sources, once', () => {
  expect(MUTATIONS.length).toBeGreaterThan(100);
  for (const { rule, file, old, replacement, tests } of MUTATIONS) {
    const found = readFileSync(join(ROOT, 'src', file), 'utf8').split(old).length - 1;
    expect({ rule, file, old, found }).toEqual({ rule, file, old, found: 1 });
    expect(replacement).not.toBe(old);
    if (tests !== undefined) expect(existsSync(join(ROOT, tests))).toBe(true);
  }
});

test('each is told by a name of its own, and the last run noticed every one', () => {
  const rules = MUTATIONS.map(({ rule, edit }) => `${rule} | ${edit}`);
  expect(new Set(rules).size).toBe(rules.length);
  const written = readFileSync(WRITTEN, 'utf8');
  for (const row of rules) expect(written).toContain(`| ${row} |`);
  expect(written).toContain(`${rules.length} of ${rules.length} edits were noticed`);
});
