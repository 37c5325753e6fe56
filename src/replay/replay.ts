import { randomBytes } from 'node:crypto';
import { refuseUnknownCoins } from '../domain/coin.ts';
import { DomainError } from '../domain/errors.ts';
import { firstIndex } from '../domain/first-index.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import { isSimulated, SIMULATED } from '../domain/publisher.ts';
import { standInConditionId } from '../domain/stand-in-id.ts';
import type { Timeframe } from '../domain/timeframe.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { PriceTexts } from '../venue/price-texts.ts';
import { replayedListingMs, withResolution } from './assumed-times.ts';
import { MarketPlayback } from './market-playback.ts';
import { bookAt, type KnownBook, type MirrorMode } from './market-state.ts';
import { compareStarts, marketsByStart } from './markets-by-start.ts';
import { type NamedWindow, presentSlugs } from './present-slugs.ts';
import { misplacedWindows, presentStart, windowBeginning } from './present-start.ts';
import { ReplayClock, type Span, type Speed } from './replay-clock.ts';
import { findByAsset, hasAssetIds, withAssetIds } from './stand-in-assets.ts';
import { TickSizes } from './tick-sizes.ts';

/** The markets of a replay; an empty list means all. */
interface ReplaySelection {
  /** conditionIds or slugs. */
  readonly names: readonly string[];
  readonly coins: readonly string[];
  readonly timeframes: readonly Timeframe[];
}

/** The effect of a gap in the recording: it closes the connections that are subscribed to its market, or has none. */
export const GAP_MODES = ['disconnect', 'ignore'] as const;
type GapMode = (typeof GAP_MODES)[number];

export interface ReplayOptions {
  readonly selection: ReplaySelection;
  /** Undefined: the first book of the selection; without books its first record, without records its first window. */
  readonly fromMs: InstantMs | undefined;
  /** Undefined: the last record, end of a window, or resolution. */
  readonly toMs: InstantMs | undefined;
  readonly speed: Speed;
  readonly gaps: GapMode;
  readonly mirror: MirrorMode;
  /** True if the venue's sockets and books have records when they had arrived, instead of at the venue's time. */
  readonly arrival: boolean;
  /** True if sockets refuse all that the venue refuses, also requests that could be answered. */
  readonly strict: boolean;
  /** True if a rebased replay begins again at its end, with the next window of the present. */
  readonly loop: boolean;
  /** True if times and slugs are moved to the present when the replay starts or jumps, see presentStart. */
  readonly rebase: boolean;
}

export interface ReplayClocks {
  readonly monotonicMs: () => number;
  readonly wallMs: () => number;
}

/** The times of a market, read when the replay is created: its window, its listing, and its first and last records. */
interface MarketTimes extends NamedWindow {
  /** The time of the first record; Infinity without records. */
  readonly firstMs: InstantMs;
  readonly lastMs: InstantMs;
}

/** The listing or resolution of a market, which is sent to clients with custom features. */
export interface Announcement {
  readonly kind: 'listed' | 'resolved';
  readonly timestampMs: InstantMs;
  readonly marketKey: number;
}

/** A market has records for up to a day after its window, and is listed up to a week before it. */
const AFTER_WINDOW_MS = 86_400_000;
const BEFORE_WINDOW_MS = 7 * 86_400_000;
const ID_BYTES = 6;
/** A replay of no length must not begin again all the time, and a timer takes no longer time than a day. */
const [LOOP_MS_MIN, LOOP_MS_MAX] = [100, 86_400_000];

