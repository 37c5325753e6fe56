import { BookreelError, ConnectionError, errorOf } from './errors.ts';

/** A request of one path of the service. */
export interface Request {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Is sent as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Waits this long, or until the signal is aborted. */
export type Wait = (durationMs: number, signal: AbortSignal | undefined) => Promise<void>;
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Requests that begin again after 502, 503, 504 or a lost connection, one after another without any progress. */
const TRIES_MAX = 3;
/** The wait before the second try is random, up to this; before the third up to twice of it. */
const BACKOFF_MS = 500;
/** Full windows of the rate limit in a row: an hour, and more than another client of the key can fill by chance. */
const WAITS_MAX = 60;
const AT_TIMES_UNAVAILABLE: readonly number[] = [502, 503, 504];
/** Three comments of a stream, which are sent every 15 seconds without events. */
const SILENCE_MAX_MS = 45_000;

/** Decides for one request, which may be sent several times, whether it is sent again, and waits until then. */
export class Retries {
  readonly #signal: AbortSignal | undefined;
  readonly #isRepeatable: boolean;
  readonly #wait: Wait;
  #failures = 0;
  #waits = 0;

  /** Payments are repeated only where the service says that it did nothing: after a 429. */
  constructor({ method, signal }: Request, wait: Wait) {
    this.#wait = wait;
    this.#signal = signal;
    this.#isRepeatable = method === 'GET';
  }

  /** Something new arrived: failures are counted from here. */
  progressed(): void {
    this.#failures = 0;
    this.#waits = 0;
  }

  /** Waits for exactly Retry-After of a 429. Throws the error if the request must not be sent again. */
  async wait(error: unknown): Promise<void> {
    if (!(error instanceof BookreelError)) throw error;
    const { status, retryAfter } = error;
    if (status === 429 && retryAfter !== undefined) {
      this.#waits += 1;
      if (this.#waits > WAITS_MAX) throw error;
      return await this.#pause(retryAfter * 1000);
    }
    this.#failures += 1;
    const isTransient = error instanceof ConnectionError || AT_TIMES_UNAVAILABLE.includes(status);
    if (!(isTransient && this.#isRepeatable) || this.#failures === TRIES_MAX) throw error;
    const backoffMs = Math.random() * BACKOFF_MS * 2 ** (this.#failures - 1);
    await this.#pause(Math.max((retryAfter ?? 0) * 1000, backoffMs));
  }

  async #pause(durationMs: number): Promise<void> {
    await this.#wait(durationMs, this.#signal);
    this.#signal?.throwIfAborted();
  }
}

/** Sends requests to one service with one key. */
export class Connection {
  readonly baseUrl: string;
  readonly #key: string | undefined;
  readonly #fetch: Fetch;
  readonly #wait: Wait;

  constructor(baseUrl: string, key: string | undefined, fetch: Fetch, wait: Wait) {
    this.baseUrl = baseUrl.replace(/\/+$/, '');
    this.#key = key;
    this.#fetch = fetch;
    this.#wait = wait;
  }

  /** The same service with another base, for the paths of one replay. */
  below(path: string): Connection {
    return new Connection(this.baseUrl + path, this.#key, this.#fetch, this.#wait);
  }

  retries(request: Request): Retries {
    return new Retries(request, this.#wait);
  }

  /** The whole answer, JSON or text, after as many tries as Retries allows. */
  async document(request: Request): Promise<unknown> {
    for (const retries = this.retries(request); ; ) {
      try {
        let type = '';
        const text = await textOf(
          this.pieces(request, ({ headers }) => {
            type = headers.get('content-type') ?? '';
          }),
        );
        return type.startsWith('application/json') ? JSON.parse(text) : text;
      } catch (error) {
        // Some fetch() end a body quietly where the connection was lost.
        const cause = error instanceof SyntaxError ? error : undefined;
        await retries.wait(cause ? new ConnectionError('connection', 'the answer was cut off', { cause }) : error);
      }
    }
  }

  /** The body of the answer to one try, decompressed. Throws a BookreelError, or the reason of the caller's signal. */
  async *pieces(
    { method, path, headers, body, signal }: Request,
    answered?: (answer: Response) => void,
  ): AsyncGenerator<Uint8Array, void> {
    const ending = new AbortController();
    const end = () => ending.abort();
    signal?.throwIfAborted();
    signal?.addEventListener('abort', end);
    // The time that the reader takes for a piece does not count.
    const timed = async <T>(work: Promise<T>) => {
      const timer = setTimeout(end, SILENCE_MAX_MS);
      return await work.finally(() => clearTimeout(timer));
    };
    try {
      const sent = this.#fetch(this.baseUrl + path, {
        method,
        headers: {
          ...headers,
          ...(this.#key === undefined ? {} : { authorization: `Bearer ${this.#key}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: ending.signal,
      });
      const answer = await timed(sent);
      if (!answer.ok) throw errorOf(answer, await timed(answer.text()));
      answered?.(answer);
      const reader = answer.body?.getReader();
      for (;;) {
        const { value } = reader === undefined ? {} : await timed(reader.read());
        if (value === undefined) return;
        yield value;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof BookreelError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      throw new ConnectionError('connection', `${this.baseUrl} does not answer, or stopped: ${reason}`, {
        cause: error,
      });
    } finally {
      signal?.removeEventListener('abort', end);
      // Ends the answer if the reader left it early.
      end();
    }
  }
}

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of pieces) text += decoder.decode(piece, { stream: true });
  return text + decoder.decode();
}

export async function pause(durationMs: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, durationMs);
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    }
    signal?.addEventListener('abort', done);
  });
}
