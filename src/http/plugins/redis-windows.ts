import { RedisClient } from 'bun';
import { type Allowance, type CommonWindows, type Subject, WINDOW_MS } from '../../domain/rate-window.ts';
import { Histogram } from '../metrics/histogram.ts';
import { type Metric, metric, summed } from '../metrics/metrics.ts';
import SCRIPT from './redis-windows.lua' with { type: 'text' };

/** Names of all keys in Redis begin with it. */
const PREFIX = 'bookreel:';
/** Requests wait this long for an answer of Redis. The last part is a second look: this process may have been busy itself. */
const WAIT_MS = 50;
const WAIT_AGAIN_MS = 5;
/** The time between two tries to reach a Redis that is away. A try takes less. */
const RETRY_MS = 1000;
const OPENING_MS_MAX = 900;
/** Counts in one script, which keeps Redis busy for about a millisecond. */
const COUNTS_MAX = 200;
/** Counted once in each new connection: a Redis that cannot write, or has the keys of a script on several machines, is away too. */
const PROBE: readonly Subject[] = ['probe:1', 'probe:2'].map((name) => ({ name, limit: 1_000_000 }));
/** Seconds. */
const LATENCIES = [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05];

/** The numbers that the script returns. */
type Counted = readonly number[];

type Allowances = readonly Allowance[] | undefined;

/** Requests with the same subjects: the first ones are allowed. */
interface Group {
  readonly subjects: readonly Subject[];
  requests: number;
  /** Where its numbers begin in the answer of the script. */
  readonly at: number;
}

/** Requests that one script counts. */
class Batch {
  readonly #groups = new Map<string, Group>();
  readonly #answered = Promise.withResolvers<Counted | undefined>();
  #length = 1;
  requests = 0;

  get size(): number {
    return this.#groups.size;
  }

  /** `requests`: 0 or 1. */
  async add(subjects: readonly Subject[], requests: number): Promise<Allowances> {
    let name = requests === 0 ? 'peek' : '';
    for (const subject of subjects) name += ` ${subject.name} ${subject.limit}`;
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { subjects, requests: 0, at: this.#length };
      this.#groups.set(name, group);
      this.#length += 1 + 2 * subjects.length;
    }
    const place = group.requests;
    group.requests += requests;
    this.requests += requests;
    const counted = await this.#answered.promise;
    if (counted === undefined) return undefined;
    const later = counted[group.at]! - place - requests;
    return subjects.map(({ limit }, nth) => {
      const at = group.at + 1 + 2 * nth;
      const [used, endMs] = [counted[at]!, counted[at + 1]!];
      const allowed = requests === 0 ? used < limit : later >= 0;
      return {
        allowed,
        limit,
        remaining: Math.max(0, limit - used + Math.max(0, later)),
        resetEpochSeconds: Math.ceil(endMs / 1000),
        retryAfterSeconds: Math.max(1, Math.ceil((endMs - counted[0]!) / 1000)),
      };
    });
  }

  /** Answers all requests. Undefined: Redis has not counted them. */
  settle(counted: Counted | undefined): void {
    this.#answered.resolve(counted);
  }

  /** Keys and arguments of the script. */
  commandOf(deadlineMs: number, windowMs: number): string[] {
    const [keys, args]: [string[], string[]] = [[], [String(deadlineMs), String(windowMs)]];
    for (const { subjects, requests } of this.#groups.values()) {
      args.push(String(requests), String(subjects.length));
      for (const { name, limit } of subjects) {
        keys.push(PREFIX + name);
        args.push(String(limit));
      }
    }
    return [String(keys.length), ...keys, ...args];
  }
}

export interface RedisDeps {
  /** With user, password and number of the database. */
  readonly url: string;
  /** Gets a sentence when Redis goes away, and one when it is back. */
  readonly onChange: (isAway: boolean, sentence: string) => void;
  readonly windowMs?: number;
  readonly waitMs?: number;
}

/**
 * Windows in Redis or Valkey, so that a limit holds for all servers that use it. Requests that arrive together are counted by one script,
 * and those that arrive meanwhile by the next. While Redis does not answer, or cannot write, each server counts alone, and tries Redis again
 * every second. Only the clock of Redis is used, so windows are right where clocks of servers differ.
 */
export class RedisWindows implements CommonWindows, Disposable {
  readonly #deps: Required<RedisDeps>;
  readonly #latency = new Histogram(LATENCIES);
  readonly #sent = new Set<Batch>();
  /** Undefined while Redis is away. */
  #client: RedisClient | undefined;
  #next: Batch | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Undefined before the first try. */
  #isAway: boolean | undefined;
  #isDisposed = false;
  #digest = '';
  /** The clock of Redis minus that of this process, at least. */
  #offsetMs = 0;
  #alone = 0;

  constructor(deps: RedisDeps) {
    this.#deps = { windowMs: WINDOW_MS, waitMs: WAIT_MS, ...deps };
  }

