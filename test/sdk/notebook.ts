import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { finished, issueKey, printed, startServer } from '../support/executable.ts';
import { installWheel, pythonWith } from './python.ts';

const MANUAL = join(import.meta.dir, '..', '..', 'src', 'manual');
export const NOTEBOOK = join(MANUAL, 'best-bid-and-ask.ipynb');
export const CHART = join(MANUAL, 'best-bid-and-ask.svg');
export const PYTHON_WITH_CHARTS = pythonWith('httpx', 'pip', 'pandas', 'matplotlib');

export interface Notebook {
  readonly cells: readonly Cell[];
  readonly metadata: { readonly made_with: { readonly matplotlib: string } };
}

interface Cell {
  readonly cell_type: 'code' | 'markdown';
  readonly source: readonly string[];
  readonly outputs?: readonly { readonly data: Readonly<Record<string, readonly string[]>> }[];
}

/** The notebook of the manual with what its code returns on the simulated recordings, as text. */
export async function ranNotebook(): Promise<string> {
  using directory = temporaryDirectory();
  const installed = await installWheel(directory.path);
  const data = join(directory.path, 'archive');
  await printed(['seed', '--data', data]);
  const { key } = await issueKey(data);
  await using server = await startServer(data);
  const env = {
    // Matplotlib keeps its list of fonts there.
    ...{ PATH: Bun.env.PATH!, HOME: Bun.env.HOME ?? directory.path },
    ...{ PYTHONPATH: installed, PYTHONDONTWRITEBYTECODE: '1', BOOKREEL_URL: server.origin, BOOKREEL_KEY: key },
  };
  const script = join(import.meta.dir, 'run_notebook.py');
  const { code, stdout, stderr } = await finished([PYTHON_WITH_CHARTS!, script, NOTEBOOK], { env });
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

/** The output of these types of all cells, in their order. */
export function outputsOf({ cells }: Notebook, type: string): string[] {
  return cells.flatMap(({ outputs = [] }) => outputs.flatMap(({ data }) => data[type]?.join('') ?? []));
}

if (import.meta.main) {
  const text = await ranNotebook();
  writeFileSync(NOTEBOOK, text);
  writeFileSync(CHART, outputsOf(JSON.parse(text) as Notebook, 'image/svg+xml')[0]!);
  process.stdout.write(`${NOTEBOOK} has the outputs of ${readFileSync(NOTEBOOK).length} bytes\n`);
}
