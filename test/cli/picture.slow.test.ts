import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { printed, runExecutable } from '../support/executable.ts';

const PICTURE = join(import.meta.dir, '..', '..', 'fixtures', 'heat-map.svg');
const MARKET = 'simulated-btc-updown-5m-1767868200';

test("the README's picture is what the executable draws of the simulated recordings", async () => {
  using directory = temporaryDirectory();
  await printed(['seed', '--data', directory.path]);
  const { code, stdout, stderr } = await runExecutable(['plot', MARKET, '--data', directory.path]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  // Otherwise run `make picture`.
  expect(stdout).toBe(readFileSync(PICTURE, 'utf8'));
  const shown = await runExecutable(['show', MARKET, '--data', directory.path, '--at', '2026-01-08T10:31:40Z']);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain('-- mid 0.285, spread 0.01\n');
});
