import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** SHA-256 of the secret in a directory's file `key-secret`; null without the file. */
export function secretDigest(directory: string): string | null {
  const path = join(directory, 'key-secret');
  if (!existsSync(path)) return null;
  const secret = Buffer.from(readFileSync(path, 'utf8').trim(), 'hex');
  return createHash('sha256').update(secret).digest('hex');
}

/** Makes a backup what earlier versions wrote, and what "zstd -d --rm" makes of it: its databases are not compressed. */
export function expandInPlace(backup: string): void {
  for (const name of readdirSync(backup).filter((each) => each.endsWith('.zst'))) {
    const path = join(backup, name);
    writeFileSync(path.slice(0, -4), Bun.zstdDecompressSync(readFileSync(path)), { mode: 0o600 });
    rmSync(path);
  }
}

/** Writes the manifest of a backup for the databases and the key secret that are in the directory now. */
export function writeManifest(backup: string): void {
  const names = readdirSync(backup).filter((name) => name.endsWith('.db'));
  const files = names.map((name) => {
    const bytes = readFileSync(join(backup, name));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    return { name, at: '2026-04-16T07:00:00.000Z', bytes: bytes.length, sha256 };
  });
  const manifest = { format: 'bookreel-backup', version: 1, files, keySecretSha256: secretDigest(backup) };
  writeFileSync(join(backup, 'manifest.json'), JSON.stringify(manifest));
}
