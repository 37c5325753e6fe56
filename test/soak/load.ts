import type { Ask } from './mix.ts';

/** A request with a wrong answer, and the reason. */
export interface Fault {
  readonly kind: string;
  readonly path: string;
  readonly what: string;
}

/** Counts since the tally before. */
export interface Tally {
  /** Milliseconds from the moment at which each request was due to the end of its answer. */
  readonly latenciesMs: number[];
  readonly statuses: Map<number, number>;
  readonly faults: Fault[];
  bytes: number;
}

/** Maximum number of requests under way. Further due requests wait, and their latency includes the wait. */
const UNDER_WAY_MAX = 64;
const TICK_MS = 1;
const ANSWER_WITHIN_MS = 30_000;
/** Maximum number of answers whose digest is kept, to check that a repeated request gets the same bytes. */
const DIGESTS_MAX = 100_000;

function emptyTally(): Tally {
  return { latenciesMs: [], statuses: new Map(), faults: [], bytes: 0 };
}

/** Sends requests to a service, and checks every answer. */
export class Load {
  readonly #origin: string;
  readonly #next: () => Ask;
  readonly #digests = new Map<string, bigint>();
  #tally = emptyTally();
  #underWay = 0;

  constructor(origin: string, next: () => Ask) {
    this.#origin = origin;
    this.#next = next;
  }

  /** Counts since the last call. */
  take(): Tally {
    const taken = this.#tally;
    this.#tally = emptyTally();
    return taken;
  }

  /** Sends requests for `ms` with `workers` that wait for each answer. Returns the requests per second. */
  async fullSpeed(workers: number, ms: number): Promise<number> {
    const startedMs = performance.now();
    let answers = 0;
    const worker = async () => {
      while (performance.now() - startedMs < ms) {
        await this.#ask(this.#next(), performance.now());
        answers += 1;
      }
    };
    await Promise.all(Array.from({ length: workers }, worker));
    return (answers * 1000) / (performance.now() - startedMs);
  }

  /** Sends requests of many independent clients, on average `perSecond` (a Poisson process), until `ended`. A slow answer delays no other request. */
  async paced(perSecond: number, random: () => number, ended: () => boolean): Promise<void> {
    let dueMs = performance.now();
    while (!ended()) {
      const nowMs = performance.now();
      while (dueMs <= nowMs && this.#underWay < UNDER_WAY_MAX) {
        void this.#ask(this.#next(), dueMs);
        dueMs -= (Math.log(1 - random()) * 1000) / perSecond;
      }
      await Bun.sleep(TICK_MS);
    }
    while (this.#underWay > 0) await Bun.sleep(TICK_MS);
  }

  /** One request outside the mix; its answer is counted like the others. */
  async ask(ask: Ask): Promise<number | undefined> {
    return await this.#ask(ask, performance.now());
  }

  async #ask(ask: Ask, dueMs: number): Promise<number | undefined> {
    this.#underWay += 1;
    try {
      const response = await fetch(`${this.#origin}${ask.path}`, {
        headers: { ...ask.headers },
        // The compressed bytes are compared.
        decompress: false,
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      const body = new Uint8Array(await response.arrayBuffer());
      const tally = this.#tally;
      tally.latenciesMs.push(performance.now() - dueMs);
      tally.bytes += body.byteLength;
      tally.statuses.set(response.status, (tally.statuses.get(response.status) ?? 0) + 1);
      const wrong = this.#wrong(ask, response, body);
      if (wrong !== undefined) tally.faults.push({ kind: ask.kind, path: ask.path, what: wrong });
      return response.status;
    } catch (error) {
      this.#tally.faults.push({ kind: ask.kind, path: ask.path, what: String(error) });
      return undefined;
    } finally {
      this.#underWay -= 1;
    }
  }

  /** The fault of an answer; undefined if there is none. */
  #wrong(ask: Ask, response: Response, body: Uint8Array): string | undefined {
    if (!ask.statuses.includes(response.status)) return `status ${response.status}: ${new TextDecoder().decode(body)}`;
    if (response.headers.get('x-request-id') === null) return 'no X-Request-Id';
    if (!/^\d+$/.test(response.headers.get('x-ratelimit-remaining') ?? '')) return 'no X-RateLimit-Remaining';
    if (!ask.fixed) return undefined;
    const question = `${ask.kind} ${ask.path}`;
    const digest = Bun.hash.wyhash(body);
    const known = this.#digests.get(question);
    if (known !== undefined) return known === digest ? undefined : 'other bytes than before';
    if (this.#digests.size < DIGESTS_MAX) this.#digests.set(question, digest);
    return undefined;
  }
}
