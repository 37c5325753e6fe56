import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { HAS_EXECUTABLE } from '../support/executable.ts';
import { CHART, NOTEBOOK, type Notebook, outputsOf, PYTHON_WITH_CHARTS, ranNotebook } from './notebook.ts';

const canRun = PYTHON_WITH_CHARTS !== undefined && HAS_EXECUTABLE;
if (!canRun) console.warn('skipped: no python3 with httpx, pip, pandas and matplotlib, or no executable');

test.skipIf(!canRun)(
  'The notebook of the manual has the outputs of its code, and its picture is the chart.',
  async () => {
    const kept = JSON.parse(readFileSync(NOTEBOOK, 'utf8')) as Notebook;
    const ran = JSON.parse(await ranNotebook()) as Notebook;
    expect(outputsOf(ran, 'text/plain')).toEqual(outputsOf(kept, 'text/plain'));
    expect(outputsOf(kept, 'image/svg+xml')).toEqual([readFileSync(CHART, 'utf8')]);
    const [drawn, shown] = [ran, kept].map((notebook) => outputsOf(notebook, 'image/svg+xml').join(''));
    expect(drawn).toContain('best ask');
    // Other versions draw the same lines in other words.
    if (ran.metadata.made_with.matplotlib === kept.metadata.made_with.matplotlib) expect(drawn).toBe(shown!);
  },
  120_000,
);

test('The manual shows the code of the notebook.', async () => {
  const { cells } = JSON.parse(readFileSync(NOTEBOOK, 'utf8')) as Notebook;
  const page = await Bun.file(`${import.meta.dir}/../../src/manual/notebooks.md`).text();
  const chart = cells.findLast(({ cell_type: type }) => type === 'code')!;
  expect(page).toContain(chart.source.join(''));
});
