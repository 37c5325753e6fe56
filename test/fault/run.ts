import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { circumstances } from '../support/circumstances.ts';
import type { FaultResult } from './fault.ts';

/** Tests every fault, including the long ones: `make fault`. Writes RESULTS.md next to this file. The exit code is 1 if one failed. */
async function main(): Promise<number> {
  using directory = temporaryDirectory();
  const results = join(directory.path, 'results.jsonl');
  const startedMs = performance.now();
  const tests = Bun.spawn([process.execPath, 'test', '--path-ignore-patterns', '', import.meta.dir], {
    env: { ...process.env, CAMPAIGN: 'full', BOOKREEL_FAULT_RESULTS: results },
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'inherit',
  });
  const code = await tests.exited;
  const lines = existsSync(results) ? readFileSync(results, 'utf8').trim().split('\n') : [];
  const faults = lines.map((line) => JSON.parse(line) as FaultResult);
  const text = await resultsText(faults, performance.now() - startedMs);
  await Bun.write(join(import.meta.dir, 'RESULTS.md'), text);
  console.log(text);
  return code;
}

async function resultsText(faults: readonly FaultResult[], elapsedMs: number): Promise<string> {
  const date = new Date().toISOString().slice(0, 10);
  const count = (outcome: FaultResult['outcome']) => faults.filter((fault) => fault.outcome === outcome).length;
  const rows = faults.map(
    ({ what, expected, seen, outcome }) => `| ${[what, expected, cell(seen), `${outcome}, ${date}`].join(' | ')} |`,
  );
  return `# Faults

${await circumstances('`make fault` (`bun test/fault/run.ts`)', elapsedMs)}
- ${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped

An answer is right if it is the recorded book, value for value. A 503 counts as an answer if its text reveals nothing internal.

| fault | expected | seen | outcome |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}

/** Escapes a text for a cell of a table. */
function cell(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').trim();
}

process.exit(await main());
