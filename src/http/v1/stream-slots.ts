import { DomainError } from '../../domain/errors.ts';
import type { ResponseHeaders } from '../response/response.ts';

/** Maximum number of open streams. Each keeps up to two slices for a slow reader. */
export const STREAMS_MAX = 256;
/** Maximum number of open streams with one key. */
export const STREAMS_PER_KEY_MAX = 32;

/** The Retry-After of a key with too many streams. */
const RETRY_AFTER_SECONDS = 5;

/** Counts the open streams. */
export class StreamSlots {
  readonly #openByKey = new Map<string | undefined, number>();
  #open = 0;

  /**
   * Counts one more stream. Call the returned function once, when the stream ends. Throws 'rate-limited', and sets Retry-After,
   * if the key has too many streams; throws 'busy' if all slots are taken. `keyId` is undefined if no key is needed.
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
