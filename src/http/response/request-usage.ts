import type { InstantMs } from '../../domain/instant.ts';
import type { Usage } from '../../store/usage.ts';
import { templateOf } from '../route-template.ts';

/** Counts the answer to a request with a valid key. */
export class RequestUsage {
  readonly #usage: Usage;
  readonly #nowMs: () => InstantMs;
  readonly #keyId: string;
  readonly #route: string;
  readonly #isHead: boolean;

  /** `route`: as the router writes it, `/v1/:coin/markets`. */
  constructor(usage: Usage, nowMs: () => InstantMs, keyId: string, route: string, isHead: boolean) {
    this.#usage = usage;
    this.#nowMs = nowMs;
    this.#keyId = keyId;
    this.#route = route;
    this.#isHead = isHead;
  }

  /** `bytes`: the length of the body; 0 for a stream. An answer to HEAD has no body. */
  answered(status: number, bytes: number): void {
    this.#usage.count(this.#keyId, templateOf(this.#route), status, this.#isHead ? 0 : bytes, this.#nowMs());
  }

  /** Counts a part of a streamed body. */
  sent(bytes: number): void {
    this.#usage.countBytes(this.#keyId, templateOf(this.#route), bytes, this.#nowMs());
  }
}
