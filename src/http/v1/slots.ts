import { DomainError } from '../../domain/errors.ts';
import type { ResponseHeaders } from '../response/response.ts';

/** The Retry-After of a key with too many open requests. */
const RETRY_AFTER_SECONDS = 5;

interface SlotLimits {
  readonly max: number;
  readonly perKeyMax: number;
}

/** Counts the open requests of one kind, in total and per key. */
export class Slots {
  readonly #kind: string;
  readonly #limits: SlotLimits;
  readonly #openByKey = new Map<string | undefined, number>();
  #open = 0;

  /** `kind` is a plural, for messages. */
  constructor(kind: string, limits: SlotLimits) {
    this.#kind = kind;
    this.#limits = limits;
  }

  /**
   * Counts one more request. Call the returned function once, when the request ends. Throws 'rate-limited', and sets Retry-After,
   * if too many are open with the key; throws 'busy' if the key has as many as are free, so that a few keys do not take all slots.
   * `keyId` is undefined if no key is needed.
   */
  take(keyId: string | undefined, headers: ResponseHeaders): () => void {
    const { max, perKeyMax } = this.#limits;
    const openWithKey = keyId === undefined ? 0 : (this.#openByKey.get(keyId) ?? 0);
    if (openWithKey >= perKeyMax) {
      headers['retry-after'] = String(RETRY_AFTER_SECONDS);
      const what = `${perKeyMax} ${this.#kind} are open with this key`;
      throw new DomainError('rate-limited', `${what}: close one of them and try again`);
    }
    if (openWithKey >= max - this.#open) {
      throw new DomainError('busy', `${this.#open} ${this.#kind} are open already: try again later`);
    }
    this.#add(keyId, 1);
    return () => this.#add(keyId, -1);
  }

  #add(keyId: string | undefined, count: 1 | -1): void {
    this.#open += count;
    const open = (this.#openByKey.get(keyId) ?? 0) + count;
    if (open === 0) this.#openByKey.delete(keyId);
    else this.#openByKey.set(keyId, open);
  }
}
