import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { finished } from '../support/executable.ts';

const ROOT = join(import.meta.dir, '../..');
const BROWSER = [
  'copy.ts',
  'replay-home.ts',
  'passkey.ts',
  'usage.tsx',
  'wallet.ts',
  'view/view.ts',
  'view/segment-worker.ts',
];

interface Licensed {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly text: string;
}

/** The packages whose files bundles are made of, from their source maps. */
async function packagesIn(sources: readonly string[], target: string): Promise<Set<string>> {
  using directory = temporaryDirectory();
  const args = [
    'build',
    ...sources.map((source) => join(ROOT, source)),
    `--target=${target}`,
    '--sourcemap=external',
    `--outdir=${directory.path}`,
  ];
  const { code, stderr } = await finished([process.execPath, ...args], { cwd: ROOT });
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  const names = new Set<string>();
  for (const path of new Bun.Glob('**/*.map').scanSync(directory.path)) {
    const map = (await Bun.file(join(directory.path, path)).json()) as { sources: string[] };
    for (const file of map.sources) {
      const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1];
      if (name !== undefined) names.add(name);
    }
  }
  return names;
}

test('licenses has the text of each package whose code is in the executable and in the scripts of pages.', async () => {
  const licensed = JSON.parse(await outputOf(['licenses', '--json'])) as Licensed[];
  expect(licensed.slice(0, 2).map(({ name }) => name)).toEqual(['bookreel', 'bun']);
  for (const { name, version, license, text } of licensed) {
    expect({ name, version, license, isLong: text.length > 40 }).toEqual({
      name,
      version: expect.stringMatching(/^\d/),
      license: expect.stringMatching(/\w/),
      isLong: true,
    });
  }
  const names = new Set(licensed.map(({ name }) => name));
  const scripts = BROWSER.map((script) => `src/web/browser/${script}`);
  const bundled = (await packagesIn(['src/main.ts'], 'bun')).union(await packagesIn(scripts, 'browser'));
  expect(bundled.size).toBeGreaterThan(40);
  expect([...bundled].filter((name) => !names.has(name) && name !== 'typebox')).toEqual([]);
  // Development needs it, the program does not.
  for (const name of ['typescript', 'fast-check', '@biomejs/biome']) expect([...names]).not.toContain(name);
});

test('licenses prints the notices of JavaScriptCore with the LGPL, and how to link the program again.', async () => {
  const text = await outputOf(['licenses']);
  expect(text).toContain('JavaScriptCore and other parts of WebKit');
  expect(text).toContain('GNU LIBRARY GENERAL PUBLIC LICENSE');
  expect(text).toContain('GNU LESSER GENERAL PUBLIC LICENSE');
  expect(text).toContain("'bun run build:local'");
});
