import { join } from 'node:path';
import { writeFigure } from '../support/figures.ts';

const FILE = {
  path: join(import.meta.dir, 'RESULTS.md'),
  variable: 'RECORDER_RESULTS',
  head: `# Recorder: results

Written by \`make recorder-campaign\`, or by \`make campaign\` with smaller numbers if \`RECORDER_RESULTS=1\`. Each row is the last run.

| case | run | result | date |
|---|---|---|---|
`,
};

/** Writes a row of RESULTS.md, in place of the one of the same case, if RECORDER_RESULTS is set. */
export function figure(name: string, run: string, result: string): void {
  writeFigure(FILE, name, run, result);
}
