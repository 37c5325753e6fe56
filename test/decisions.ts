/**
 * The decisions that the specification leaves open, as `test/contract/DECISIONS.md` lists them. A decision is a test (or a group, or a
 * row of its table) whose title is a sentence with a full stop; an example or a need may follow in brackets: 'No key is logged. (%s)'.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';

const TESTS = import.meta.dir;
/** Relative to the root of the project. */
export const DECISIONS = 'test/contract/DECISIONS.md';
const TITLE =
  /(?:\b(?:test|describe)(?:\.\w+)*\(|\)\(|^ *\[|\bwhat:)\s*(['`])((?:(?!\1)[^\\\n])+\.)(?: \((?:(?!\1)[^\n])+\))?\1,/gm;
const INTRODUCTION = `# Decisions

What the contract leaves open and this project has decided. Each line is the title of a test of that file, which fails if the decision
is broken. \`make decisions\` writes this page from the tests: a title that is a sentence with a full stop is a decision.
`;

/** The decisions among the titles of a test file, in their order. */
export function decisionsOf(source: string): string[] {
  const sentences = [...source.matchAll(TITLE)]
    .map(([, , sentence]) => sentence!)
    .filter((title) => title.includes(' '));
  return [...new Set(sentences)];
}

/** The page of all decisions: a section per folder of tests, a line per decision. */
export function decisionsPage(): string {
  const sections = new Map<string, string[]>();
  for (const path of [...new Glob('**/*.ts').scanSync({ cwd: TESTS })].filter(isOwn).sort()) {
    const [, folder = '', file] = /^(?:(.+)\/)?([^/]+?)(?:\.(?:slow|long|campaign))?(?:\.test)?\.ts$/.exec(path)!;
    const lines = decisionsOf(readFileSync(join(TESTS, path), 'utf8')).map((title) => `- ${title} (${file})`);
    if (lines.length > 0) sections.set(folder, [...(sections.get(folder) ?? []), ...lines]);
  }
  const ordered = [...sections].sort(([one], [other]) => (one < other ? -1 : 1));
  return `${INTRODUCTION}${ordered.map(([folder, lines]) => `\n## ${join('test', folder)}\n\n${lines.join('\n')}\n`).join('')}`;
}

const isOwn = (path: string): boolean => !path.includes('node_modules/');

if (import.meta.main) {
  const path = join(TESTS, '..', DECISIONS);
  if (!process.argv.includes('--check')) writeFileSync(path, decisionsPage());
  else if (readFileSync(path, 'utf8') !== decisionsPage()) {
    process.stderr.write(`${DECISIONS} differs from the titles of the tests: run 'make decisions'\n`);
    process.exitCode = 1;
  }
}
