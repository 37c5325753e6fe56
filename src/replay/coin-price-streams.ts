import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { type PriceRecord, pricesIn } from '../segment/price-segment.ts';
import { Agenda, type Upcoming } from './agenda.ts';
import { type ClockedMessages, ClockedSender, type SessionDeps } from './clocked-sender.ts';
import { Lookahead } from './lookahead.ts';
import type { Replay } from './replay.ts';

/** The prices of a coin from one source, and the message about each. */
export interface CoinPriceStream {
  readonly coin: string;
  readonly source: string;
  /** Every time in it has `shiftMs` added. */
  readonly messageOf: (price: PriceRecord, shiftMs: number) => string;
  /** The message with which the stream begins at an instant; undefined if it begins without one. */
  readonly openingAt?: (instantMs: InstantMs) => string | undefined;
}

/** A stream that the client is subscribed to; `atMs` is the time of its next price, Infinity after the last one. */
interface Subscription extends Upcoming {
  readonly name: string;
  readonly stream: CoinPriceStream;
  readonly prices: Lookahead<PriceRecord>;
  atMs: InstantMs;
}

const PRICES_PER_CLOCK_CHECK = 64;

/**
 * The streams of coin prices that one client is subscribed to, each by a name. It sends their prices as the clock of the replay
 * reaches them: prices of one timestamp in the order of the subscriptions, those of one stream in the order of the archive.
 */
export class CoinPriceStreams implements ClockedMessages {
  readonly sender: ClockedSender;
  readonly #replay: Replay;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #upcoming = new Agenda<Subscription>();
  #rank = 0;

  constructor(deps: SessionDeps) {
    this.#replay = deps.replay;
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
    for (let i = 0; i < PRICES_PER_CLOCK_CHECK; i += 1) {
      if (upcoming.nextMs > dueMs) return true;
      const subscription = upcoming.take();
      const { prices, stream } = subscription;
      const price = prices.take();
      subscription.atMs = prices.next?.timestampMs ?? Infinity;
      upcoming.add(subscription);
      this.sender.send(stream.messageOf(price, this.#replay.shiftMs));
      // No other price of this time is left.
      if (upcoming.nextMs > price.timestampMs) this.sender.moveTo(price.timestampMs);
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
    const { prices } = this.#replay.archive;
    const fromMs = this.sender.positionMs + 1;
    const ahead = new Lookahead(pricesIn(prices.slicesOfSource(stream.coin, stream.source, fromMs, INSTANT_MAX_MS)));
    this.#rank += 1;
    const atMs = ahead.next?.timestampMs ?? Infinity;
    const subscription = { name, stream, prices: ahead, atMs, rank: this.#rank };
    this.#subscriptions.set(name, subscription);
    this.#upcoming.add(subscription);
  }

  #follow(): void {
    this.sender.follow(this.#subscriptions.size > 0);
    this.sender.schedule();
  }
}
