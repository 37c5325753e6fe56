import { Agenda, type Upcoming } from '../../domain/agenda.ts';
import { DomainError } from '../../domain/errors.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../../domain/instant.ts';
import { LISTED_AHEAD_MS_MAX, listedMs } from '../../domain/market-as-of.ts';
import { OUTCOMES, type Outcome } from '../../domain/outcome.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { MarketPlayback, type OutcomeChange, type PlaybackEvent } from '../market-playback.ts';
import { marketsByStart } from '../markets-by-start.ts';
import { announcementsOf } from '../replay.ts';
import { withAssetIds } from '../stand-in-assets.ts';
import type { Window } from './options.ts';
import type { TardisSource } from './source.ts';

/** Any recorded event except a gap. */
type RecordedEvent = Exclude<PlaybackEvent, { kind: 'gap' }>;

/**
 * An event that a connection to the venue would have received at `localMs`. A recorded gap ends the connection and begins
 * another one ('disconnected'), which gets the known books again.
 */
export type FeedEvent = { readonly localMs: InstantMs } & (
  | { readonly kind: 'began' | 'ended'; readonly playback: MarketPlayback }
  /** The books that a subscription begins with, of the outcomes that have one. */
  | { readonly kind: 'books'; readonly playback: MarketPlayback; readonly outcomes: readonly Outcome[] }
  | {
      readonly kind: 'recorded';
      readonly playback: MarketPlayback;
      readonly event: RecordedEvent;
      /** Outcomes without a book since the last gap. */
      readonly unknown: ReadonlySet<Outcome>;
    }
  | { readonly kind: 'disconnected' }
  | { readonly kind: 'listed' | 'resolved'; readonly market: StoredMarket }
  /** Some work without an event, so that other work gets its turn. */
  | { readonly kind: 'rest' }
);

/** An open market; `atMs` is the time of its next record. */
interface OpenMarket extends Upcoming {
  atMs: InstantMs;
  readonly playback: MarketPlayback;
  readonly unknown: Set<Outcome>;
}

interface Planned extends Upcoming {
  readonly kind: 'open' | 'listed' | 'resolved';
  readonly marketKey: number;
}

const MARKETS_PER_REST = 8;
/** A market may have records for this long after its start: the longest window, and a day for its resolution. */
const AFTER_START_MS = 2 * 86_400_000;

/**
 * The recordings of many markets in one order: by time, at one time in the order in which the markets were opened. A market is
 * opened at its first record and closed after its last one; while it is open, one segment of each series is in memory.
 *
 * It reads the archive: `next` and `include` need a view of it in which `check` was called.
 */
export class TardisFeed {
  readonly #source: TardisSource;
  readonly #archive: Archive;
  readonly #window: Window;
  readonly #opened = new Map<number, OpenMarket>();
  readonly #upcoming = new Agenda<OpenMarket>();
  readonly #planned = new Agenda<Planned>();
  readonly #candidates: Iterator<StoredMarket>;
  /** The next market to examine, read ahead. */
  #candidate: StoredMarket | undefined;
  #waiting: FeedEvent[] = [];
  /** Keys of included markets that are not examined yet. */
  #included: number[] = [];
  #positionMs: InstantMs;
  #disconnectedMs = -1;
  #isReconnecting = false;
  #rank = 0;
  #version: number | undefined;

  /** `ofAllMarkets`: true for all markets, false for those that `include` adds. */
  constructor(source: TardisSource, window: Window, ofAllMarkets: boolean) {
    const { archive } = source;
    this.#source = source;
    this.#archive = archive;
    this.#window = window;
    this.#positionMs = window.fromMs;
    const fromMs = window.fromMs - AFTER_START_MS;
    this.#candidates = ofAllMarkets
      ? marketsByStart(archive.markets, archive.markets.coins(), fromMs, window.toMs + LISTED_AHEAD_MS_MAX)
      : [].values();
  }

  /** Adds markets from the current position on. The books of a market that is already open are sent again. */
  include(markets: Iterable<StoredMarket>): void {
    for (const { key } of markets) this.#included.push(key);
    this.#examineIncluded();
  }

