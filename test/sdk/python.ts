import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pythonWheel } from '../../src/sdk/python/build.ts';
import { finished } from '../support/executable.ts';

/** The first Python that has these modules: another one may come first in the PATH than the system's, which has its packages. */
export function pythonWith(...modules: readonly string[]): string | undefined {
  return ['python3', '/usr/bin/python3'].find((python) => {
    if (Bun.which(python) === null) return false;
    return Bun.spawnSync([python, '-c', `import ${modules.join(', ')}`], { stderr: 'ignore' }).success;
  });
}

export const PYTHON = pythonWith('httpx', 'pip');

/** Installs the wheel without a network. Returns the directory, for PYTHONPATH. */
export async function installWheel(directory: string): Promise<string> {
  const { name, bytes } = pythonWheel('0.0.1');
  mkdirSync(directory, { recursive: true });
  const wheel = join(directory, name);
  const target = join(directory, 'installed');
  writeFileSync(wheel, bytes);
  const options = [
    '--no-index',
    '--no-deps',
    '--no-compile',
    '--disable-pip-version-check',
    '--quiet',
    '--root-user-action',
    'ignore',
  ];
  const { code, stderr } = await finished([PYTHON!, '-m', 'pip', 'install', ...options, '--target', target, wheel], {
    env: { PATH: Bun.env.PATH! },
  });
  if (code !== 0) throw new Error(`pip refuses the wheel: ${stderr}`);
  return target;
}
