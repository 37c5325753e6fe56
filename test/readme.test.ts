import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { Glob } from 'bun';
import { createProgram } from '../src/cli/program.ts';
import { PAGE_NAMES } from '../src/manual/manual.ts';
import { DECISIONS, decisionsOf, decisionsPage } from './decisions.ts';
import { captured } from './support/captured.ts';

const ROOT = join(import.meta.dir, '..');
/** The pages about the sources. */
const ROOMS = ['src/README.md', 'src/RECIPES.md'];
const PAGES = ['README.md', ...ROOMS, 'test/README.md', DECISIONS, 'CHANGELOG.md'];
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const program = await createProgram(captured());

test('the README has at most 150 lines, and the page about the rooms 1,500 words in short lines', () => {
  expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150);
  expect(read('src/README.md').trim().split(/\s+/).length).toBeLessThanOrEqual(1500);
  const long = ROOMS.flatMap((page) => read(page).split('\n')).filter((line) => line.length > 140 && line[0] !== '|');
  expect(long).toEqual([]);
});

const paths = [...new Glob('{src,test,fixtures}/**').scanSync({ cwd: ROOT })].filter(
  (path) => !path.includes('/node_modules/'),
);
const source = paths.flatMap((path) => (/^src\/.*\.(tsx?|md|sh)$/.test(path) ? [read(path)] : [])).join('\n');
const namesOf = (page: string) =>
  [
    ...read(page)
      .replaceAll(/^```.*?^```/gms, '')
      .matchAll(/`([^`]+)`/g),
  ].map((m) => m[1]!);

test.each(ROOMS)('%s names files, folders and classes that exist', (page) => {
  const missing = namesOf(page).filter((name) => {
    if (/^[\w.@/-]+(\/|\.(tsx?|md|json|sh))$/.test(name))
      return !paths.some((path) => `/${path}`.includes(`/${name}`)) && !existsSync(join(ROOT, name));
    return /^[A-Z]/.test(name) && !name.split('.').every((word) => new RegExp(`\\b${word}\\b`).test(source));
  });
  expect(missing).toEqual([]);
});

test('the changelog names commands, options, pages of the manual, paths and fields that exist', () => {
  const optionsOf = (command: CommandUnknownOpts): string[] => [
    ...command.options.map(({ long }) => long!),
    ...command.commands.flatMap(optionsOf),
  ];
  const missing = namesOf('CHANGELOG.md').filter((name) => {
    const words = name.replace('bookreel ', '').split(/\s+/);
    let command: CommandUnknownOpts = program;
    for (const word of words) command = command.commands.find((one) => one.name() === word) ?? command;
    if (command.name() === 'manual' && /^[a-z]/.test(words[1] ?? '') && !PAGE_NAMES.includes(words[1]!)) return true;
    if (words.some((word) => word.startsWith('--') && ![...optionsOf(command), '--json'].includes(word))) return true;
    if (command !== program || words[0]!.startsWith('--') || words[0] === 'make') return false;
    return !source.includes(name.startsWith('/') ? name.split(/[{…]/)[0]! : name);
  });
  expect(missing).toEqual([]);
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
    const targets = new Set([...read('Makefile').matchAll(/^([a-z-]+):.*## /gm)].map(([, name]) => name!));
    for (const [, name] of text.matchAll(/`make ([a-z-]+)/g)) expect([...targets]).toContain(name!);
  });
});

test('every decision is on the page of decisions, with the file of its test', () => {
  expect(read(DECISIONS)).toBe(decisionsPage());
  const titles = `  TEST('Keys end. (%s)', () => {\n  ])('is no sentence', () => {\n    ['A row counts.', 1],\n    ['..', 2],`;
  expect(decisionsOf(titles.replace('TEST', 'test'))).toEqual(['Keys end.', 'A row counts.']);
});
