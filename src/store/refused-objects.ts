import { DomainError, type ErrorKind } from '../domain/errors.ts';

/** The pause after the first failure. Each further one is twice as long, up to the longest. */
const PAUSE_MS = 1000;
const PAUSE_MS_MAX = 30_000;
/** Objects that are remembered: of more failures the earliest are forgotten. */
const OBJECTS_MAX = 10_000;

interface Refused {
  readonly error: DomainError;
  readonly pauseMs: number;
  readonly untilMs: number;
}

/** Objects of a bucket that could not be used: each is fetched again only after a pause, which grows with its failures. */
export class RefusedObjects {
  readonly #monotonicMs: () => number;
  readonly #kind: ErrorKind;
  /** By name, the last failure last. */
  readonly #refused = new Map<string, Refused>();

  /** `kind`: that of the errors after which an object waits. */
  constructor(monotonicMs: () => number, kind: ErrorKind) {
    this.#monotonicMs = monotonicMs;
    this.#kind = kind;
  }

  /** The last error of an object that waits. */
  errorOf(name: string): DomainError | undefined {
    const refused = this.#refused.get(name);
    return refused !== undefined && this.#monotonicMs() < refused.untilMs ? refused.error : undefined;
  }

  /** Does what needs an object. Throws its last error while it waits. */
  async use<T>(name: string, work: () => Promise<T>): Promise<T> {
    const refusal = this.errorOf(name);
    if (refusal !== undefined) throw refusal;
    try {
      const result = await work();
      this.#refused.delete(name);
      return result;
    } catch (error) {
      if (error instanceof DomainError && error.kind === this.#kind) this.#refuse(name, error);
      throw error;
    }
  }

  clear(): void {
    this.#refused.clear();
  }

  #refuse(name: string, error: DomainError): void {
    const pauseMs = Math.min(2 * (this.#refused.get(name)?.pauseMs ?? PAUSE_MS / 2), PAUSE_MS_MAX);
    this.#refused.delete(name);
    this.#refused.set(name, { error, pauseMs, untilMs: this.#monotonicMs() + pauseMs });
    for (const first of this.#refused.keys()) {
      if (this.#refused.size <= OBJECTS_MAX) return;
      this.#refused.delete(first);
    }
  }
}
