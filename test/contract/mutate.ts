import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MUTATIONS, type Mutation } from './mutations.ts';

/**
 * Breaks each rule of the contract once, in a copy of the sources, and wants a test to fail: `bun test/contract/mutate.ts`
 * takes them all and writes MUTATIONS.md; with words behind it, those whose rule has one of them.
 */
const ROOT = join(import.meta.dir, '..', '..');
const SUITE = 'test/contract/in-process.test.ts';
const COPIED = ['src', 'fixtures', 'test', 'package.json', 'tsconfig.json', 'bunfig.toml'];
/** The suite takes a tenth of it. */
const DEADLINE_MS = 180_000;

interface Verdict {
  readonly mutation: Mutation;
  /** The first test that failed; undefined when all passed. */
  readonly caughtBy: string | undefined;
}

function copyOfSources(): string {
  const copy = mkdtempSync(join(tmpdir(), 'bookreel-mutate-'));
  const filter = (path: string) => !path.endsWith('node_modules');
  for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true, filter });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** The name of the first test that fails in `directory`; undefined when all pass. */
async function firstFailure(directory: string, tests: string, part = ''): Promise<string | undefined> {
  const child = Bun.spawn([process.execPath, 'test', '--bail', '--timeout', '60000', tests, '-t', part], {
    cwd: directory,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
    timeout: DEADLINE_MS,
  });
  const report = await new Response(child.stderr).text();
  if ((await child.exited) === 0) return undefined;
  const [, failed] = /^\(fail\) (.+?)(?: \[[\d.]+m?s\])?$/m.exec(report) ?? [];
  if (failed !== undefined)
    return failed.replace(/^the contract, in process > /, '').replace('(unnamed)', 'before its first test');
  if (child.signalCode !== null) return 'the suite did not end';
  throw new Error(`no test failed, but the run did: ${report.slice(-2000)}`);
}

/** Applies one edit to a copy of the sources, and takes it back. */
async function verdictOf(directory: string, mutation: Mutation): Promise<Verdict> {
  const path = join(directory, 'src', mutation.file);
  const source = readFileSync(path, 'utf8');
  const found = source.split(mutation.old).length - 1;
  if (found !== 1) throw new Error(`src/${mutation.file} has ${found} times, not once: ${mutation.old}`);
  // A function, for a replacement text may have dollar signs.
  writeFileSync(
    path,
    source.replace(mutation.old, () => mutation.replacement),
  );
  try {
    const tests = mutation.tests ?? SUITE;
    const inPart = tests === SUITE ? await firstFailure(directory, tests, `in process ${mutation.part} `) : undefined;
    return { mutation, caughtBy: inPart ?? (await firstFailure(directory, tests)) };
  } finally {
    writeFileSync(path, source);
  }
}

function written(verdicts: readonly Verdict[]): string {
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  const sections = [...new Set(verdicts.map(({ mutation }) => mutation.about))].map((about) => {
    const rows = verdicts
      .filter(({ mutation }) => mutation.about === about)
      .map(({ mutation, caughtBy }) => {
        const { rule, edit, file } = mutation;
        return `| ${[rule, edit, `src/${file}`, caughtBy ?? '**none**'].map(cell).join(' | ')} |`;
      });
    return [
      `## ${about}`,
      '',
      '| rule | broken so | in | the first test that failed |',
      '|---|---|---|---|',
      ...rows,
    ].join('\n');
  });
  const caught = verdicts.filter(({ caughtBy }) => caughtBy !== undefined).length;
  return [
    '# Each rule of the contract, broken once',
    '',
    `Written by \`make mutate\`: ${caught} of ${verdicts.length} edits were noticed by a test. The edits stand in \`mutations.ts\`.`,
    '',
    sections.join('\n\n'),
    '',
  ].join('\n');
}

const words = process.argv.slice(2);
const chosen = MUTATIONS.filter(({ rule }) => words.length === 0 || words.some((word) => rule.includes(word)));
const copy = copyOfSources();
try {
  for (const tests of new Set(chosen.map((mutation) => mutation.tests ?? SUITE))) {
    const failed = await firstFailure(copy, tests);
    if (failed !== undefined) throw new Error(`${tests} fails before anything is broken: ${failed}`);
  }
  const verdicts: Verdict[] = [];
  for (const mutation of chosen) {
    const verdict = await verdictOf(copy, mutation);
    verdicts.push(verdict);
    console.log(
      `${verdict.caughtBy === undefined ? 'NOT NOTICED' : 'noticed'}: ${mutation.rule} (${mutation.edit}): ${verdict.caughtBy ?? ''}`,
    );
  }
  if (words.length === 0) writeFileSync(join(import.meta.dir, 'MUTATIONS.md'), written(verdicts));
  process.exitCode = verdicts.every(({ caughtBy }) => caughtBy !== undefined) ? 0 : 1;
} finally {
  rmSync(copy, { recursive: true, force: true });
}
