import { afterAll } from 'bun:test';
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

/** The seeds of tests that a campaign repeats. */
export const SEEDS = Array.from({ length: Number(process.env.RECORDER_SEEDS ?? 1) }, (_, index) => index + 1);

/** Writes a row after the tests of a file if a campaign runs them. `results`: one of each test that passed; `run` describes all of them. */
export function figureOfAll(name: string, run: string, results: readonly string[], all: number): void {
  afterAll(() => {
    if (process.env[FILE.variable] === undefined || results.length === 0) return;
    const kinds = [...new Set(results)].join('; ');
    figure(name, run, results.length === all ? kinds : `${results.length} of ${all} as expected: ${kinds}`);
  });
}

/** Writes a row of RESULTS.md, in place of the one of the same case, if RECORDER_RESULTS is set. */
export function figure(name: string, run: string, result: string): void {
  writeFigure(FILE, name, run, result);
}
