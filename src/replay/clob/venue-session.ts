import { Agenda, type Upcoming } from '../../domain/agenda.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../../domain/outcome.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { type ChannelRequest, channelRequest, SUBSCRIBED_MAX } from '../../venue/channel-request-parser.ts';
import { listedFrame, resolvedFrame } from '../../venue/message-writer.ts';
import { type ClockedMessages, ClockedSender, type SessionDeps } from '../clocked-sender.ts';
import type { Connection } from '../connection.ts';
import { marketTexts } from '../listed-market.ts';
import type { Replay } from '../replay.ts';
import { MarketFrames } from './market-frames.ts';

/** A market and its subscribed outcomes; `atMs` is the time of its next event, Infinity after the last one. */
interface Subscription extends Upcoming {
  readonly market: StoredMarket;
  atMs: InstantMs;
  readonly frames: MarketFrames;
  readonly listening: Record<Outcome, boolean>;
}

const EVENTS_PER_CLOCK_CHECK = 32;
/** Service restart (the registry of RFC 6455's codes): clients connect again. */
const CLOSED_BY_GAP = 1012;
/** The venue's answers that only a strict replay gives; nautilus_trader#4864 shows how it closes the connection. */
const INVALID_OPERATION = 'INVALID OPERATION';
const POLICY_VIOLATION = 1008;
const INTERNAL_ERROR = 1011;
const INVALID_SUBSCRIPTION = 'invalid subscription payload';

/**
 * One client of the venue's market channel on a replay. Its subscriptions begin with the books at the clock's instant and
 * follow the clock. A client that does not keep up gets events later, without an effect on others. When the clock jumps, all
 * subscriptions start again with the books of the new instant. When a subscribed market is deleted, the connection closes.
 */
export class VenueSession implements ClockedMessages {
  readonly #replay: Replay;
  readonly #connection: Connection;
  readonly #sender: ClockedSender;
  readonly #subscriptions = new Map<number, Subscription>();
  readonly #upcoming = new Agenda<Subscription>();
  #custom = false;
  #wantsDump = true;
  #hasSubscribed = false;
  #hasOpened = false;
  /** The index of the next announcement. */
  #announcement = 0;
  #rank = 0;
  /** The version of the archive when the subscribed markets were last looked up. */
  #version: number | undefined;

  constructor(deps: SessionDeps) {
    this.#replay = deps.replay;
    this.#connection = deps.connection;
    this.#sender = new ClockedSender(deps, this);
  }

