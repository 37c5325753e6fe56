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
   * if too many are open with the key; throws 'busy' if all slots are taken. `keyId` is undefined if no key is needed.
   */
  take(keyId: string | undefined, headers: ResponseHeaders): () => void {
    const { max, perKeyMax } = this.#limits;
    if (keyId !== undefined && this.#openWith(keyId) >= perKeyMax) {
      headers['retry-after'] = String(RETRY_AFTER_SECONDS);
      const what = `${perKeyMax} ${this.#kind} are open with this key`;
      throw new DomainError('rate-limited', `${what}: close one of them and try again`);
    }
    if (this.#open >= max) throw new DomainError('busy', `${max} ${this.#kind} are open already: try again later`);
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
