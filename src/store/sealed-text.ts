import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { DomainError } from '../domain/errors.ts';
import type { KeySecret } from './key-secret.ts';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts texts with a key of the key secret (AES-256-GCM: 12 bytes of nonce, the ciphertext, 16 bytes of tag). `purpose`, which names
 * the kind of text, and `owner`, the row that it belongs to, must be the same to open it.
 */
export class SealedText {
  readonly #key: Uint8Array;

  constructor(secret: KeySecret, purpose: string) {
    this.#key = secret.digest(`seal:${purpose}`);
  }

  seal(owner: string, text: string): Uint8Array {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, iv).setAAD(Buffer.from(owner));
    return Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  }

  /** Throws 'unavailable' for bytes that were sealed with another secret, or were changed. */
  open(owner: string, bytes: Uint8Array): string {
    try {
      const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(-TAG_BYTES)];
      const decipher = createDecipheriv(CIPHER, this.#key, iv).setAAD(Buffer.from(owner)).setAuthTag(tag);
      return decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    } catch (error) {
      throw new DomainError('unavailable', 'a stored secret cannot be opened: restore key-secret of this archive', {
        cause: error,
      });
    }
  }
}
