import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { explained } from './database.ts';
import { draftOf, flush, writeNew } from './on-disk.ts';

export const KEY_SECRET_FILE = 'key-secret';
const SECRET_BYTES = 32;
const SECRET_TEXT = /^[0-9a-f]{64}$/;

/** The secret of the keys' digests: a file next to the database, so that neither file alone is enough to check a key. */
export class KeySecret {
  /** HMAC-SHA-256 with the secret, before any text. A copy takes half the time of a new one. */
  readonly #hasher: Bun.CryptoHasher;

  private constructor(secret: Uint8Array) {
    this.#hasher = new Bun.CryptoHasher('sha256', secret);
  }

  /**
   * Reads the data directory's secret. A missing one is created if `mayCreate` returns true. Otherwise keys exist, which a new
   * secret would make invalid: throws 'unavailable'.
   */
  static open(directory: string, mayCreate: () => boolean): KeySecret {
    const path = join(directory, KEY_SECRET_FILE);
    const stored = readSecret(path);
    if (stored !== undefined) return new KeySecret(stored);
    if (!mayCreate()) {
      throw new DomainError(
        'unavailable',
        `'${path}' is missing, and no key can be checked without it: restore it from a backup of this directory`,
      );
    }
    createSecret(path);
    return new KeySecret(readSecret(path)!);
  }

  /** A random secret, for keys that are not stored. */
  static random(): KeySecret {
    return new KeySecret(randomBytes(SECRET_BYTES));
  }

  /** HMAC-SHA-256 of a key. */
  digest(key: string): Uint8Array {
    return this.#hasher.copy().update(key).digest();
  }

  /** HMAC-SHA-256 of a key as base64, for maps. */
  digestText(key: string): string {
    return this.#hasher.copy().update(key).digest('base64');
  }
}

/** The secret in a file, undefined without the file; throws DomainError 'unavailable' when it is damaged or cannot be read. */
export function readSecret(path: string): Uint8Array | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new DomainError('unavailable', `'${path}' cannot be read: check its permissions`, { cause: error });
  }
  // Buffer.from would read hexadecimal digits up to the first other character, without an error.
  if (!SECRET_TEXT.test(text.trim())) {
    throw new DomainError('unavailable', `'${path}' is damaged: restore it from a backup of this directory`);
  }
  return Buffer.from(text.trim(), 'hex');
}

/** Writes another file and links it: two first commands get the same secret, and a crash leaves none or a complete one. */
function createSecret(path: string): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeNew(draft, `${randomBytes(SECRET_BYTES).toString('hex')}\n`);
  try {
    linkSync(draft, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  // The name is on disk before the first key that needs it.
  flush(dirname(path));
}

/** The error for a missing secret file `path`. `what` names the owner of the keys that need it. */
export function missingSecret(path: string, what: string): DomainError {
  return new DomainError(
    'unavailable',
    `'${path}' is missing, and without it no key of ${what} is valid: put it back first`,
  );
}

/** Writes a data directory's secret, if there is one. */
export function writeSecret(directory: string, secret: Uint8Array | undefined): void {
  if (secret === undefined) return;
  const path = join(directory, KEY_SECRET_FILE);
  const draft = draftOf(path);
  explained(path, () => {
    writeNew(draft, `${Buffer.from(secret).toString('hex')}\n`);
    renameSync(draft, path);
  });
}
