import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../../src/cli/version.ts';
import { typescriptPackage } from '../../src/sdk/typescript/build.ts';
import { finished } from '../support/executable.ts';

/** Installs the tarball of @bookreel/client with npm into a directory, without a network. Needs npm. */
export async function installClient(directory: string): Promise<void> {
  if (Bun.which('npm') === null) return;
  const { name, bytes } = typescriptPackage(VERSION);
  writeFileSync(join(directory, name), bytes);
  writeFileSync(join(directory, 'package.json'), '{ "name": "user", "private": true, "type": "module" }\n');
  const command = ['npm', 'install', '--offline', '--no-audit', '--no-fund', `./${name}`];
  const { code, stderr } = await finished(command, {
    cwd: directory,
    env: { PATH: process.env.PATH!, HOME: directory },
  });
  if (code !== 0) throw new Error(`npm did not install the package: ${stderr}`);
}
