import { DomainError } from '../../domain/errors.ts';

/** Streams that are open at once; each holds a slice or two of a reader that does not keep up. */
export const STREAMS_MAX = 256;
/** And with one key. */
export const STREAMS_PER_KEY_MAX = 32;

/** Counts the streams that are open. */
export class StreamSlots {
  readonly #openByKey = new Map<string, number>();
  #open = 0;

  /**
   * Counts one more stream, of a key where there are keys; what is returned ends that, and must be called once. Throws 'rate-limited' when the key has
   * its share, 'busy' when all are taken.
   */
  take(keyId: string | undefined): () => void {
    const own = keyId === undefined ? 0 : (this.#openByKey.get(keyId) ?? 0);
    if (own >= STREAMS_PER_KEY_MAX) {
      throw new DomainError(
        'rate-limited',
        `${STREAMS_PER_KEY_MAX} streams are open with this key: close one of them and try again`,
      );
    }
    if (this.#open >= STREAMS_MAX) {
      throw new DomainError('busy', `${STREAMS_MAX} streams are open already: try again later`);
    }
    if (keyId !== undefined) this.#openByKey.set(keyId, own + 1);
    this.#open += 1;
    return () => this.#give(keyId);
  }

  #give(keyId: string | undefined): void {
    this.#open -= 1;
    if (keyId === undefined) return;
    const left = this.#openByKey.get(keyId)! - 1;
    if (left === 0) this.#openByKey.delete(keyId);
    else this.#openByKey.set(keyId, left);
  }
}
