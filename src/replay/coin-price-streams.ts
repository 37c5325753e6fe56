import { Agenda, type Upcoming } from '../domain/agenda.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { type PriceRecord, pricesIn } from '../segment/price-segment.ts';
import { type ClockedMessages, ClockedSender, type SessionDeps } from './clocked-sender.ts';
import { Lookahead } from './lookahead.ts';
import type { Replay } from './replay.ts';

/** A message of a stream. Without a text it is none: a stream that has to read earlier prices first yields such a one now and then. */
export interface CoinMessage {
  readonly timestampMs: InstantMs;
  readonly text: string | undefined;
}

/** Messages about the prices of a coin. */
export interface CoinPriceStream {
  /** Those after an instant, in the order of time. They tell nothing of prices that are later than themselves. */
  readonly messagesAfter: (instantMs: InstantMs) => Iterable<CoinMessage>;
  /** The frame of a message, made when it is sent; by default its text. */
  readonly framed?: (text: string) => string;
  /** The message with which the stream begins at an instant; undefined if it begins without one. */
  readonly openingAt?: (instantMs: InstantMs) => string | undefined;
}

/** A stream that the client is subscribed to; `atMs` is the time of its next message, Infinity after the last one. */
interface Subscription extends Upcoming {
  readonly name: string;
  readonly stream: CoinPriceStream;
  readonly messages: Lookahead<CoinMessage>;
  atMs: InstantMs;
}

const MESSAGES_PER_CLOCK_CHECK = 64;

export interface CoinSource {
  readonly coin: string;
  readonly source: string;
}

/** A message about each price of a coin from one source after an instant. Every time in it has the replay's shift added. */
export function* priceMessages(
  { archive, shiftMs }: Replay,
  { coin, source }: CoinSource,
  afterMs: InstantMs,
  messageOf: (price: PriceRecord, shiftMs: number) => string,
): Generator<CoinMessage> {
  const slices = archive.prices.slicesOfSource(coin, source, afterMs + 1, INSTANT_MAX_MS);
  for (const price of pricesIn(slices)) yield { timestampMs: price.timestampMs, text: messageOf(price, shiftMs) };
}

/**
 * The streams of coin prices that one client is subscribed to, each by a name. It sends their messages as the clock of the replay
 * reaches them: those of one timestamp in the order of the subscriptions, those of one stream in its order.
 */
export class CoinPriceStreams implements ClockedMessages {
  readonly sender: ClockedSender;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #upcoming = new Agenda<Subscription>();
  #rank = 0;

  constructor(deps: SessionDeps) {
    this.sender = new ClockedSender(deps, this);
  }

  /** In the order of their subscriptions. */
  get names(): string[] {
    return [...this.#subscriptions.keys()];
  }

  /** Subscribes to further streams, which begin at the client's position. Streams that it already has are not changed. */
  add(streams: ReadonlyMap<string, CoinPriceStream>): void {
    // Due prices are sent to the earlier subscriptions only.
    this.sender.sendDue();
    if (this.sender.isClosed) return;
    if (!this.sender.isFollowing) this.sender.startAtClock();
    const added = [...streams].filter(([name]) => !this.#subscriptions.has(name));
    for (const [name, stream] of added) this.#open(name, stream);
    this.#follow();
    this.#sendOpenings(added.map(([, stream]) => stream));
  }

  remove(names: Iterable<string>): void {
    for (const name of names) {
      const removed = this.#subscriptions.get(name);
      if (removed === undefined) continue;
      this.#subscriptions.delete(name);
      this.#upcoming.remove((each) => each === removed);
    }
    this.#follow();
  }

  get nextMs(): InstantMs {
    return this.#upcoming.nextMs;
  }

  sendSome(dueMs: InstantMs): boolean {
    const upcoming = this.#upcoming;
    for (let i = 0; i < MESSAGES_PER_CLOCK_CHECK; i += 1) {
      if (upcoming.nextMs > dueMs) return true;
      const subscription = upcoming.take();
      const { messages, stream } = subscription;
      const { timestampMs, text } = messages.take();
      subscription.atMs = messages.next?.timestampMs ?? Infinity;
      upcoming.add(subscription);
      if (text === undefined) continue;
      this.sender.send(stream.framed?.(text) ?? text);
      // No other message of this time is left.
      if (upcoming.nextMs > timestampMs) this.sender.moveTo(timestampMs);
      if (this.sender.isBlocked) return false;
    }
    return false;
  }

  restart(): void {
    const open = [...this.#subscriptions.values()];
    this.#upcoming.remove(() => true);
    this.#subscriptions.clear();
    for (const { name, stream } of open) this.#open(name, stream);
    this.#sendOpenings(open.map(({ stream }) => stream));
  }

  #sendOpenings(streams: readonly CoinPriceStream[]): void {
    for (const { openingAt } of streams) {
      const opening = openingAt?.(this.sender.positionMs);
      if (opening !== undefined) this.sender.send(opening);
    }
  }

  #open(name: string, stream: CoinPriceStream): void {
    const messages = new Lookahead(stream.messagesAfter(this.sender.positionMs));
    this.#rank += 1;
    const atMs = messages.next?.timestampMs ?? Infinity;
    const subscription = { name, stream, messages, atMs, rank: this.#rank };
    this.#subscriptions.set(name, subscription);
    this.#upcoming.add(subscription);
  }

  #follow(): void {
    this.sender.follow(this.#subscriptions.size > 0);
    this.sender.schedule();
  }
}
