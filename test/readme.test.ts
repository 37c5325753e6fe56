import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProgram } from '../src/cli/program.ts';
import { NOW_MS } from './support/archive.ts';

const ROOT = join(import.meta.dir, '..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

const program = createProgram({
  out: () => undefined,
  err: () => undefined,
  write: async () => undefined,
  errIsTerminal: false,
  clock: () => NOW_MS,
});

test('is for reading: under 300 lines beside its rows of settings, and so is the page about the rooms', () => {
  const read = README.split('\n').filter((line) => !/^\| `--/.test(line));
  expect(read.length).toBeLessThan(300);
  expect(readFileSync(join(ROOT, 'src/README.md'), 'utf8').split('\n').length).toBeLessThan(100);
});

test('names commands and options that exist', () => {
  const commands = new Set(program.commands.map((command) => command.name()));
  const used = [...README.matchAll(/dist\/bookreel (\w+)/g)].map(([, noun]) => noun!);
  expect(used.length).toBeGreaterThan(3);
  for (const noun of used) expect([...commands]).toContain(noun);
});

test('every decision names a test that exists', () => {
  const decisions = readFileSync(join(ROOT, 'test/contract/DECISIONS.md'), 'utf8');
  const rows = [...decisions.matchAll(/^\| .* \| `(test\/[^`]+)`: (.+) \|$/gm)];
  expect(rows.length).toBeGreaterThan(15);
  for (const [, file, name] of rows) {
    expect({ file, exists: existsSync(join(ROOT, file!)) }).toEqual({ file, exists: true });
    expect({ name, found: readFileSync(join(ROOT, file!), 'utf8').includes(name!) }).toEqual({ name, found: true });
  }
});