  /** Takes a frame from the client. */
  received(text: string): void {
    const request = channelRequest(text);
    if (this.#sender.isClosed || request === undefined) return;
    if (request.kind === 'ping') this.#answerPing();
    else if (request.kind === 'unsubscribe') this.#unsubscribe(request.assetIds);
    else if (request.isOpening && this.#hasOpened && this.#replay.options.strict) this.#sender.send(INVALID_OPERATION);
    else this.#subscribe(request);
  }

  #answerPing(): void {
    if (this.#hasSubscribed || !this.#replay.options.strict) this.#connection.send('PONG');
    else this.#sender.close(POLICY_VIOLATION, INVALID_SUBSCRIPTION);
  }

  /** Call it when the client has read all waiting messages. */
  drained(): void {
    this.#sender.drained();
  }

  closed(): void {
    this.#sender.closed();
  }

  get nextMs(): InstantMs {
    return Math.min(this.#announcementMs, this.#upcoming.nextMs);
  }

  get #announcementMs(): InstantMs {
    const announcement = this.#custom ? this.#replay.announcements[this.#announcement] : undefined;
    return announcement?.timestampMs ?? Infinity;
  }

  #subscribe({ isOpening, assetIds, initialDump, custom }: Extract<ChannelRequest, { kind: 'subscribe' }>): void {
    this.#hasSubscribed = true;
    this.#hasOpened ||= isOpening;
    // Due events are sent to the earlier subscriptions only.
    this.#sender.sendDue();
    if (this.#sender.isClosed) return;
    if (!this.#sender.isFollowing) this.#sender.startAtClock();
    if (!this.#custom) this.#announceFromHere();
    this.#custom = custom ?? this.#custom;
    this.#wantsDump = initialDump ?? this.#wantsDump;
    const opened: [Subscription, Outcome][] = [];
    for (const assetId of assetIds) {
      if (this.#subscribedAssets() >= SUBSCRIBED_MAX) break;
      // A market that is not listed yet has no messages until its listing.
      const found = this.#replay.findByAsset(assetId, INSTANT_MAX_MS);
      if (found === undefined) continue;
      const subscription = this.#subscriptions.get(found.market.key) ?? this.#open(found.market);
      if (subscription.listening[found.outcome]) continue;
      subscription.listening[found.outcome] = true;
      opened.push([subscription, found.outcome]);
    }
    this.#follow();
    if (this.#wantsDump) this.#sendOpenings(opened);
    this.#sender.schedule();
  }

  #unsubscribe(assetIds: readonly string[]): void {
    const unwanted = new Set(assetIds);
    for (const subscription of this.#subscriptions.values()) {
      const { market, listening } = subscription;
      const [up, down] = market.clobTokenIds;
      listening.up &&= !unwanted.has(up);
      listening.down &&= !unwanted.has(down);
      if (listening.up || listening.down) continue;
      this.#subscriptions.delete(market.key);
      this.#upcoming.remove((each) => each === subscription);
    }
    this.#follow();
  }

  #follow(): void {
    this.#sender.follow(this.#custom || this.#subscriptions.size > 0);
  }

  #announceFromHere(): void {
    this.#announcement = this.#replay.announcementAfter(this.#sender.positionMs);
  }

  #subscribedAssets(): number {
    let count = 0;
    for (const { listening } of this.#subscriptions.values()) count += Number(listening.up) + Number(listening.down);
    return count;
  }

  #open(market: StoredMarket, listening = { up: false, down: false }): Subscription {
    const playback = this.#replay.playback(market, this.#sender.positionMs);
    const frames = new MarketFrames(playback, this.#replay.shiftMs, this.#replay.prices);
    this.#rank += 1;
    const subscription = { market, frames, listening, atMs: playback.nextMs ?? Infinity, rank: this.#rank };
    this.#subscriptions.set(market.key, subscription);
    this.#upcoming.add(subscription);
    return subscription;
  }

  /** Sends the books that subscriptions begin with: one message, an array. */
  #sendOpenings(opened: readonly (readonly [Subscription, Outcome])[]): void {
    const books = opened.flatMap(([{ frames }, outcome]) => frames.opening(outcome, this.#sender.positionMs) ?? []);
    if (books.length > 0) this.#sender.send(`[${books.join(',')}]`);
  }

  restart(): void {
    if (this.#closesForDeletion()) return;
    this.#announceFromHere();
    this.#upcoming.remove(() => true);
    const subscriptions = [...this.#subscriptions.values()];
    this.#subscriptions.clear();
    const opened: [Subscription, Outcome][] = [];
    for (const { market, listening } of subscriptions) {
      const subscription = this.#open(market, listening);
      for (const outcome of OUTCOMES) if (listening[outcome]) opened.push([subscription, outcome]);
    }
    this.#sendOpenings(opened);
  }

  sendSome(dueMs: InstantMs): boolean {
    if (this.#closesForDeletion()) return true;
    for (let i = 0; i < EVENTS_PER_CLOCK_CHECK; i += 1) {
      const timestampMs = this.nextMs;
      if (timestampMs > dueMs) return true;
      let isGap = false;
      // At one time announcements come first.
      if (this.#announcementMs === timestampMs) this.#announce();
      else isGap = this.#sendEvent();
      // No other message of this time is left.
      if (this.nextMs > timestampMs) this.#sender.moveTo(timestampMs);
      if (isGap && this.#replay.options.gaps === 'disconnect') {
        // A client that connects again begins after all events of this time, and is not disconnected by the same gap again.
        this.#sender.moveTo(timestampMs);
        this.#sender.close(CLOSED_BY_GAP, 'the recording has a gap here');
        return true;
      }
      if (this.#sender.isBlocked) return false;
    }
    return false;
  }

  /** Sends the messages about the next event; true if it is a gap. */
  #sendEvent(): boolean {
    const subscription = this.#upcoming.take();
    const { frames, listening } = subscription;
    const event = frames.playback.next();
    subscription.atMs = frames.playback.nextMs ?? Infinity;
    this.#upcoming.add(subscription);
    for (const frame of frames.framesOf(event, listening, this.#custom)) this.#sender.send(frame);
    return event.kind === 'gap';
  }

  #announce(): void {
    const { announcements, archive, shiftMs } = this.#replay;
    const { kind, marketKey, timestampMs } = announcements[this.#announcement]!;
    this.#announcement += 1;
    const recorded = this.#replay.marketByKey(marketKey);
    if (recorded === undefined) return;
    const market = this.#replay.asSent(recorded);
    const frameOf = kind === 'listed' ? listedFrame : resolvedFrame;
    this.#sender.send(frameOf(market, marketTexts(archive, market, shiftMs), timestampMs + shiftMs));
  }

  /** Closes the connection and returns true if a subscribed market was deleted; otherwise it would look as if the market had ended. */
  #closesForDeletion(): boolean {
    const { database, markets } = this.#replay.archive;
    const { version } = database;
    if (version === this.#version) return false;
    this.#version = version;
    for (const { market } of this.#subscriptions.values()) {
      if (markets.byKey(market.key) !== undefined) continue;
      this.#sender.close(INTERNAL_ERROR, `market ${market.conditionId} was deleted`);
      return true;
    }
    return false;
  }
}
