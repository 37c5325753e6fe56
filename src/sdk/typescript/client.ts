/// <reference lib="esnext.disposable" preserve="true" />
import { framesOf, readSnapshots, type Snapshot as SegmentSnapshot } from '../../client/segment-reader.ts';
import type { components, paths } from './api.ts';
import { Connection, type Fetch, pause, type Request, type Wait } from './connection.ts';
import { ConflictError, ConnectionError } from './errors.ts';
import { blocksOf, digestOf, fileWriter, type Writer } from './export-blocks.ts';
import type { Answer, Body, Parameters, PathOf } from './path-types.ts';

type Schemas = components['schemas'];
export type Market = Schemas['Market'];
export type MarketWithCounts = Schemas['MarketWithCounts'];
export type Snapshot = Schemas['Snapshot'];
export type Quote = Schemas['Quote'];
export type Price = Schemas['Price'];
export type CoinPrice = Schemas['CoinPrice'];
export type Coverage = Schemas['Coverage'];
export type Replay = Schemas['ReplayAnswer']['data'];

/** Unix milliseconds, ISO 8601, or a Date. */
export type Instant = number | string | Date;
/** A market of `markets()`; `btc/NAME` with its slug or conditionId; or a slug that begins with its coin. */
export type MarketName = string | Pick<Market, 'symbol' | 'conditionId'>;

export interface Options {
  readonly signal?: AbortSignal | undefined;
}

const MARKET = '/v1/{coin}/markets/{conditionId}';
type OfMarket = typeof MARKET;
type Selection<P extends keyof paths> = Partial<Omit<Parameters<'get', P>, 'coin' | 'conditionId' | 'cursor'>> &
  Options;
/** Records in a page of a walk, unless the query has a limit. */
const PAGE_LIMIT = 1000;
/** Instants in a request of `bookAt`, and where the last one begins: proxies refuse a line of more than 8 KiB. */
const [INSTANTS_MAX, INSTANTS_CHARS_MAX] = [1000, 5500];
const CHANGED = 'the market changed during the export: export it again';

/** An event of a stream. `end` is not passed on. */
export type StreamEvent = { readonly id: string } & (
  | { readonly event: 'snapshot'; readonly data: Snapshot }
  | { readonly event: 'gap'; readonly data: { readonly from: string; readonly to: string; readonly reason: string } }
);

export interface ClientOptions {
  /** An API key; left out: BOOKREEL_KEY of the environment, else none. */
  readonly key?: string | undefined;
  /** Left out: BOOKREEL_URL of the environment, the page's own origin, or http://127.0.0.1:8080. */
  readonly baseUrl?: string | undefined;
  readonly fetch?: Fetch;
  readonly wait?: Wait;
}

/**
 * A client of one service. A request waits as long as a 429 says, and is sent up to three times where a connection is lost or the
 * service answers 502, 503 or 504. All other answers are thrown as a BookreelError.
 *
 * @example
 * const client = new Client({ key: 'br_live_…', baseUrl: 'https://books.example' });
 * for await (const market of client.markets({ coin: 'btc', recorded: true })) {
 *   for await (const { timestamp, bid, ask } of client.quotes(market)) console.log(timestamp, bid, ask);
 * }
 */
export class Client {
  readonly #connection: Connection;

  constructor(options: ClientOptions | Connection = {}) {
    if (options instanceof Connection) {
      this.#connection = options;
      return;
    }
    const key = keyOf(options.key ?? fromEnvironment('BOOKREEL_KEY'));
    const baseUrl = options.baseUrl ?? fromEnvironment('BOOKREEL_URL') ?? pageOrigin() ?? 'http://127.0.0.1:8080';
    const { wait = pause } = options;
    // Browsers demand that fetch is called as a function of the window.
    this.#connection = new Connection(baseUrl, key, options.fetch ?? ((url, init) => fetch(url, init)), wait);
  }