/** A selection of markets, the clock that drives them, and the announcements to its clients. */
export class Replay {
  readonly id = randomBytes(ID_BYTES).toString('hex');
  /** The id of the key that created it; undefined: the process did, or no key is needed. */
  readonly owner: string | undefined;
  readonly archive: Archive;
  readonly options: ReplayOptions;
  readonly clock: ReplayClock;
  readonly ticks: TickSizes;
  readonly prices = new PriceTexts();
  /** The coins of its markets, each once. */
  readonly coins: readonly string[];
  /** Those of which all its markets are simulated. */
  readonly simulatedCoins: readonly string[];
  /** The number of its markets with a stand-in for an asset id that was not recorded. */
  readonly standIns: number;
  /** By market key, in the order of their windows' starts. */
  readonly #markets = new Map<number, MarketTimes>();
  /** The same markets as a list. */
  readonly #windows: readonly MarketTimes[];
  /** Ordered by time. */
  readonly announcements: readonly Announcement[];
  readonly #stopListeners = new Set<() => void>();
  /** The number of sockets that are connected to it. */
  clients = 0;
  readonly #wallMs: () => number;
  #shiftMs = 0;
  #aheadMs = 0;
  #waitMs = 0;
  #loopTimer: ReturnType<typeof setTimeout> | undefined;
  /** The slugs of a rebased replay by market key; undefined until they are needed after a shift. */
  #slugs: ReadonlyMap<number, string> | undefined;
  /** The instant requested since the replay last ran; undefined if none was. A rebased replay starts there or later. */
  #wantedMs: InstantMs | undefined;

