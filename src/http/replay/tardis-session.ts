import { DomainError } from '../../domain/errors.ts';
import type { Connection } from '../../replay/connection.ts';
import type { WorkQueue } from '../../replay/fair-queue.ts';
import { marketsOf, NativeStream } from '../../replay/tardis/native-stream.ts';
import { type Channel, type ChannelFilter, type Window, withoutAssets } from '../../replay/tardis/options.ts';
import type { TardisSource } from '../../replay/tardis/source.ts';
import { type ChannelRequest, channelRequest, SUBSCRIBED_MAX } from '../../venue/channel-request-parser.ts';
import { TardisSender } from './tardis-sender.ts';

/** The channels of every subscription, and those that `custom_feature_enabled` adds. */
const CHANNELS_ALWAYS: readonly Channel[] = ['book', 'price_change', 'last_trade_price', 'tick_size_change'];
const CHANNELS_CUSTOM: readonly Channel[] = ['best_bid_ask', 'new_market', 'market_resolved'];
const FINISHED = 1000;
/** RFC 6455: an unexpected condition. */
const BROKEN = 1011;
/** The longest reason that fits in a close frame. */
const REASON_BYTES_MAX = 123;

export interface SessionDeps {
  readonly source: TardisSource;
  readonly queue: WorkQueue;
  readonly monotonicMs: () => number;
  /** Starts a session later: until then other connections join and subscribe. Returns a function that prevents it. */
  readonly startLater: (start: () => void) => () => void;
  /** Logs an error of this program that ended a session. */
  readonly logCut: (error: unknown) => void;
}

/** A connection of a session, and its subscriptions. */
export class SessionMember {
  readonly connection: Connection;
  readonly window: Window;
  readonly #assetIds = new Set<string>();
  #custom = false;
  #filters: ChannelFilter[] = [];
  /** Undefined until the session starts. */
  stream: NativeStream | undefined;

  constructor(connection: Connection, window: Window) {
    this.connection = connection;
    this.window = window;
  }

  get filters(): readonly ChannelFilter[] {
    return this.#filters;
  }

  /** Adds a subscription and returns its new filters. A first one without assets means all. */
  subscribe({ assetIds, custom }: Extract<ChannelRequest, { kind: 'subscribe' }>): ChannelFilter[] {
    this.#custom = custom ?? this.#custom;
    const added = [...new Set(assetIds)]
      .filter((assetId) => !this.#assetIds.has(assetId))
      .slice(0, SUBSCRIBED_MAX - this.#assetIds.size);
    if (added.length === 0 && (assetIds.length > 0 || this.#filters.length > 0)) return [];
    for (const assetId of added) this.#assetIds.add(assetId);
    const channels = this.#custom ? [...CHANNELS_ALWAYS, ...CHANNELS_CUSTOM] : CHANNELS_ALWAYS;
    const filters = channels.map((channel) => ({ channel, assetIds: added.length === 0 ? undefined : added }));
    this.#filters.push(...filters);
    return filters;
  }

  unsubscribe(assetIds: readonly string[]): void {
    for (const assetId of assetIds) this.#assetIds.delete(assetId);
    this.#filters = withoutAssets(this.#filters, assetIds);
  }
}

/**
 * Sockets of `/ws-replay` that share one order by time, each with its own window and subscriptions. Unknown frames are
 * ignored.
 */
export class TardisSession {
  readonly #deps: SessionDeps;
  readonly #speed: number;
  readonly #members = new Set<SessionMember>();
  readonly #cancelStart: () => void;
  readonly #over: () => void;
  #sender: TardisSender | undefined;

  /** Calls `over` once, at its end. */
  constructor(deps: SessionDeps, speed: number, over: () => void) {
    this.#deps = deps;
    this.#speed = speed;
    this.#over = over;
    this.#cancelStart = deps.startLater(() => this.#start());
  }

  get hasStarted(): boolean {
    return this.#sender !== undefined;
  }

  join(connection: Connection, window: Window): SessionMember {
    const member = new SessionMember(connection, window);
    this.#members.add(member);
    return member;
  }

  received(member: SessionMember, text: string): void {
    const request = channelRequest(text);
    if (request === undefined) return;
    const { connection, stream } = member;
    if (request.kind === 'ping') {
      connection.send('PONG');
    } else if (request.kind === 'unsubscribe') {
      member.unsubscribe(request.assetIds);
      this.#inView(() => stream?.unsubscribe(request.assetIds));
    } else {
      const filters = member.subscribe(request);
      if (filters.length > 0) this.#inView(() => stream?.subscribe(filters));
    }
  }

  drained({ stream }: SessionMember): void {
    if (stream !== undefined) this.#sender?.drained(stream);
  }

  left(member: SessionMember): void {
    if (!this.#members.delete(member)) return;
    if (member.stream !== undefined) this.#sender?.left(member.stream);
    if (this.#members.size === 0) this.#end();
  }

  #inView(work: () => void): void {
    this.#deps.source.archive.database.read(work);
  }

  #start(): void {
    try {
      const members = [...this.#members];
      this.#inView(() => {
        for (const member of members) this.#open(member);
      });
      const { source, queue, monotonicMs } = this.#deps;
      const { database } = source.archive;
      const fromMs = Math.min(...members.map(({ window }) => window.fromMs));
      const connections = new Map(members.map(({ connection, stream }) => [stream!, connection]));
      const ended = (error?: unknown) => this.#finish(error);
      const pace = { fromMs, speed: this.#speed, monotonicMs };
      this.#sender = new TardisSender({ database, queue, pace, ended }, connections);
      this.#sender.start();
    } catch (error) {
      this.#finish(error);
    }
  }

  #open(member: SessionMember): void {
    const { source } = this.#deps;
    const { filters, window } = member;
    if (filters.length === 0) {
      throw new DomainError('invalid-parameter', 'a connection of this session has subscribed to nothing');
    }
    const named = filters.flatMap(({ assetIds = [] }) => assetIds);
    const ofAllMarkets = filters.some(({ assetIds }) => assetIds === undefined);
    if (!ofAllMarkets && marketsOf(source.archive, named).length === 0) {
      throw new DomainError('not-found', 'no recorded market has any of the assets that were subscribed to');
    }
    member.stream = new NativeStream(source, window, filters);
  }

  #finish(error?: unknown): void {
    const members = [...this.#members];
    this.#members.clear();
    this.#end();
    if (error !== undefined && !isClientError(error)) this.#deps.logCut(error);
    for (const { connection } of members) closeConnection(connection, error, 'WS replay finished');
  }

  #end(): void {
    this.#cancelStart();
    this.#sender?.stop();
    this.#over();
  }
}

/** True if the client caused an error, so that it gets the reason. */
export function isClientError(error: unknown): boolean {
  return error instanceof DomainError && error.kind !== 'unavailable';
}

/** Closes a connection: with 1011 and the message of `error`, or without an error with 1000 and `finished`. */
export function closeConnection(connection: Connection, error: unknown, finished: string): void {
  if (error === undefined) connection.close(FINISHED, finished);
  else connection.close(BROKEN, reasonOf(error));
}

function reasonOf(error: unknown): string {
  const text = isClientError(error) ? (error as DomainError).message : 'the archive cannot answer now: try again later';
  const cut = Buffer.from(text).subarray(0, REASON_BYTES_MAX).toString();
  // A character that was cut in two is left out.
  return cut.replace(/\uFFFD+$/, '');
}
