// Writes the packages of the clients into a directory: bun src/sdk/build.ts dist/sdk
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../../package.json' with { type: 'json' };
import { pythonWheel } from './python/build.ts';
import { typescriptPackage } from './typescript/build.ts';

const [directory = '.'] = process.argv.slice(2);
mkdirSync(directory, { recursive: true });
for (const { name, bytes } of [pythonWheel(version), typescriptPackage(version)]) {
  writeFileSync(join(directory, name), bytes);
}