  keep(isWanted: (market: StoredMarket) => boolean): void {
    const isKept = (key: number) => {
      const market = this.#archive.markets.byKey(key);
      return market !== undefined && isWanted(withAssetIds(market));
    };
    this.#included = this.#included.filter(isKept);
    this.#planned.remove(({ marketKey }) => !isKept(marketKey));
    for (const { playback } of [...this.#opened.values()]) if (!isWanted(playback.market)) this.#close(playback);
  }

  /** Throws 'conflict' when an open market has changed or was deleted. One that is deleted before it is opened is left out. */
  check(): void {
    const { database, markets } = this.#archive;
    const { version } = database;
    if (version === this.#version) return;
    this.#version = version;
    for (const { market } of [...this.#opened.values()].map(({ playback }) => playback)) {
      if (markets.byKey(market.key)?.revision === market.revision) continue;
      throw new DomainError('conflict', `market ${market.conditionId} changed while it was replayed`);
    }
  }

  /** The next event; undefined after the last one. */
  next(): FeedEvent | undefined {
    if (this.#window.fromMs === this.#window.toMs) return undefined;
    if (this.#isReconnecting && this.#waiting.length === 0) {
      // The new connection begins with the known books.
      this.#isReconnecting = false;
      for (const opened of this.#opened.values()) this.#sendBooks(opened);
    }
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) return waiting;
    if (this.#examineIncluded()) return this.#rest();
    const aheadMs = Math.min(this.#planned.nextMs, this.#upcoming.nextMs);
    if (this.#examineAhead(aheadMs)) return this.#rest();
    const plannedMs = this.#planned.nextMs;
    const upcomingMs = this.#upcoming.nextMs;
    if (Math.min(plannedMs, upcomingMs) >= this.#window.toMs) return undefined;
    return plannedMs <= upcomingMs ? this.#begin(this.#planned.take()) : this.#play(this.#upcoming.take());
  }

  #rest(): FeedEvent {
    return { kind: 'rest', localMs: this.#positionMs };
  }

  /** Examines a few of the included markets; false if there are none. */
  #examineIncluded(): boolean {
    const keys = this.#included.splice(0, MARKETS_PER_REST);
    for (const key of keys) {
      const opened = this.#opened.get(key);
      if (opened !== undefined) {
        this.#sendBooks(opened);
        continue;
      }
      const market = this.#archive.markets.byKey(key);
      if (market === undefined) continue;
      this.#planned.remove(({ marketKey }) => marketKey === key);
      this.#announce(market, this.#positionMs);
      this.#examine(market, this.#positionMs - 1, true);
    }
    return keys.length > 0;
  }

  /** Examines markets that may begin before `aheadMs`; true if there may be more. */
  #examineAhead(aheadMs: InstantMs): boolean {
    for (let examined = 0; ; examined += 1) {
      this.#candidate ??= this.#candidates.next().value ?? undefined;
      const market = this.#candidate;
      if (market === undefined || market.startMs - LISTED_AHEAD_MS_MAX > aheadMs) return examined > 0;
      if (examined >= MARKETS_PER_REST) return true;
      this.#candidate = undefined;
      const fromMs = Math.max(this.#positionMs, market.startMs - LISTED_AHEAD_MS_MAX);
      this.#announce(market, fromMs);
      this.#examine(market, fromMs - 1, false);
    }
  }

  /** Opens a market that has a book at `atMs`, or plans to open it at its first record. */
  #examine(market: StoredMarket, atMs: InstantMs, isNamed: boolean): void {
    const { snapshots } = this.#archive;
    const firstMs = firstRecordMs(this.#archive, market, atMs);
    const isKnown = OUTCOMES.some((outcome) => snapshots.nearest(market, outcome, atMs, 'before') !== undefined);
    const isTraded = firstMs !== Infinity || Math.max(market.endMs, market.resolvedMs ?? 0) > atMs;
    // A market that has ended has no book any more; a named one begins with its last book.
    if (isKnown && (isNamed || isTraded)) this.#open(market, atMs);
    else if (firstMs < this.#window.toMs) this.#plan('open', firstMs, market);
  }

  #announce(market: StoredMarket, fromMs: InstantMs): void {
    const recordedMs = listedMs(market, this.#archive.markets.firstRecordMs(market.key));
    for (const { kind, timestampMs } of announcementsOf(market, recordedMs))
      if (timestampMs >= fromMs && timestampMs < this.#window.toMs) this.#plan(kind, timestampMs, market);
  }

  #plan(kind: Planned['kind'], atMs: InstantMs, { key }: StoredMarket): void {
    this.#rank += 1;
    this.#planned.add({ kind, atMs, rank: this.#rank, marketKey: key });
  }

  #begin({ kind, atMs, marketKey }: Planned): FeedEvent {
    this.#positionMs = atMs;
    const found = this.#archive.markets.byKey(marketKey);
    if (found === undefined) return this.#rest();
    const market = withAssetIds(found);
    if (kind !== 'open') return { kind, market, localMs: atMs };
    this.#open(market, atMs - 1);
    return this.#waiting.shift()!;
  }

  #open(market: StoredMarket, atMs: InstantMs): void {
    const { archive, ticks, mirror } = this.#source;
    const playback = new MarketPlayback(archive, ticks, withAssetIds(market), atMs, mirror);
    this.#rank += 1;
    const opened = { playback, atMs: playback.nextMs ?? Infinity, rank: this.#rank, unknown: new Set<Outcome>() };
    this.#opened.set(market.key, opened);
    this.#upcoming.add(opened);
    this.#waiting.push({ kind: 'began', playback, localMs: this.#positionMs });
    this.#sendBooks(opened);
  }

  #close(playback: MarketPlayback): void {
    this.#opened.delete(playback.market.key);
    this.#upcoming.remove((opened) => opened.playback === playback);
    this.#waiting = this.#waiting.filter((event) => !('playback' in event) || event.playback !== playback);
    this.#waiting.push({ kind: 'ended', playback, localMs: this.#positionMs });
  }

  #sendBooks(opened: OpenMarket): void {
    const { playback } = opened;
    const outcomes = knownOutcomes(opened);
    if (outcomes.length > 0) this.#waiting.push({ kind: 'books', playback, outcomes, localMs: this.#positionMs });
  }

  #play(opened: OpenMarket): FeedEvent {
    const { playback, unknown } = opened;
    const event = playback.next();
    this.#positionMs = event.timestampMs;
    opened.atMs = playback.nextMs ?? Infinity;
    if (opened.atMs < this.#window.toMs) this.#upcoming.add(opened);
    else this.#close(playback);
    if (event.kind === 'gap') return this.#disconnect(opened, event.timestampMs);
    return { kind: 'recorded', playback, event: withWholeBooks(event, unknown), unknown, localMs: event.timestampMs };
  }

  /** The gap of one market ends the connection for all. */
  #disconnect(opened: OpenMarket, atMs: InstantMs): FeedEvent {
    if (this.#disconnectedMs === atMs && knownOutcomes(opened).length === 0) return this.#rest();
    this.#disconnectedMs = atMs;
    this.#isReconnecting = true;
    // A recorder that fails leaves gaps in all markets that it records.
    for (const other of this.#opened.values()) {
      const gaps = this.#archive.gaps.within(other.playback.market.key, atMs, atMs);
      if ([...gaps].some(({ fromMs }) => fromMs === atMs)) forgetBooks(other);
    }
    forgetBooks(opened);
    return { kind: 'disconnected', localMs: atMs };
  }
}

function knownOutcomes({ playback, unknown }: OpenMarket): Outcome[] {
  return OUTCOMES.filter((outcome) => playback.state(outcome).known !== undefined && !unknown.has(outcome));
}

function forgetBooks(opened: OpenMarket): void {
  for (const outcome of knownOutcomes(opened)) opened.unknown.add(outcome);
}

/** The event for a client without the books of `unknown`: they are sent whole, and removed from `unknown`. */
function withWholeBooks(event: RecordedEvent, unknown: Set<Outcome>): RecordedEvent {
  if (event.kind !== 'books' || unknown.size === 0) return event;
  const whole = (outcome: Outcome): OutcomeChange | undefined => {
    const change = event[outcome];
    if (change === undefined || !unknown.delete(outcome)) return change;
    return { before: undefined, after: change.after, changes: [] };
  };
  return { ...event, up: whole('up'), down: whole('down') };
}

/** The time of a market's first book or trade after `atMs`; Infinity without any. */
function firstRecordMs({ snapshots, prices }: Archive, market: StoredMarket, atMs: InstantMs): InstantMs {
  const starts = OUTCOMES.flatMap((outcome) => [
    snapshots.slices(market, outcome, atMs + 1, INSTANT_MAX_MS),
    prices.slices(market, outcome, 'trade', atMs + 1, INSTANT_MAX_MS),
  ]).map((slices) => {
    for (const { head, from } of slices) return head.timestamps[from]!;
    return Infinity;
  });
  return Math.min(...starts);
}
