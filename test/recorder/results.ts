import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = join(import.meta.dir, 'RESULTS.md');
const HEAD = `# Recorder: results

Written by \`make recorder-campaign\`, or by \`make campaign\` with smaller numbers if \`RECORDER_RESULTS=1\`. Each row is the last run.

| case | run | result | date |
|---|---|---|---|
`;

/** Writes a row of RESULTS.md, in place of the one of the same case, if RECORDER_RESULTS is set. */
export function figure(name: string, run: string, result: string): void {
  const row = `| ${name} | ${run} | ${result} | ${new Date().toISOString().slice(0, 10)} |`;
  if (process.env.RECORDER_RESULTS === undefined) {
    console.log(row);
    return;
  }
  const lines = existsSync(FILE) ? readFileSync(FILE, 'utf8').split('\n') : [];
  const others = lines.filter((line) => /^\| (?!case )/.test(line) && !line.startsWith(`| ${name} |`));
  writeFileSync(FILE, `${HEAD}${[...others, row].sort().join('\n')}\n`);
}
