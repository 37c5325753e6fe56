import type { InstantMs } from '../../domain/instant.ts';
import type { Usage } from '../../store/usage.ts';
import { templateOf } from '../route-template.ts';

/** Counts answers by key and route. */
export class UsageCounter {
  readonly #usage: Usage;
  readonly #nowMs: () => InstantMs;
  /** By route as the router writes it. */
  readonly #templates = new Map<string, string>();

  constructor(usage: Usage, nowMs: () => InstantMs) {
    this.#usage = usage;
    this.#nowMs = nowMs;
  }

  /** `route`: as the router writes it, `/v1/:coin/markets`. */
  of(keyId: string, route: string, isHead: boolean): RequestUsage {
    const template = this.#templates.getOrInsertComputed(route, templateOf);
    return new RequestUsage(this.#usage, this.#nowMs, keyId, template, isHead);
  }
}

/** Counts the answer to a request with a valid key. */
export class RequestUsage {
  readonly #usage: Usage;
  readonly #nowMs: () => InstantMs;
  readonly #keyId: string;
  readonly #template: string;
  readonly #isHead: boolean;

  constructor(usage: Usage, nowMs: () => InstantMs, keyId: string, template: string, isHead: boolean) {
    this.#usage = usage;
    this.#nowMs = nowMs;
    this.#keyId = keyId;
    this.#template = template;
    this.#isHead = isHead;
  }

  /** `bytes`: the length of the body; 0 for a stream. An answer to HEAD has no body. */
  answered(status: number, bytes: number): void {
    this.#usage.count(this.#keyId, this.#template, status, this.#isHead ? 0 : bytes, this.#nowMs());
  }

  /** Counts a part of a streamed body. */
  sent(bytes: number): void {
    this.#usage.countBytes(this.#keyId, this.#template, bytes, this.#nowMs());
  }
}
