import { DomainError } from '../../domain/errors.ts';
import { OpenInMemory, type OpenRequests } from '../plugins/request-counts.ts';
import type { ResponseHeaders } from '../response/response.ts';

/** The Retry-After of a key with too many open requests. */
const RETRY_AFTER_SECONDS = 5;

interface SlotLimits {
  readonly max: number;
  readonly perKeyMax: number;
}

/** Limits the open requests of one kind, in total and per key. */
export class Slots {
  readonly #kind: string;
  readonly #limits: SlotLimits;
  readonly #open: OpenRequests;

  /** `kind` is a plural, for messages. `open`: counts those of this kind. */
  constructor(kind: string, limits: SlotLimits, open: OpenRequests = new OpenInMemory()) {
    this.#kind = kind;
    this.#limits = limits;
    this.#open = open;
  }

  /**
   * Counts one more request. Call the returned function once, when the request ends. Throws 'rate-limited', and sets Retry-After,
   * if too many are open with the key; throws 'busy' if the key has as many as are free, so that a few keys do not take all slots.
   * `keyId` is undefined if no key is needed.
   */
  take(keyId: string | undefined, headers: ResponseHeaders): () => void {
    const { max, perKeyMax } = this.#limits;
    return this.#open.begin(keyId, (open, openWithKey) => {
      if (openWithKey >= perKeyMax) {
        headers['retry-after'] = String(RETRY_AFTER_SECONDS);
        const what = `${perKeyMax} ${this.#kind} are open with this key`;
        throw new DomainError('rate-limited', `${what}: close one of them and try again`);
      }
      if (openWithKey >= max - open) {
        throw new DomainError('busy', `${open} ${this.#kind} are open already: try again later`);
      }
    });
  }
}