  /** Any path: `client.get('/v1/{coin}/days', { coin: 'btc', tf: '5m' })`. */
  async get<P extends PathOf<'get'>>(path: P, parameters: Parameters<'get', P> & Options): Promise<Answer<'get', P>>;
  async get<P extends PathOf<'get'>>(
    path: P & (object extends Parameters<'get', P> ? P : never),
  ): Promise<Answer<'get', P>>;
  async get(path: string, parameters: object = {}): Promise<unknown> {
    return await this.#connection.document(requestOf('GET', path, { ...parameters }));
  }

  /** Any path with another method. It is sent again only after a 429. */
  async send<M extends 'post' | 'patch' | 'delete', P extends PathOf<M>>(
    method: M,
    path: P,
    parameters: Parameters<M, P> & Options,
    body?: Body<M, P>,
  ): Promise<Answer<M, P>> {
    const request = { ...requestOf(method.toUpperCase(), path, parameters), body };
    return (await this.#connection.document(request)) as Answer<M, P>;
  }

  /** All markets of a coin; by default the latest window is first. */
  async *markets({
    skip = 0,
    ...query
  }: Parameters<'get', '/v1/{coin}/markets'> & Options): AsyncGenerator<Market | MarketWithCounts, void> {
    // A market that is listed during the walk moves others to the next page.
    const seen = new Set<string>();
    for (let from = Number(skip); ; ) {
      const page = await this.get('/v1/{coin}/markets', { limit: PAGE_LIMIT, ...query, skip: from });
      for (const market of page.data) {
        if (!seen.has(market.conditionId)) yield market;
        seen.add(market.conditionId);
      }
      if (!page.pagination.hasMore) return;
      from += page.pagination.count;
    }
  }

  async market(market: MarketName, query: Selection<OfMarket> = {}): Promise<Market | MarketWithCounts> {
    return (await this.get(MARKET, { ...query, ...named(market) })).data;
  }

  /** The book of each outcome nearest to an instant; `mode: 'before'` never looks ahead. For a list: an answer for each instant. */
  async bookAt(
    market: MarketName,
    at: Instant,
    query?: Selection<`${OfMarket}/snapshots/at/{ts}`>,
  ): Promise<readonly Snapshot[]>;
  async bookAt(
    market: MarketName,
    at: readonly Instant[],
    query?: Selection<`${OfMarket}/snapshots/at`>,
  ): Promise<Schemas['NearestOfEach']['data']>;
  async bookAt(market: MarketName, at: Instant | readonly Instant[], query: object = {}): Promise<unknown> {
    const given = { ...query, ...named(market) };
    if (!Array.isArray(at)) return (await this.get(`${MARKET}/snapshots/at/{ts}`, { ...given, ts: textOf(at) })).data;
    const found: Schemas['NearestOfEach']['data'] = [];
    while (found.length < at.length) {
      // A long answer ends early.
      const asked = at
        .slice(found.length, found.length + INSTANTS_MAX)
        .map((instant) => (instant instanceof Date ? instant.getTime() : instant))
        .join();
      const ts = asked.slice(0, asked.indexOf(',', INSTANTS_CHARS_MAX) >>> 0);
      const { data } = await this.get(`${MARKET}/snapshots/at`, { ...given, ts });
      if (data.length === 0) throw new ConnectionError('connection', 'the answer has no book');
      found.push(...data);
    }
    return found;
  }

  /** All snapshots, or those that the query selects, over all pages. */
  snapshots(market: MarketName, query: Selection<`${OfMarket}/snapshots`> = {}) {
    return this.#pages<Snapshot>(`${MARKET}/snapshots`, { ...query, ...named(market) });
  }

  /** The best bid and ask, a record for each change. */
  quotes(market: MarketName, query: Selection<`${OfMarket}/quotes`> = {}) {
    return this.#pages<Quote>(`${MARKET}/quotes`, { ...query, ...named(market) });
  }

  /** Midpoints and trades of a market. */
  prices(market: MarketName, query: Selection<`${OfMarket}/prices`> = {}) {
    return this.#pages<Price>(`${MARKET}/prices`, { ...query, ...named(market) });
  }

  /** Reference prices of a coin. */
  coinPrices(coin: string, query: Selection<'/v1/{coin}/prices'> = {}): AsyncGenerator<CoinPrice, void> {
    return this.#pages('/v1/{coin}/prices', { ...query, coin });
  }

  /** The recorded part of a market, and its gaps. */
  async coverage(market: MarketName, query: Selection<`${OfMarket}/coverage`> = {}): Promise<Coverage> {
    return (await this.get(`${MARKET}/coverage`, { ...query, ...named(market) })).data;
  }

  /**
   * Snapshots and gaps at their recorded pace, or `speed: 'max'`. After a lost connection it continues after the last event; with
   * `lastEventId`, the `id` of an event, it begins after that one.
   */
  async *stream(
    market: MarketName,
    { lastEventId = '', ...query }: Selection<`${OfMarket}/stream`> & { readonly lastEventId?: string } = {},
  ): AsyncGenerator<StreamEvent, void> {
    const request = requestOf('GET', `${MARKET}/stream`, { ...query, ...named(market) });
    const retries = this.#connection.retries(request);
    for (let lastId = lastEventId; ; ) {
      const headers: Record<string, string> = lastId === '' ? {} : { 'last-event-id': lastId };
      try {
        for await (const { id, event, data } of eventsOf(this.#connection.pieces({ ...request, headers }))) {
          retries.progressed();
          if (event === 'end') return;
          lastId = id;
          yield { id, event, data: JSON.parse(data) } as StreamEvent;
        }
        throw new ConnectionError('connection', 'the stream stopped before its end');
      } catch (error) {
        await retries.wait(error);
      }
    }
  }

  /**
   * Writes a market as a recording to a file, which appears when it is complete, or to a stream, which is closed then. Returns the
   * number of bytes. After a lost connection it begins again, compares what was written by its digests, and continues after it.
   * Throws a ConflictError if the market has changed since. The digests within `format: 'segments'` are checked too.
   */
  async export(
    market: MarketName,
    to: string | WritableStream<Uint8Array>,
    query: Selection<`${OfMarket}/export`> = {},
  ): Promise<number> {
    const target: Writer = typeof to === 'string' ? await fileWriter(to) : to.getWriter();
    let bytes = 0;
    const blocks = this.exportBlocks(market, query);
    async function* written() {
      for await (const block of blocks) {
        await target.write(block);
        bytes += block.length;
        yield block;
      }
    }
    try {
      for await (const _ of query.format === 'segments' ? framesOf(written()) : written());
    } catch (error) {
      await target.abort(error);
      throw error;
    }
    await target.close();
    return bytes;
  }

  /** The bytes of `export`, in blocks of 64 KiB. */
  async *exportBlocks(
    market: MarketName,
    query: Selection<`${OfMarket}/export`> = {},
  ): AsyncGenerator<Uint8Array, void> {
    const request = requestOf('GET', `${MARKET}/export`, { ...query, ...named(market) });
    const digests: string[] = [];
    for (const retries = this.#connection.retries(request); ; ) {
      let nth = 0;
      try {
        for await (const block of blocksOf(this.#connection.pieces(request))) {
          const digest = await digestOf(block);
          if ((digests[nth] ?? digest) !== digest) throw new ConflictError('conflict', CHANGED);
          nth += 1;
          if (nth <= digests.length) continue;
          retries.progressed();
          digests.push(digest);
          yield block;
        }
        if (nth < digests.length) throw new ConflictError('conflict', CHANGED);
        return;
      } catch (error) {
        await retries.wait(error);
      }
    }
  }

  /** All snapshots of a market from its stored bytes: the same as `snapshots`, in a twentieth of the bytes. */
  segmentSnapshots(market: MarketName, query: Selection<`${OfMarket}/export`> = {}) {
    return readSnapshots(this.exportBlocks(market, { ...query, format: 'segments' })) as AsyncGenerator<
      SegmentSnapshot,
      void
    >;
  }

  /** Creates a replay in a process of `bookreel replay`. `await using` stops it at the end of its scope. */
  async replay(settings: Schemas['ReplayRequest'] = {}, options: Options = {}): Promise<RunningReplay> {
    const { data } = await this.send('post', '/v1/replays', options, settings);
    return new RunningReplay(this, this.#connection.below(`/replays/${data.id}`), data);
  }

  /** A page is passed on when it is complete, so a lost connection neither drops nor repeats a record. */
  async *#pages<T>(path: string, query: Sent): AsyncGenerator<T, void> {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const request = requestOf('GET', path, { limit: PAGE_LIMIT, ...query, cursor });
      const page = (await this.#connection.document(request)) as { data: T[]; nextCursor: string | null };
      yield* page.data;
      cursor = page.nextCursor;
    }
  }
}

/** A replay with a clock of its own. */
export class RunningReplay implements AsyncDisposable {
  /** Reads as of the replay's clock. */
  readonly client: Client;
  /** Addresses for a bot begin with it: `${baseUrl}/ws/market`. */
  readonly baseUrl: string;
  readonly id: string;
  readonly #owner: Client;

  constructor(owner: Client, connection: Connection, { id }: Replay) {
    this.client = new Client(connection);
    this.baseUrl = connection.baseUrl;
    this.id = id;
    this.#owner = owner;
  }

  async state(options: Options = {}): Promise<Replay> {
    return (await this.#owner.get('/v1/replays/{replay}', { ...options, replay: this.id })).data;
  }

  /** `{ now, speed, paused, step }`, which take effect in this order. */
  async change(change: Schemas['ReplayChange'], options: Options = {}): Promise<Replay> {
    return (await this.#owner.send('patch', '/v1/replays/{replay}', { ...options, replay: this.id }, change)).data;
  }

  async stop(): Promise<void> {
    await this.#owner.send('delete', '/v1/replays/{replay}', { replay: this.id });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** The path parameters of a market. */
function named(market: MarketName): { readonly coin: string; readonly conditionId: string } {
  if (typeof market !== 'string') return { coin: market.symbol, conditionId: market.conditionId };
  const [, coin, slash, name] = /^(\w+)([-/])(.+)$/.exec(market) ?? [];
  if (coin !== undefined && name !== undefined) return { coin, conditionId: slash === '/' ? name : market };
  throw new TypeError(`'${market}' does not say its coin: write 'btc/${market}', or give a market of markets()`);
}

type Sent = Options & { readonly [name: string]: unknown };

function requestOf(method: string, template: string, { signal, ...parameters }: Sent): Request {
  const query = new URLSearchParams();
  const given = new Map(Object.entries(parameters).filter(([, value]) => value !== undefined));
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = given.get(name);
    if (value === undefined) throw new TypeError(`${name} is missing: ${template} needs it`);
    given.delete(name);
    return encodeURIComponent(textOf(value));
  });
  for (const [name, value] of given) query.set(name, textOf(value));
  return { method, path: query.size === 0 ? path : `${path}?${query}`, signal };
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

/** Server-sent events, without comments. */
async function* eventsOf(pieces: AsyncIterable<Uint8Array>) {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of pieces) {
    text += decoder.decode(piece, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop()!;
    for (const block of blocks) {
      const fields = new Map(
        block.split('\n').map((line) => [line.split(': ', 1)[0]!, line.slice(line.indexOf(': ') + 2)]),
      );
      const [id = '', event, data] = ['id', 'event', 'data'].map((name) => fields.get(name));
      if (event !== undefined && data !== undefined) yield { id, event, data };
    }
  }
}

/** A variable of Node, Bun and Deno, which asks for leave to read each. */
function fromEnvironment(name: 'BOOKREEL_KEY' | 'BOOKREEL_URL'): string | undefined {
  const { process } = globalThis as { readonly process?: { readonly env?: Readonly<Record<string, string>> } };
  return process?.env?.[name] || undefined;
}

function pageOrigin(): string | undefined {
  return (globalThis as { readonly location?: { readonly origin?: string } }).location?.origin;
}

/** Without surrounding spaces and line ends. Errors of fetch() could show a key that is no header. */
function keyOf(key = ''): string | undefined {
  const trimmed = key.trim();
  if (/[^!-~]/.test(trimmed)) throw new TypeError('the key has characters that no key has: copy it again');
  return trimmed || undefined;
}
