import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A package of a client in the executable. */
export interface BuiltPackage {
  readonly name: string;
  readonly base64: string;
}

const BUILD = join(import.meta.dir, '..', '..', 'sdk', 'build.ts');

/** Builds the packages of the clients, by name. To be imported as a macro, and builds in a process of its own, as builtAsset does. */
export function builtPackages(): BuiltPackage[] {
  const directory = mkdtempSync(join(tmpdir(), 'bookreel-build-'));
  try {
    const built = Bun.spawnSync([process.execPath, BUILD, directory]);
    if (!built.success) throw new Error(`the packages of the clients do not build: ${built.stderr}`);
    const names = readdirSync(directory).sort();
    return names.map((name) => ({ name, base64: readFileSync(join(directory, name)).toString('base64') }));
  } finally {
    rmSync(directory, { recursive: true });
  }
}
