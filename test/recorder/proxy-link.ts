import type { SeededRandom } from '../../fixtures/random.ts';
import { type LinkFaults, NO_FAULTS } from './link-faults.ts';
import { recut } from './message-cutter.ts';
import type { ProxyCounts } from './proxy-counts.ts';
import { nowMsOf, type VenueClock } from './venue-clock.ts';
import type { SocketEvents, Venue, VenueSocket } from './venue-socket.ts';

/** The rules of the venue that every connection has to follow. */
export interface VenueRules {
  /** Beyond this number of assets a connection gets no books, only changes. */
  readonly dumpAssetsMax: number;
  /** Beyond this number of ended assets a connection gets nothing of further ones. */
  readonly endedAssetsMax: number;
}

interface LinkDeps {
  readonly number: number;
  readonly venue: Venue;
  readonly clock: VenueClock;
  readonly random: SeededRandom;
  readonly rules: VenueRules;
  readonly counts: ProxyCounts;
  readonly ended: (link: ProxyLink) => void;
  readonly delivered: (link: ProxyLink, text: string) => void;
}

const RECUT_MS = 3;
const TIME = /"timestamp":"(\d+)"/;
/** More than there are in the time by which frames are late. */
const TIMES_MAX = 10_000;
const INVALID_OPERATION = 'INVALID OPERATION';

/** One connection of a client through the proxy. */
export class ProxyLink implements VenueSocket {
  /** From 1, in the order in which clients connected. */
  readonly number: number;
  readonly faults: LinkFaults;
  /** Subscribed by the client, whether the venue answered or not. */
  readonly assets = new Set<string>();
  isOpen = false;
  isFrozen = false;
  readonly #deps: LinkDeps;
  readonly #events: SocketEvents;
  readonly #upstream: VenueSocket;
  readonly #booked = new Set<string>();
  /** By how much the messages of a time are late. */
  readonly #lateOf = new Map<string, number>();
  #hasOpened = false;
  #isClosed = false;
  /** When the last frame in order will have been sent. */
  #lastUs = 0;
  #uncut: string[] = [];

