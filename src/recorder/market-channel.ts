import type { RecorderClock } from './recorder-clock.ts';
import type { Connect, WebConnection } from './web-connection.ts';

/** The venue closes connections that do not ask. */
const PING_MS = 10_000;
/** The venue's own client gives up a connection after this time without PONG. */
const PONG_MS_MAX = 30_000;
const OPEN_MS_MAX = 15_000;
const US_PER_MS = 1000;

export interface ChannelOptions {
  readonly url: string;
  readonly connect: Connect;
  readonly clock: RecorderClock;
  /** Unique among all connections of the recorder. */
  readonly id: number;
  /** The first assets. */
  readonly assets: Iterable<string>;
  /** Called with everything but PONG, and the time of its arrival. */
  readonly onFrame: (channel: MarketChannel, text: string, receivedUs: number) => void;
  /** Called once when the connection ends by itself. */
  readonly onEnd: (channel: MarketChannel, reason: string) => void;
}

/** One connection to the venue's market channel, as venue.md describes it: an opening frame, then operations, and a PING every ten seconds. */
export class MarketChannel implements Disposable {
  readonly id: number;
  /** The assets that it is subscribed to. */
  readonly assets: Set<string>;
  /** Assets with a whole book since their subscription here. */
  readonly books = new Set<string>();
  /** When each asset was subscribed here, and how often this was repeated. */
  readonly subscribed = new Map<string, { us: number; repeated: number }>();
  openedUs: number | undefined;
  lastFrameUs: number | undefined;
  /** The last sign of life: a frame, or PONG. */
  lastAliveUs = 0;
  /** The arrival of the last message that was not an asset's first book: those come also on a connection that brings nothing else. */
  lastNewsUs: number | undefined;
  frames = 0;
  readonly #options: ChannelOptions;
  readonly #connection: WebConnection;
  #lastPongUs = 0;
  #hasOpeningFrame = false;
  #timer: Disposable;
  #isOver = false;

  constructor(options: ChannelOptions) {
    this.#options = options;
    this.id = options.id;
    this.assets = new Set(options.assets);
    this.#timer = options.clock.after(OPEN_MS_MAX, () => this.#end('it did not open within 15 s'));
    this.#connection = options.connect(options.url, {
      onOpen: () => this.#open(),
      onText: (text) => this.#take(text),
      onEnd: (reason) => this.#end(reason),
    });
  }

  subscribe(ids: readonly string[]): void {
    const added = ids.filter((id) => !this.assets.has(id));
    for (const id of added) this.assets.add(id);
    if (added.length === 0 || this.openedUs === undefined) return;
    this.#note(added);
    if (this.#hasOpeningFrame) this.#send({ operation: 'subscribe', assets_ids: added, custom_feature_enabled: true });
    else this.#sendOpening();
  }

  unsubscribe(ids: readonly string[]): void {
    const removed = ids.filter((id) => this.assets.delete(id));
    for (const id of removed) {
      this.books.delete(id);
      this.subscribed.delete(id);
    }
    if (removed.length > 0 && this.#hasOpeningFrame) this.#send({ operation: 'unsubscribe', assets_ids: removed });
  }

  /** Subscribes again: the venue did not answer the subscription of an asset, or its book is doubtful. */
  repeat(id: string): void {
    const repeated = this.subscribed.get(id)?.repeated ?? 0;
    this.unsubscribe([id]);
    this.subscribe([id]);
    const noted = this.subscribed.get(id);
    if (noted !== undefined) noted.repeated = repeated + 1;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer[Symbol.dispose]();
    this.#connection.close();
  }

  #open(): void {
    const nowUs = this.#options.clock.nowUs();
    this.openedUs = nowUs;
    this.lastAliveUs = nowUs;
    this.#lastPongUs = nowUs;
    this.#note(this.assets);
    // A second opening frame would be refused, so the first one waits for an asset.
    if (this.assets.size > 0) this.#sendOpening();
    this.#pingLater();
  }

  #sendOpening(): void {
    this.#hasOpeningFrame = true;
    const ids = [...this.assets];
    this.#send({ assets_ids: ids, type: 'market', initial_dump: true, level: 2, custom_feature_enabled: true });
  }

  #note(ids: Iterable<string>): void {
    const us = this.#options.clock.nowUs();
    for (const id of ids) this.subscribed.set(id, { us, repeated: 0 });
  }

  #send(frame: object): void {
    this.#connection.send(JSON.stringify(frame));
  }

  #pingLater(): void {
    this.#timer[Symbol.dispose]();
    this.#timer = this.#options.clock.after(PING_MS, () => {
      if (this.#options.clock.nowUs() - this.#lastPongUs > PONG_MS_MAX * US_PER_MS) {
        this.#end('the venue stopped answering PING');
        return;
      }
      this.#connection.send('PING');
      this.#pingLater();
    });
  }

  #take(text: string): void {
    if (this.#isOver) return;
    const nowUs = this.#options.clock.nowUs();
    this.lastAliveUs = nowUs;
    if (text === 'PONG') {
      this.#lastPongUs = nowUs;
      return;
    }
    this.frames += 1;
    this.lastFrameUs = nowUs;
    this.#options.onFrame(this, text, nowUs);
  }

  #end(reason: string): void {
    if (this.#isOver) return;
    this[Symbol.dispose]();
    this.#options.onEnd(this, reason);
  }
}
