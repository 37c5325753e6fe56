import { createHash } from 'node:crypto';
import { builtPackages } from './built-packages.ts' with { type: 'macro' };
import type { BuiltPackage } from './built-packages.ts';

/** A file that an installer loads. */
export interface Package {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** In hex. */
  readonly sha256: string;
}

const BUILT: readonly BuiltPackage[] = builtPackages();

/** The packages of the clients, by name. */
export const PACKAGES: readonly Package[] = BUILT.map(({ name, base64 }) => {
  const bytes = Uint8Array.fromBase64(base64);
  return { name, bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
});
