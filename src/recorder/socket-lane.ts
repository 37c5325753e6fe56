import type { RecorderSocket } from '../domain/recorder-status.ts';
import { MarketChannel } from './market-channel.ts';
import type { RecorderClock } from './recorder-clock.ts';
import { REFUSED_MS, venueRefusal } from './venue-refusal.ts';
import type { Ask, Connect } from './web-connection.ts';

const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 15_000;
/** A connection is replaced after this time, plus up to as much again: an old one may stop sending without a sign. */
const REPLACED_AFTER_MS = 30 * 60_000;
/** The time for a new connection to get its books before the old one is closed. */
const HANDOVER_MS_MAX = 30_000;
const HANDOVER_LOOK_MS = 250;
const US_PER_MS = 1000;

export interface LaneOptions {
  readonly number: number;
  /** The HTTP base of the venue; its channel is /ws/market below it. */
  readonly url: string;
  readonly connect: Connect;
  readonly ask: Ask;
  readonly clock: RecorderClock;
  readonly random: () => number;
  readonly nextId: () => number;
  readonly onFrame: (channel: MarketChannel, text: string, receivedUs: number) => void;
  /** Called when a connection has ended; `channel.books` are the assets that it brought. `isReplaced`: another one has taken its place. */
  readonly onEnd: (lane: SocketLane, channel: MarketChannel, reason: string, isReplaced: boolean) => void;
}

/** One socket to the venue that is kept open: it connects again after an end, and replaces its connection every 30 to 60 minutes. */
export class SocketLane implements Disposable {
  readonly number: number;
  /** The assets that it should have. */
  readonly assets = new Set<string>();
  readonly #options: LaneOptions;
  #current: MarketChannel | undefined;
  /** Takes the place of the current one when it has its books. */
  #next: MarketChannel | undefined;
  #timer: Disposable | undefined;
  #replacement: Disposable | undefined;
  #retryUs: number | undefined;
  #failures = 0;
  /** After a connection that should replace the present one has ended. */
  #refusedUntilUs = 0;
  #frames = 0;
  #ends = 0;
  #lastEnd: string | null = null;
  #isOver = false;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.number = options.number;
  }

  /** The connections that bring frames now: two while one replaces the other. */
  get channels(): readonly MarketChannel[] {
    return [this.#current, this.#next].filter((channel) => channel?.openedUs !== undefined) as MarketChannel[];
  }

  open(): void {
    this.#current = this.#newChannel();
    this.#replaceLater();
  }

  subscribe(ids: readonly string[]): void {
    for (const id of ids) this.assets.add(id);
    this.#current?.subscribe(ids);
    this.#next?.subscribe(ids);
  }

  unsubscribe(ids: readonly string[]): void {
    for (const id of ids) this.assets.delete(id);
    this.#current?.unsubscribe(ids);
    this.#next?.unsubscribe(ids);
  }

  /**
   * Opens another connection, and closes the present one when the new one has its books. `isFrozen`: the present one brings nothing, and is
   * closed in any case. False: another one is under way or was refused a moment ago, or there is none.
   */
  replace(reason: string, isFrozen: boolean): boolean {
    const nowUs = this.#options.clock.nowUs();
    if (this.#current === undefined || this.#next !== undefined || nowUs < this.#refusedUntilUs) return false;
    this.#next = this.#newChannel();
    this.#handOver(reason, isFrozen, nowUs + HANDOVER_MS_MAX * US_PER_MS);
    return true;
  }

  status(): RecorderSocket {
    const channel = this.#current;
    const ms = (us: number | undefined) => (us === undefined ? null : Math.round(us / US_PER_MS));
    return {
      number: this.number,
      state: channel === undefined ? 'waiting' : channel.openedUs === undefined ? 'connecting' : 'open',
      openedMs: ms(channel?.openedUs),
      retryMs: ms(this.#retryUs),
      assets: this.assets.size,
      frames: this.#frames + (channel?.frames ?? 0) + (this.#next?.frames ?? 0),
      lastFrameMs: ms(channel?.lastFrameUs),
      ends: this.#ends,
      lastEnd: this.#lastEnd,
    };
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const part of [this.#timer, this.#replacement, this.#current, this.#next]) part?.[Symbol.dispose]();
    this.#current = undefined;
    this.#next = undefined;
  }

  get #url(): string {
    return `${this.#options.url.replace(/^http/, 'ws')}/ws/market`;
  }

  #newChannel(): MarketChannel {
    const { connect, clock, nextId, onFrame } = this.#options;
    return new MarketChannel({
      url: this.#url,
      connect,
      clock,
      id: nextId(),
      assets: this.assets,
      onFrame,
      onEnd: (channel, reason) => void this.#ended(channel, reason),
    });
  }

  /** Waits until the new connection is open and has a book of each asset of which the old one has one. */
  #handOver(reason: string, isFrozen: boolean, untilUs: number): void {
    this.#timer = this.#options.clock.after(HANDOVER_LOOK_MS, () => {
      const [old, next] = [this.#current, this.#next];
      if (old === undefined || next === undefined) return;
      const hasBooks = next.openedUs !== undefined && [...old.books].every((id) => next.books.has(id));
      if (!hasBooks && this.#options.clock.nowUs() < untilUs) {
        this.#handOver(reason, isFrozen, untilUs);
        return;
      }
      this.#next = undefined;
      this.#replaceLater();
      if (!hasBooks && !isFrozen) {
        this.#frames += next.frames;
        next[Symbol.dispose]();
        return;
      }
      this.#frames += old.frames;
      old[Symbol.dispose]();
      this.#current = next;
      this.#lastEnd = reason;
      this.#options.onEnd(this, old, reason, true);
    });
  }

  #replaceLater(): void {
    const { clock, random } = this.#options;
    this.#replacement?.[Symbol.dispose]();
    const ms = REPLACED_AFTER_MS * (1 + random());
    this.#replacement = clock.after(ms, () => void this.replace('it was open for 30 to 60 minutes', false));
  }

  async #ended(channel: MarketChannel, reason: string): Promise<void> {
    this.#frames += channel.frames;
    this.#ends += 1;
    const isNext = channel === this.#next;
    if (isNext) this.#next = undefined;
    else if (channel === this.#current) {
      this.#current = this.#next;
      this.#next = undefined;
    }
    const wasOpen = channel.openedUs !== undefined;
    // One that is closed at once is no success.
    this.#failures = channel.frames > 0 ? 0 : this.#failures + 1;
    this.#lastEnd = reason;
    this.#options.onEnd(this, channel, reason, false);
    if (this.#current !== undefined) {
      this.#refusedUntilUs = this.#options.clock.nowUs() + REFUSED_MS * US_PER_MS;
      this.#replaceLater();
      return;
    }
    const refusal = wasOpen ? undefined : await venueRefusal(this.#url, this.#options.ask);
    if (refusal !== undefined) this.#lastEnd = refusal.reason;
    if (this.#isOver) return;
    this.#retryAfter(refusal?.pauseMs ?? this.#pauseMs());
  }

  /** Half of the pause is at random, so that the sockets of many recorders do not return together. */
  #pauseMs(): number {
    const ms = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** this.#failures);
    return Math.max(RETRY_MS_MIN, ms * (0.5 + this.#options.random() / 2));
  }

  #retryAfter(ms: number): void {
    const { clock } = this.#options;
    this.#retryUs = clock.nowUs() + ms * US_PER_MS;
    this.#timer?.[Symbol.dispose]();
    this.#timer = clock.after(ms, () => {
      this.#retryUs = undefined;
      this.#current = this.#newChannel();
      this.#replaceLater();
    });
  }
}