  /** It starts paused. Throws 'not-found' if no market is selected or a coin is unknown, and 'invalid-parameter' as the clock does. */
  constructor(archive: Archive, options: ReplayOptions, clocks: ReplayClocks, owner?: string) {
    this.owner = owner;
    this.archive = archive;
    this.options = options;
    this.ticks = new TickSizes(archive);
    const markets = archive.database.read(() => selectedMarkets(archive, options).map(withResolution));
    if (markets.length === 0) {
      throw new DomainError(
        'not-found',
        'no recorded market matches the selection: choose other markets, coins or times, or import a recording',
      );
    }
    this.coins = [...new Set(markets.map(({ symbol }) => symbol))].sort();
    const real = new Set(markets.filter((market) => !isSimulated(market)).map(({ symbol }) => symbol));
    this.simulatedCoins = this.coins.filter((coin) => !real.has(coin));
    this.standIns = markets.filter((market) => !hasAssetIds(market)).length;
    const announcements: Announcement[] = [];
    archive.database.read(() => {
      for (const market of markets) {
        const { firstMs = Infinity, lastMs = -1 } = archive.markets.sentSpan(market.key) ?? {};
        const { key, conditionId, symbol, timeframe, startMs, endMs } = market;
        const listedMs = replayedListingMs(market, archive.markets.firstRecordMs(key));
        this.#markets.set(key, { key, conditionId, symbol, timeframe, startMs, endMs, listedMs, firstMs, lastMs });
        announcements.push(...announcementsOf(market, listedMs));
      }
    });
    this.#windows = [...this.#markets.values()];
    this.announcements = announcements.sort((a, b) => a.timestampMs - b.timestampMs);
    const span = archive.database.read(() => spanOf(archive, markets, this.#markets, options));
    this.clock = new ReplayClock(span, options.speed, clocks.monotonicMs);
    this.#wallMs = clocks.wallMs;
    this.#wantedMs = span.fromMs;
    this.#moveToPresent();
    if (options.loop) this.clock.onChange(() => this.#awaitEnd());
  }

  /** Milliseconds from recorded timestamps to sent ones. */
  get shiftMs(): number {
    return this.#shiftMs;
  }

  /** Milliseconds from the present to the moved time of the clock when a rebased replay last started or jumped, see presentStart. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /** Milliseconds that the clock stood still, or stands, when a rebased replay last started or jumped, see presentStart. */
  get waitMs(): number {
    return this.#waitMs;
  }

  /** The windows that start after `afterMs` up to `untilMs`, inclusive, by start. */
  windowsStarting(afterMs: InstantMs, untilMs: InstantMs): readonly MarketTimes[] {
    const windows = this.#windows;
    return windows.slice(firstAfter(windows, startOf, afterMs), firstAfter(windows, startOf, untilMs));
  }

  /** The number of windows of each timeframe that are not on the venue's grid, so that a bot does not find them by its clock. */
  misplacedWindows(): ReadonlyMap<Timeframe, number> {
    return misplacedWindows(this.#windows, this.#shiftMs);
  }

  /** The market as it is sent: a rebased replay moves its window and its slug. */
  asSent<M extends Pick<StoredMarket, 'key' | 'slug' | 'startMs' | 'endMs'>>(market: M): M {
    if (!this.options.rebase) return market;
    const { startMs, endMs } = market;
    return { ...market, slug: this.#slugOf(market), startMs: startMs + this.#shiftMs, endMs: endMs + this.#shiftMs };
  }

  /** From the first to the last record of each market that has some, by the starts of their windows. */
  get recordedSpans(): readonly Span[] {
    return this.#windows.flatMap(({ firstMs, lastMs }) => (lastMs < firstMs ? [] : { fromMs: firstMs, toMs: lastMs }));
  }

  get marketCount(): number {
    return this.#markets.size;
  }

  /** The market and outcome of an asset; undefined if this replay has no such market listed at `instantMs`. */
  findByAsset(assetId: string, instantMs: InstantMs): { market: StoredMarket; outcome: Outcome } | undefined {
    const market = findByAsset(this.archive.markets, assetId);
    if (market === undefined || !this.hasListed(market, instantMs)) return undefined;
    return { market: withResolution(market), outcome: market.clobTokenIds[0] === assetId ? 'up' : 'down' };
  }

  /** The market with an asset id for each outcome and its resolution, see `withAssetIds` and `withResolution`; undefined if it was deleted. */
  marketByKey(key: number): StoredMarket | undefined {
    const market = this.archive.markets.byKey(key);
    return market && withResolution(withAssetIds(market));
  }

  /** Returns true if this replay has the market and it is listed at `instantMs`. */
  hasListed(market: Pick<StoredMarket, 'key'>, instantMs: InstantMs): boolean {
    return this.listedMsOf(market) <= instantMs;
  }

  /** The source of a coin's prices that are sent as those of `publisher`: simulated markets have simulated prices. */
  priceSource(coin: string, publisher: string): string {
    return this.simulatedCoins.includes(coin) ? SIMULATED : publisher;
  }

  /** When a market of this replay is listed, see `replayedListingMs`. Infinity for any other market. */
  listedMsOf({ key }: Pick<StoredMarket, 'key'>): InstantMs {
    return this.#markets.get(key)?.listedMs ?? Infinity;
  }

  /** The markets that are listed at an instant and not deleted, by the start of their windows. */
  listedAt(instantMs: InstantMs): StoredMarket[] {
    const listed = [...this.#markets].filter(([, { listedMs }]) => listedMs <= instantMs);
    return listed.flatMap(([key]) => this.marketByKey(key) ?? []);
  }

  /** The index of the first announcement after an instant. */
  announcementAfter(instantMs: InstantMs): number {
    return firstAfter(this.announcements, timeOf, instantMs);
  }

  playback(market: StoredMarket, atMs: InstantMs): MarketPlayback {
    const { mirror, arrival } = this.options;
    return new MarketPlayback(this.archive, this.ticks, market, atMs, mirror, arrival);
  }

  /** The book of an outcome at an instant; undefined before the first book of its market. */
  bookAt(market: StoredMarket, outcome: Outcome, instantMs: InstantMs): KnownBook | undefined {
    return bookAt(this.archive, market, outcome, instantMs, this.options.mirror, this.options.arrival);
  }

  /** Starts the clock, or continues after a pause. A rebased replay that starts is moved to the present. */
  resume(): void {
    this.#moveToPresent();
    this.#wantedMs = undefined;
    this.clock.resume();
  }

  /** Jumps to an instant, see ReplayClock.seek. A rebased replay jumps to a later one if that fits the present, see presentStart. */
  seek(instantMs: InstantMs): void {
    this.clock.checkWithin(instantMs);
    this.#wantedMs = instantMs;
    if (this.options.rebase) this.#moveToPresent();
    else this.clock.seek(instantMs);
    if (!this.clock.isPaused) this.#wantedMs = undefined;
  }

  /** Calls `listener` when the replay is stopped; returns a function that removes it. */
  onStop(listener: () => void): () => void {
    this.#stopListeners.add(listener);
    return () => this.#stopListeners.delete(listener);
  }

  /** Closes its connections. It cannot be started again. */
  stop(): void {
    this.clock.pause();
    for (const listener of [...this.#stopListeners]) listener();
  }

  /** Moves the clock to the next event of its markets, or to the end, and pauses it there. Returns the instant. */
  step(): InstantMs {
    const { nowMs, span } = this.clock;
    const announcement = this.announcements[this.announcementAfter(nowMs)];
    let earliestMs = Math.min(span.toMs, announcement?.timestampMs ?? Infinity);
    for (const [key, { firstMs, lastMs }] of this.#markets) {
      // Most markets have ended or not begun yet. A deleted market has no events.
      if (firstMs >= earliestMs || lastMs <= nowMs) continue;
      const market = this.marketByKey(key);
      if (market === undefined) continue;
      earliestMs = Math.min(earliestMs, this.playback(market, nowMs).nextMs ?? Infinity);
    }
    this.clock.stepTo(earliestMs);
    if (this.#wantedMs !== undefined) this.#wantedMs = this.clock.nowMs;
    return this.clock.nowMs;
  }

  #slugOf({ key, slug }: Pick<StoredMarket, 'key' | 'slug'>): string {
    this.#slugs ??= presentSlugs(this.#windows, this.#shiftMs);
    // A market of another replay has no moved slug.
    return this.#slugs.get(key) ?? slug;
  }

  /** Moves a rebased replay to the present: it starts at the wanted instant or later. Does nothing without a wanted instant. */
  #moveToPresent(startOf: typeof presentStart = presentStart): void {
    if (!this.options.rebase || this.#wantedMs === undefined) return;
    const span = { fromMs: this.#wantedMs, toMs: this.clock.span.toMs };
    const wallMs = Math.round(this.#wallMs());
    const { instantMs, shiftMs, waitMs = 0 } = startOf(this.#windows, span, wallMs);
    this.#shiftMs = shiftMs;
    this.#waitMs = waitMs;
    this.#aheadMs = instantMs + shiftMs - wallMs - waitMs;
    this.#slugs = undefined;
    this.clock.seek(instantMs, waitMs);
  }

  /** Begins again at the end of the clock's span, while it runs. */
  #awaitEnd(): void {
    clearTimeout(this.#loopTimer);
    const waitMs = this.clock.realMsUntil(this.clock.span.toMs);
    if (waitMs === undefined) return;
    this.#loopTimer = setTimeout(
      () => {
        if (this.clock.state !== 'ended') return this.#awaitEnd();
        this.#wantedMs = this.clock.span.fromMs;
        this.#moveToPresent((...given) => windowBeginning(...given) ?? presentStart(...given));
        this.#wantedMs = undefined;
      },
      Math.min(Math.max(LOOP_MS_MIN, waitMs), LOOP_MS_MAX),
    );
  }
}

/** A market's listing, and its resolution if that is known. */
export function announcementsOf(market: StoredMarket, listedMs: InstantMs): Announcement[] {
  const { key: marketKey, resolvedMs, winner } = market;
  const listed: Announcement = { kind: 'listed', timestampMs: listedMs, marketKey };
  if (resolvedMs === undefined || winner === undefined) return [listed];
  return [listed, { kind: 'resolved', timestampMs: resolvedMs, marketKey }];
}

const startOf = ({ startMs }: MarketTimes) => startMs;
const timeOf = ({ timestampMs }: Announcement) => timestampMs;

/** The index of the first item of a list, ordered by time, that is later than an instant. */
function firstAfter<T>(list: readonly T[], msOf: (item: T) => InstantMs, instantMs: InstantMs): number {
  return firstIndex(list.length, (index) => msOf(list[index]!) > instantMs);
}

function selectedMarkets(archive: Archive, { selection, fromMs, toMs }: ReplayOptions): StoredMarket[] {
  const { markets, recordedCoins } = archive;
  const { names, coins, timeframes } = selection;
  refuseUnknownCoins(coins, recordedCoins.symbols());
  const found = new Map<number, StoredMarket>();
  const isWanted = (market: StoredMarket) =>
    (coins.length === 0 || coins.includes(market.symbol)) &&
    (timeframes.length === 0 || timeframes.includes(market.timeframe));
  for (const name of names) {
    const named = markets.named(name);
    // The message does not repeat the name, which may be a key by mistake.
    if (named.length === 0)
      throw new DomainError(
        'not-found',
        'no recorded market has one of these names: give conditionIds or slugs of recorded markets',
      );
    for (const market of named) if (isWanted(market)) found.set(market.key, market);
  }
  if (names.length > 0) return [...found.values()].sort(compareStarts);
  const walked = coins.length > 0 ? [...new Set(coins)] : markets.coins();
  const lastStartMs = (toMs ?? INSTANT_MAX_MS) + BEFORE_WINDOW_MS;
  const isWithin = (market: StoredMarket) =>
    (fromMs === undefined || market.endMs + AFTER_WINDOW_MS >= fromMs) &&
    (toMs === undefined || replayedListingMs(market, markets.firstRecordMs(market.key)) <= toMs);
  // The venue did not list a window that was missed.
  const isListed = ({ key, conditionId, slug, startMs }: StoredMarket) =>
    conditionId !== standInConditionId(slug, startMs) || markets.firstRecordMs(key) !== undefined;
  return marketsByStart(markets, walked, (fromMs ?? 0) - 2 * AFTER_WINDOW_MS, lastStartMs)
    .filter((market) => isWanted(market) && isWithin(market) && isListed(market))
    .toArray();
}

/** By default from the first book to the last record, end of a window or resolution. */
function spanOf(
  archive: Archive,
  markets: readonly StoredMarket[],
  times: ReadonlyMap<number, MarketTimes>,
  options: Pick<ReplayOptions, 'fromMs' | 'toMs' | 'rebase'>,
): Span {
  let toMs = 0;
  for (const { key, endMs, resolvedMs = 0 } of markets)
    toMs = Math.max(toMs, endMs, resolvedMs, times.get(key)!.lastMs);
  toMs = options.toMs ?? toMs;
  const firstMs = options.fromMs ?? defaultStartMs(toMs, archive, markets, times);
  if (!options.rebase || options.fromMs !== undefined) return { fromMs: firstMs, toMs };
  // A rebased replay may start at the beginning of the window of the first book.
  const open = markets.filter(({ startMs, endMs }) => startMs <= firstMs && firstMs < endMs);
  return { fromMs: open.length === 0 ? firstMs : Math.max(...open.map(({ startMs }) => startMs)), toMs };
}

/** The first book, unless it is later than `toMs`; else the first record, likewise; else the first window's start. */
function defaultStartMs(
  toMs: InstantMs,
  { snapshots }: Archive,
  markets: readonly StoredMarket[],
  times: ReadonlyMap<number, MarketTimes>,
): InstantMs {
  const firstMsOf = ({ key }: StoredMarket) => times.get(key)!.firstMs;
  const byFirstRecord = markets.toSorted((a, b) => firstMsOf(a) - firstMsOf(b));
  let bookMs = Infinity;
  for (const market of byFirstRecord) {
    // No book is earlier than the first record.
    if (firstMsOf(market) >= Math.min(bookMs, toMs + 1)) break;
    for (const outcome of OUTCOMES) {
      const found = snapshots.nearest(market, outcome, 0, 'after');
      if (found !== undefined) bookMs = Math.min(bookMs, found.head.timestamps[found.index]!);
    }
  }
  const recordMs = firstMsOf(byFirstRecord[0]!);
  const windowMs = Math.min(...markets.map(({ startMs }) => startMs));
  return [bookMs, recordMs].find((instantMs) => instantMs <= toMs) ?? windowMs;
}