  constructor(deps: LinkDeps, events: SocketEvents, faults: Partial<LinkFaults>) {
    this.#deps = deps;
    this.#events = events;
    this.number = deps.number;
    this.faults = { ...NO_FAULTS, ...faults };
    this.#upstream = deps.venue.connect({
      onOpen: () => {
        this.isOpen = true;
        events.onOpen();
      },
      onText: (text) => this.#received(text),
      onEnd: (reason) => this.#end(reason),
    });
  }

  /** True if the client got a book of each asset since it subscribed to it. */
  get hasBooks(): boolean {
    return (
      this.isOpen && !this.isFrozen && this.assets.size > 0 && [...this.assets].every((id) => this.#booked.has(id))
    );
  }

  /** Ends the connection; the client gets the reason. */
  kill(reason = 'killed'): void {
    this.#upstream.close();
    this.#end(reason);
  }

  /** From now on only PONG comes. */
  freeze(): void {
    this.isFrozen = true;
  }

  close(): void {
    this.#upstream.close();
    this.#leave();
  }

  send(text: string): void {
    if (this.#isClosed) return;
    const { counts } = this.#deps;
    if (text === 'PING') {
      counts.pings += 1;
      if (this.isFrozen) this.#events.onText('PONG');
      else this.#upstream.send(text);
      return;
    }
    const request = JSON.parse(text);
    const assetIds: readonly string[] = request.assets_ids ?? [];
    if (request.operation === 'unsubscribe') {
      counts.unsubscribes += 1;
      this.#unsubscribe(assetIds);
      this.#upstream.send(text);
      return;
    }
    if (request.operation === undefined) {
      counts.openings += 1;
      if (this.#hasOpened) {
        counts.refusedOpenings += 1;
        this.#events.onText(INVALID_OPERATION);
        return;
      }
      this.#hasOpened = true;
    } else counts.subscribes += 1;
    if (new Set(assetIds).size < assetIds.length || assetIds.some((assetId) => this.assets.has(assetId))) {
      counts.refusedDuplicates += 1;
      this.#events.onText(INVALID_OPERATION);
      return;
    }
    this.#subscribe(assetIds, request);
  }

  #subscribe(assetIds: readonly string[], request: object): void {
    const { counts, rules, clock } = this.#deps;
    const nowMs = nowMsOf(clock);
    const endedCount = [...this.assets].filter((assetId) => counts.hasEnded(assetId, nowMs)).length;
    for (const assetId of assetIds) {
      this.assets.add(assetId);
      counts.subscribed(assetId);
    }
    counts.assetsMax = Math.max(counts.assetsMax, this.assets.size);
    if (endedCount > rules.endedAssetsMax) counts.silentlyDropped += assetIds.length;
    else if (this.faults.unanswered > 0) {
      this.faults.unanswered -= 1;
      counts.unanswered += 1;
    } else this.#upstream.send(JSON.stringify(request));
  }

  #unsubscribe(assetIds: readonly string[]): void {
    const { counts, clock } = this.#deps;
    for (const assetId of assetIds) {
      this.#booked.delete(assetId);
      if (this.assets.delete(assetId)) counts.left(assetId, nowMsOf(clock));
    }
  }

  #received(text: string): void {
    if (this.#isClosed || this.isFrozen) return;
    if (text === 'PONG') {
      this.#events.onText(text);
      return;
    }
    const { random } = this.#deps;
    const allowed = this.assets.size > this.#deps.rules.dumpAssetsMax ? withoutBooks(text) : text;
    if (allowed === undefined || random.chance(this.faults.drop)) return;
    if (this.faults.recuts) this.#recutLater(allowed);
    else this.#late(allowed);
  }

  #recutLater(text: string): void {
    const { clock, random } = this.#deps;
    this.#uncut.push(text);
    if (this.#uncut.length > 1) return;
    clock.after(RECUT_MS, () => {
      const texts = this.#uncut;
      this.#uncut = [];
      for (const part of recut(texts, random)) this.#late(part);
    });
  }

  #late(text: string): void {
    const { random, clock } = this.#deps;
    const { double, delayMsMax, reorderMsMax } = this.faults;
    const texts = random.chance(double) ? [text, text] : [text];
    const deliver = () => {
      for (const each of texts) this.#deliver(each);
    };
    if (delayMsMax === 0 && reorderMsMax === 0) deliver();
    else {
      const nowUs = clock.nowUs();
      this.#lastUs = Math.max(this.#lastUs, nowUs + random.below(delayMsMax * 1000 + 1));
      const atUs = this.#lastUs + this.#lateUs(text, reorderMsMax);
      clock.after((atUs - nowUs) / 1000, deliver);
    }
  }

  /** Messages of one time keep their order: no hash states it. */
  #lateUs(text: string, reorderMsMax: number): number {
    if (reorderMsMax === 0) return 0;
    const time = TIME.exec(text)?.[1] ?? '';
    const known = this.#lateOf.get(time) ?? this.#deps.random.below(reorderMsMax * 1000 + 1);
    this.#lateOf.set(time, known);
    if (this.#lateOf.size > TIMES_MAX) this.#lateOf.clear();
    return known;
  }

  #deliver(text: string): void {
    if (this.#isClosed || this.isFrozen) return;
    const { counts, clock } = this.#deps;
    counts.frames += 1;
    for (const assetId of text.includes('"tick_size"') ? openedIn(text) : []) {
      this.#booked.add(assetId);
      counts.book(assetId, nowMsOf(clock));
    }
    this.#deps.delivered(this, text);
    this.#events.onText(text);
  }

  #end(reason: string): void {
    if (this.#isClosed) return;
    this.#leave();
    this.#events.onEnd(reason);
  }

  #leave(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.isOpen = false;
    this.#unsubscribe([...this.assets]);
    this.#deps.ended(this);
  }
}

interface BookMessage {
  readonly event_type: string;
  readonly asset_id: string;
  readonly tick_size?: string;
}

function messagesIn(text: string): BookMessage[] {
  const value = JSON.parse(text) as BookMessage | BookMessage[];
  return Array.isArray(value) ? value : [value];
}

function isOpening({ event_type, tick_size }: BookMessage): boolean {
  return event_type === 'book' && tick_size !== undefined;
}

function openedIn(text: string): string[] {
  return messagesIn(text)
    .filter(isOpening)
    .map(({ asset_id }) => asset_id);
}

/** The messages of a frame that are no books after a subscription; undefined if none are left. */
function withoutBooks(text: string): string | undefined {
  if (!text.includes('"tick_size"')) return text;
  const kept = messagesIn(text).filter((message) => !isOpening(message));
  return kept.length === 0 ? undefined : JSON.stringify(kept);
}
