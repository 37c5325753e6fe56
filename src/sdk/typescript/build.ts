import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { description } from '../../../package.json' with { type: 'json' };

const HERE = import.meta.dir;
const ROOT = join(HERE, '..', '..', '..');
const COMPILER = join(ROOT, 'node_modules', '.bin', 'tsc');
const TARBALL = 'client.tgz';
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
  const directory = mkdtempSync(join(tmpdir(), 'bookreel-sdk-'));
  try {
    const files = new Map([
      ['package.json', `${JSON.stringify(described, undefined, 2)}\n`],
      ['README.md', readFileSync(join(HERE, 'README.md'), 'utf8')],
      ['LICENSE', readFileSync(join(ROOT, 'LICENSE'), 'utf8')],
      ...compiled(join(directory, 'compiled')),
    ]);
    for (const [name, text] of files) {
      writeFileSync(join(directory, name), text);
      // The bytes do not depend on the umask.
      chmodSync(join(directory, name), 0o644);
    }
    // As npm does, so the bytes do not depend on the time.
    run([process.execPath, 'pm', 'pack', '--quiet', '--filename', TARBALL], directory);
    return { name: `bookreel-client-${version}.tgz`, bytes: new Uint8Array(readFileSync(join(directory, TARBALL))) };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** The modules and their types, all in one directory. `out`: where the compiler writes. */
function compiled(out: string): [name: string, text: string][] {
  run([COMPILER, '--project', HERE, '--outDir', out], HERE);
  const directories = [join(out, 'client'), join(out, 'sdk', 'typescript')];
  return directories.flatMap((directory) =>
    readdirSync(directory).map((name): [string, string] => [
      name,
      readFileSync(join(directory, name), 'utf8').replaceAll('../../client/', './'),
    ]),
  );
}

function run(command: string[], cwd: string): void {
  const { success, stdout, stderr } = Bun.spawnSync(command, { cwd });
  if (!success) throw new Error(`${command.join(' ')} in ${cwd} failed: ${stdout}${stderr}`);
}