  /** Settles when Redis has answered, or cannot be reached. */
  async open(): Promise<void> {
    const client = new RedisClient(this.#deps.url, {
      ...{ autoReconnect: false, enableOfflineQueue: false, enableAutoPipelining: false },
      connectionTimeout: OPENING_MS_MAX,
    });
    const late = setTimeout(() => client.close(), OPENING_MS_MAX);
    try {
      await client.connect();
      const askedMs = performance.now();
      const [seconds, micros] = await client.send('TIME', []);
      this.#learnOffset(Number(seconds) * 1000 + Number(micros) / 1000, askedMs);
      this.#digest = await client.send('SCRIPT', ['LOAD', SCRIPT]);
      const probe = new Batch();
      const [counted, sentMs] = [probe.add(PROBE, 1), performance.now()];
      await this.#send(probe, client);
      // Otherwise every request would wait in vain.
      if ((await counted) === undefined || performance.now() - sentMs > this.#deps.waitMs)
        throw new Error(`it takes more than ${this.#deps.waitMs} ms to answer`);
      if (this.#isDisposed) return client.close();
      client.onclose = (error) => this.#lose(client, error);
      this.#client = client;
      if (this.#isAway === true) this.#deps.onChange(false, 'it answers again, and counts limits for all servers');
      this.#isAway = false;
    } catch (error) {
      client.close();
      this.#leave(error);
    } finally {
      clearTimeout(late);
    }
  }

  charge(subjects: readonly Subject[]): Promise<Allowances> | undefined {
    return this.#count(subjects, 1);
  }

  peek(subjects: readonly Subject[]): Promise<Allowances> | undefined {
    return this.#count(subjects, 0);
  }

  metrics(): Metric[] {
    return summed([
      metric('gauge', 'bookreel_rate_windows_away', 'Processes for which Redis is away.', () =>
        this.#isAway === false ? 0 : 1,
      ),
      metric('counter', 'bookreel_rate_windows_alone_total', 'Requests that were counted without Redis.', () => {
        return this.#alone;
      }),
      metric('histogram', 'bookreel_rate_windows_seconds', 'Time that Redis took to count requests.', () =>
        this.#latency.samples(),
      ),
    ]);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    clearTimeout(this.#retry);
    this.#client?.close();
  }

  #count(subjects: readonly Subject[], requests: number): Promise<Allowances> | undefined {
    if (this.#client === undefined) {
      this.#alone += requests;
      return undefined;
    }
    if (this.#next === undefined) {
      this.#next = new Batch();
      // Other requests of this turn of the event loop are counted too.
      if (this.#sent.size === 0) setImmediate(() => this.#sendNext());
    } else if (this.#next.size >= COUNTS_MAX) {
      this.#sendNext();
      this.#next = new Batch();
    }
    return this.#next.add(subjects, requests);
  }

  #sendNext(): void {
    const [batch, client] = [this.#next, this.#client];
    if (batch === undefined || client === undefined) return;
    this.#next = undefined;
    this.#sent.add(batch);
    let timer = setTimeout(() => {
      timer = setTimeout(() => this.#lose(client, new Error('it does not answer')), WAIT_AGAIN_MS);
    }, this.#deps.waitMs - WAIT_AGAIN_MS);
    this.#send(batch, client)
      .catch((error) => this.#lose(client, error))
      .finally(() => clearTimeout(timer));
  }

  async #send(batch: Batch, client: RedisClient): Promise<void> {
    const { windowMs, waitMs } = this.#deps;
    const sentMs = performance.now();
    const deadlineMs = Math.floor(sentMs + waitMs + this.#offsetMs);
    const command = batch.commandOf(deadlineMs, windowMs);
    const counted: Counted = await client
      .send('EVALSHA', [this.#digest, ...command])
      .catch((error) =>
        String(error).includes('NOSCRIPT') ? client.send('EVAL', [SCRIPT, ...command]) : Promise.reject(error),
      );
    this.#learnOffset(counted[0]!, sentMs);
    this.#latency.observe((performance.now() - sentMs) / 1000);
    this.#sent.delete(batch);
    // Redis counts the next ones while these are answered.
    this.#sendNext();
    this.#settle(batch, counted.length > 1 ? counted : undefined);
  }

  #settle(batch: Batch, counted: Counted | undefined): void {
    if (counted === undefined) this.#alone += batch.requests;
    batch.settle(counted);
  }

  /** `redisMs`: read by Redis between `sentMs` and now. */
  #learnOffset(redisMs: number, sentMs: number): void {
    const [least, most] = [redisMs - performance.now(), redisMs + 1 - sentMs];
    // Otherwise the clock of Redis was set back.
    this.#offsetMs = this.#offsetMs > most ? least : Math.max(this.#offsetMs, least);
  }

  #lose(client: RedisClient, error: unknown): void {
    if (client !== this.#client) return;
    this.#client = undefined;
    client.close();
    for (const batch of [...this.#sent, ...(this.#next === undefined ? [] : [this.#next])])
      this.#settle(batch, undefined);
    this.#sent.clear();
    this.#next = undefined;
    this.#leave(error);
  }

  #leave(error: unknown): void {
    if (this.#isDisposed) return;
    this.#retry = setTimeout(() => void this.open(), RETRY_MS);
    if (this.#isAway === true) return;
    this.#isAway = true;
    const cause = error instanceof Error ? error.message : String(error);
    this.#deps.onChange(true, `each server counts limits alone until Redis answers: ${cause}`);
  }
}
