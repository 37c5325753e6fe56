import bun from '../../licenses/bun.txt' with { type: 'text' };
import lgpl21 from '../../licenses/LGPL-2.1.txt' with { type: 'text' };
import lgpl2 from '../../licenses/LGPL-2.txt' with { type: 'text' };
import { bundledPackages } from './bundled-packages.ts' with { type: 'macro' };
import type { BundledPackage } from './bundled-packages.ts';

const [OWN, ...PACKAGES] = bundledPackages();
const RUNTIME = { version: Bun.version, license: 'MIT, LGPL-2.0, LGPL-2.1', text: [bun, lgpl2, lgpl21].join('\n\n') };

/** The program itself, its runtime, and the packages of npm in it. */
export const LICENSES: readonly BundledPackage[] = [OWN!, { name: 'bun', ...RUNTIME }, ...PACKAGES];
