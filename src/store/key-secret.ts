import { randomBytes } from 'node:crypto';
import { linkSync, lstatSync, readFileSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { isReadOnly } from './data-directory.ts';
import { explained } from './database-errors.ts';
import { discard, draftOf, flush, writeNew } from './on-disk.ts';
import { refuseReadable } from './secret-file.ts';

export const KEY_SECRET_FILE = 'key-secret';
const SECRET_BYTES = 32;
const SECRET_TEXT = /^[0-9a-f]{64}$/;

/** The secret of the keys' digests: a file next to the database, so that neither file alone is enough to check a key. */
export class KeySecret {
  /** HMAC-SHA-256 with the secret, before any text. A copy takes half the time of a new one. */
  #hasher: Bun.CryptoHasher;

  private constructor(secret: Uint8Array) {
    this.#hasher = hasherOf(secret);
  }

  /**
   * Reads the data directory's secret. A missing one is created if `mayCreate` returns true. Otherwise keys exist, which a new
   * secret would make invalid: throws 'unavailable', as for a secret that cannot be read or created, or that others may read.
   */
  static open(directory: string, mayCreate: () => boolean): KeySecret {
    const path = join(directory, KEY_SECRET_FILE);
    const stored = readSecret(path);
    // An archive that cannot be written has files of mode 444, and cannot be mended.
    if (stored !== undefined && !isReadOnly(path)) refuseReadable(path, statSync(path), 'unavailable');
    if (stored !== undefined) return new KeySecret(stored);
    if (!mayCreate()) {
      throw new DomainError(
        'unavailable',
        `'${path}' is missing, and no key can be checked without it: restore it from a backup of this directory`,
      );
    }
    return new KeySecret(explained(path, () => createSecret(path)));
  }

  /** A random secret, for keys that are not stored. */
  static random(): KeySecret {
    return new KeySecret(randomBytes(SECRET_BYTES));
  }

  /** A secret of 32 bytes that another process of the same server has made. */
  static of(secret: Uint8Array): KeySecret {
    return new KeySecret(secret);
  }

  /** Uses another secret of 32 bytes from now on: on a node, that of home. */
  become(secret: Uint8Array): void {
    this.#hasher = hasherOf(secret);
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

function hasherOf(secret: Uint8Array): Bun.CryptoHasher {
  // Without a secret the hasher would compute digests that anybody can compute.
  if (secret.length !== SECRET_BYTES) throw new TypeError(`a key secret has ${SECRET_BYTES} bytes`);
  return new Bun.CryptoHasher('sha256', secret);
}

/** The secret in a file, undefined without the file; throws DomainError 'unavailable' when it is damaged or cannot be read. */
export function readSecret(path: string): Uint8Array | undefined {
  const text = readText(path);
  if (text === undefined) return undefined;
  // Buffer.from would read hexadecimal digits up to the first other character, without an error.
  if (!SECRET_TEXT.test(text.trim())) {
    throw new DomainError('unavailable', `'${path}' is damaged: restore it from a backup of this directory`);
  }
  return Buffer.from(text.trim(), 'hex');
}

function readText(path: string): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined && lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
    if (found === undefined) {
      throw new DomainError(
        'unavailable',
        `'${path}' is a link to a file that is missing: put that file back, or remove the link if no key exists yet`,
      );
    }
    // Opening a pipe would wait for its writer.
    if (!found.isFile()) {
      throw new DomainError(
        'unavailable',
        `'${path}' is not a file: move it away, and restore the file from a backup of this directory`,
      );
    }
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw new DomainError('unavailable', `'${path}' cannot be read: check its permissions`, { cause: error });
  }
}

/**
 * Writes another file and links it: two first commands get the same secret, and a crash leaves none or a complete one. Returns the
 * secret that the file has then.
 */
function createSecret(path: string): Uint8Array {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeNew(draft, `${randomBytes(SECRET_BYTES).toString('hex')}\n`);
  try {
    linkSync(draft, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    discard(draft);
  }
  // The name is on disk before the first key that needs it.
  flush(dirname(path));
  const secret = readSecret(path);
  if (secret === undefined) throw missingSecret(path, 'this directory');
  return secret;
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
