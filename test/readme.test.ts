import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createProgram } from '../src/cli/program.ts';
import { captured } from './support/captured.ts';

const ROOT = join(import.meta.dir, '..');
const PAGES = ['README.md', 'src/README.md', 'test/README.md', 'test/contract/DECISIONS.md', 'CHANGELOG.md'];
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const program = createProgram(captured());

test('the README has at most 150 lines, and the page about the rooms fewer than 100', () => {
  expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150);
  expect(read('src/README.md').trimEnd().split('\n').length).toBeLessThan(100);
});

describe.each(PAGES)('%s', (page) => {
  const text = read(page);

  test('links to files that exist', () => {
    const links = [...text.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, link]) => link!);
    for (const link of links.filter((target) => !/^https?:/.test(target))) {
      expect({ link, exists: existsSync(join(ROOT, dirname(page), link)) }).toEqual({ link, exists: true });
    }
  });

  test('names commands and targets of make that exist', () => {
    const commands = new Set(program.commands.map((command) => command.name()));
    for (const [, noun] of text.matchAll(/dist\/bookreel ([a-z]\w*)/g)) expect([...commands]).toContain(noun!);
    const targets = new Set([...read('Makefile').matchAll(/^([a-z]+):.*## /gm)].map(([, name]) => name!));
    for (const [, name] of text.matchAll(/`make ([a-z]+)/g)) expect([...targets]).toContain(name!);
  });
});

test('every decision names a test that exists', () => {
  const rows = [...read('test/contract/DECISIONS.md').matchAll(/^\| .* \| `(test\/[^`]+)`: (.+) \|$/gm)];
  expect(rows.length).toBeGreaterThan(15);
  for (const [, file, name] of rows) {
    expect({ file, exists: existsSync(join(ROOT, file!)) }).toEqual({ file, exists: true });
    expect({ name, found: read(file!).includes(name!) }).toEqual({ name, found: true });
  }
});

test('every decision is one row that says what is decided and names its test', () => {
  const rows = read('test/contract/DECISIONS.md')
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\|(?:---| decision )/.test(line));
  for (const row of rows) expect(row).toMatch(/^\| [A-Z`].*\. \| `test\/[^`]+`: .+ \|$/);
});
