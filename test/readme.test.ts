import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createProgram } from '../src/cli/program.ts';
import { captured } from './cli/captured.ts';
import { DECISIONS, decisionsOf, decisionsPage } from './decisions.ts';

const ROOT = join(import.meta.dir, '..');
const PAGES = ['README.md', 'src/README.md', 'test/README.md', DECISIONS, 'CHANGELOG.md'];
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

test('every decision is on the page of decisions, with the file of its test', () => {
  expect(read(DECISIONS)).toBe(decisionsPage());
  const titles = `  TEST('Keys end. (%s)', () => {\n  ])('is no sentence', () => {\n    ['A row counts.', 1],\n    ['..', 2],`;
  expect(decisionsOf(titles.replace('TEST', 'test'))).toEqual(['Keys end.', 'A row counts.']);
});
