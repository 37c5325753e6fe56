import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { description } from '../../../package.json' with { type: 'json' };

const HERE = import.meta.dir;
const ROOT = join(HERE, '..', '..', '..');
const COMPILER = join(ROOT, 'node_modules', '.bin', 'tsc');
/** npm's own, so that the bytes do not depend on the time of the build: 1985-10-26T08:15:00Z. */
const MODIFIED_SECONDS = 499_162_500;
const BLOCK_BYTES = 512;
const FIXED = { license: 'MIT', type: 'module', sideEffects: false, engines: { node: '>=20' } };

export interface Tarball {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Builds the tarball that `npm install` takes. The same sources and version make the same bytes. Throws if the sources have an error of types. */
export function typescriptPackage(version: string): Tarball {
  const described = {
    name: '@bookreel/client',
    version,
    description: `A client of bookreel. ${description}`,
    ...FIXED,
    exports: { '.': { types: './index.d.ts', default: './index.js' } },
    files: ['*.js', '*.d.ts'],
  };
  const files = new Map([
    ['package.json', `${JSON.stringify(described, undefined, 2)}\n`],
    ['README.md', readFileSync(join(HERE, 'README.md'), 'utf8')],
    ['LICENSE', readFileSync(join(ROOT, 'LICENSE'), 'utf8')],
    ...compiled(),
  ]);
  const blocks = [...files].flatMap(([name, text]) => entry(`package/${name}`, Buffer.from(text)));
  const tar = Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]);
  return { name: `bookreel-client-${version}.tgz`, bytes: gzipSync(tar, { level: 9 }) };
}

/** The modules and their types, all in one directory. */
function compiled(): [name: string, text: string][] {
  const out = mkdtempSync(join(tmpdir(), 'bookreel-sdk-'));
  try {
    const tsc = Bun.spawnSync([COMPILER, '--project', HERE, '--outDir', out]);
    if (!tsc.success) throw new Error(`${HERE} does not compile: ${tsc.stdout}`);
    const directories = [join(out, 'client'), join(out, 'sdk', 'typescript')];
    return directories.flatMap((directory) =>
      readdirSync(directory)
        .sort()
        .map((name) => [name, readFileSync(join(directory, name), 'utf8').replaceAll('../../client/', './')] as const)
        .map(([name, text]): [string, string] => [name, text]),
    );
  } finally {
    rmSync(out, { recursive: true });
  }
}

/** A file in the format ustar: its header, and its content in whole blocks. */
function entry(name: string, content: Buffer): Buffer[] {
  const header = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  const fields: readonly (readonly [offset: number, text: string])[] = [
    [0, name],
    [100, octal(0o644, 7)],
    [108, octal(0, 7)],
    [116, octal(0, 7)],
    [124, octal(content.length, 11)],
    [136, octal(MODIFIED_SECONDS, 11)],
    [148, ' '.repeat(8)],
    [156, '0'],
    [257, 'ustar\x0000'],
  ];
  for (const [offset, text] of fields) header.write(text, offset, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)} `, 148, 'latin1');
  return [header, content, Buffer.alloc(-content.length & (BLOCK_BYTES - 1))];
}
