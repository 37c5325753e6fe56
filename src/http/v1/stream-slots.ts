import { DomainError } from '../../domain/errors.ts';
import type { ResponseHeaders } from '../response/response.ts';

/** Streams that are open at once; each holds a slice or two of a reader that does not keep up. */
export const STREAMS_MAX = 256;
/** And with one key. */
export const STREAMS_PER_KEY_MAX = 32;

/** When a key with too many streams may try again. */
const RETRY_AFTER_SECONDS = 5;

/** Counts the streams that are open. */
export class StreamSlots {
  readonly #openByKey = new Map<string | undefined, number>();
  #open = 0;

  /**
   * Counts one more stream, of a key where there are keys; the function that is returned ends it, and must be called once.
   * Throws 'rate-limited' when the key has its share, and sets Retry-After; 'busy' when all are taken.
   */
  take(keyId: string | undefined, headers: ResponseHeaders): () => void {
    if (keyId !== undefined && this.#openWith(keyId) >= STREAMS_PER_KEY_MAX) {
      headers['retry-after'] = String(RETRY_AFTER_SECONDS);
      throw new DomainError(
        'rate-limited',
        `${STREAMS_PER_KEY_MAX} streams are open with this key: close one of them and try again`,
      );
    }
    if (this.#open >= STREAMS_MAX) {
      throw new DomainError('busy', `${STREAMS_MAX} streams are open already: try again later`);
    }
    this.#add(keyId, 1);
    return () => this.#add(keyId, -1);
  }

  #openWith(keyId: string | undefined): number {
    return this.#openByKey.get(keyId) ?? 0;
  }

  #add(keyId: string | undefined, count: 1 | -1): void {
    this.#open += count;
    const open = this.#openWith(keyId) + count;
    if (open === 0) this.#openByKey.delete(keyId);
    else this.#openByKey.set(keyId, open);
  }
}
