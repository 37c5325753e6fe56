import { randomBytes } from 'node:crypto';
import { DomainError } from '../domain/errors.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { listedMs } from '../domain/market-as-of.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Timeframe } from '../domain/timeframe.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { PriceTexts } from '../venue/price-texts.ts';
import { FairQueue } from './fair-queue.ts';
import { MarketPlayback } from './market-playback.ts';
import { ReplayClock, type Span, type Speed } from './replay-clock.ts';
import { TickSizes } from './tick-sizes.ts';

/** Which markets a replay has; an empty list does not restrict. */
interface ReplaySelection {
  /** conditionIds or slugs. */
  readonly names: readonly string[];
  readonly coins: readonly string[];
  readonly timeframes: readonly Timeframe[];
}

/** What becomes of a connection where the recording has a gap. */
export const GAP_MODES = ['disconnect', 'ignore'] as const;
export type GapMode = (typeof GAP_MODES)[number];

export interface ReplayOptions {
  readonly selection: ReplaySelection;
  /** Undefined: where the first record of the selection stands, or its first window begins. */
  readonly fromMs: InstantMs | undefined;
  /** Undefined: where the last of all stands. */
  readonly toMs: InstantMs | undefined;
  readonly speed: Speed;
  readonly gaps: GapMode;
  /** Whether timestamps are moved so that the clock's instant is the present when the replay starts, or jumps. */
  readonly rebase: boolean;
}

export interface ReplayClocks {
  readonly monotonicMs: () => number;
  readonly wallMs: () => number;
}

/** A market of a replay, and when something became known of it that everybody is told. */
interface Announced {
  readonly key: number;
  readonly listedMs: InstantMs;
  /** Infinity where that is not known. */
  readonly resolvedMs: InstantMs;
  /** From the first to the last thing that is recorded of it; none where `firstMs` is Infinity. */
  readonly firstMs: InstantMs;
  readonly lastMs: InstantMs;
}

/** Everybody is told that a market was listed, or how it ended. */
export interface Announcement {
  readonly kind: 'listed' | 'resolved';
  readonly timestampMs: InstantMs;
  readonly marketKey: number;
}

/** A market matters for a day behind its window, and is not listed longer than a week before it. */
const BEHIND_WINDOW_MS = 86_400_000;
const BEFORE_WINDOW_MS = 7 * 86_400_000;
const ID_BYTES = 6;

/** One replay: a selection of markets, the clock that drives everything about it, and what its clients are told. */
export class Replay {
  readonly id = randomBytes(ID_BYTES).toString('hex');
  readonly archive: Archive;
  readonly options: ReplayOptions;
  readonly clock: ReplayClock;
  readonly ticks: TickSizes;
  readonly prices = new PriceTexts();
  /** Of its clients, when they are sent what is due. */
  readonly turns: FairQueue;
  /** Of its markets, each once. */
  readonly coins: readonly string[];
  /** By the start of their windows. */
  readonly #announced: ReadonlyMap<number, Announced>;
  readonly #announcements: readonly Announcement[];
  readonly #endListeners = new Set<() => void>();
  #shiftMs: number;

  /** Paused at its beginning. Throws 'not-found' when the selection has no market, 'invalid-parameter' as the clock does. */
  constructor(archive: Archive, options: ReplayOptions, clocks: ReplayClocks, turns = new FairQueue()) {
    this.archive = archive;
    this.options = options;
    this.turns = turns;
    this.ticks = new TickSizes(archive);
    const markets = archive.database.read(() => selectedMarkets(archive, options));
    if (markets.length === 0) {
      throw new DomainError(
        'not-found',
        'no recorded market is selected: name markets that are here, or coins with markets in that time',
      );
    }
    this.coins = [...new Set(markets.map(({ symbol }) => symbol))].sort();
    const all = archive.database.read(() => markets.map((market) => announced(archive, market)));
    this.#announced = new Map(all.map((market) => [market.key, market]));
    this.#announcements = all
      .flatMap(({ key, ...times }): Announcement[] => [
        { kind: 'listed', timestampMs: times.listedMs, marketKey: key },
        { kind: 'resolved', timestampMs: times.resolvedMs, marketKey: key },
      ])
      .filter(({ timestampMs }) => timestampMs !== Infinity)
      .sort((a, b) => a.timestampMs - b.timestampMs);
    this.clock = new ReplayClock(spanOf(markets, all, options), options.speed, clocks.monotonicMs);
    const shiftNow = () => (options.rebase ? Math.round(clocks.wallMs() - this.clock.nowMs) : 0);
    this.#shiftMs = shiftNow();
    let hasStarted = false;
    this.clock.onChange((change) => {
      if (change === 'jump' || (!hasStarted && !this.clock.isPaused)) this.#shiftMs = shiftNow();
      hasStarted ||= !this.clock.isPaused;
    });
  }

  /** Milliseconds between what was recorded and what is told. */
  get shiftMs(): number {
    return this.#shiftMs;
  }

  get marketCount(): number {
    return this.#announced.size;
  }

  /** A market of this replay that is listed at `instantMs`, and which of its outcomes the asset is. */
  findByAsset(assetId: string, instantMs: InstantMs): { market: StoredMarket; outcome: Outcome } | undefined {
    const market = this.archive.markets.findByAsset(assetId);
    if (market === undefined || !this.hasListed(market, instantMs)) return undefined;
    return { market, outcome: market.clobTokenIds[0] === assetId ? 'up' : 'down' };
  }

  /** Whether it is a market of this replay that is listed at `instantMs`. */
  hasListed(market: Pick<StoredMarket, 'key'>, instantMs: InstantMs): boolean {
    return this.listedMsOf(market) <= instantMs;
  }

  /** Since when a market of this replay is listed: by then when anything of it is recorded. Infinity for any other market. */
  listedMsOf({ key }: Pick<StoredMarket, 'key'>): InstantMs {
    return this.#announced.get(key)?.listedMs ?? Infinity;
  }

  /** The markets that are listed at an instant, by the start of their windows. */
  listedAt(instantMs: InstantMs): StoredMarket[] {
    const listed = [...this.#announced.values()].filter(({ listedMs }) => listedMs <= instantMs);
    return listed.map(({ key }) => this.archive.markets.byKey(key));
  }

  /** What everybody is told behind `afterMs` and until `untilMs`, in order. */
  announcements(afterMs: InstantMs, untilMs: InstantMs): readonly Announcement[] {
    const all = this.#announcements;
    return all.slice(firstAfter(all, afterMs), firstAfter(all, untilMs));
  }

  /** When everybody is told something next behind `afterMs`. */
  nextAnnouncementMs(afterMs: InstantMs): InstantMs | undefined {
    return this.#announcements[firstAfter(this.#announcements, afterMs)]?.timestampMs;
  }

  /** A market's recording from an instant on. */
  playback(market: StoredMarket, atMs: InstantMs): MarketPlayback {
    return new MarketPlayback(this.archive, this.ticks, market, atMs);
  }

  /** When the next thing of any of its markets is recorded behind `instantMs`; undefined when nothing is. */
  nextEventMs(instantMs: InstantMs): InstantMs | undefined {
    let earliestMs = this.nextAnnouncementMs(instantMs) ?? Infinity;
    for (const { key, firstMs, lastMs } of this.#announced.values()) {
      // Most are over, or to come.
      if (firstMs >= earliestMs || lastMs <= instantMs) continue;
      earliestMs = Math.min(earliestMs, this.playback(this.archive.markets.byKey(key), instantMs).nextMs ?? Infinity);
    }
    return earliestMs <= this.clock.span.toMs ? earliestMs : undefined;
  }

  /** Calls back when the replay is stopped; returns what takes that back. */
  onStop(listener: () => void): () => void {
    this.#endListeners.add(listener);
    return () => this.#endListeners.delete(listener);
  }

  /** For good: whoever listens is sent away. */
  stop(): void {
    this.clock.pause();
    for (const listener of [...this.#endListeners]) listener();
  }

  /** Goes to the next thing that is recorded, or to the end, and stays there; returns the instant. */
  step(): InstantMs {
    const { clock } = this;
    clock.stepTo(this.nextEventMs(clock.nowMs) ?? clock.span.toMs);
    return clock.nowMs;
  }
}

function announced({ markets }: Archive, market: StoredMarket): Announced {
  const { firstMs = Infinity, lastMs = -1 } = markets.sentSpan(market.key) ?? {};
  return {
    key: market.key,
    listedMs: listedMs(market, markets.firstRecordMs(market.key)),
    resolvedMs: market.winner === undefined ? Infinity : (market.resolvedMs ?? Infinity),
    firstMs,
    lastMs,
  };
}

function firstAfter(announcements: readonly Announcement[], instantMs: InstantMs): number {
  let low = 0;
  let high = announcements.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (announcements[middle]!.timestampMs > instantMs) high = middle;
    else low = middle + 1;
  }
  return low;
}

function selectedMarkets({ markets }: Archive, { selection, fromMs, toMs }: ReplayOptions): StoredMarket[] {
  const { names, coins, timeframes } = selection;
  const found = new Map<number, StoredMarket>();
  const isWanted = (market: StoredMarket) =>
    (coins.length === 0 || coins.includes(market.symbol)) &&
    (timeframes.length === 0 || timeframes.includes(market.timeframe));
  for (const name of names) {
    const named = markets.named(name);
    // Not said back: a key may have been put in its place.
    if (named.length === 0)
      throw new DomainError(
        'not-found',
        'no recorded market has one of the names: give conditionIds or slugs of markets that are here',
      );
    for (const market of named) if (isWanted(market)) found.set(market.key, market);
  }
  const firstStartMs = (fromMs ?? 0) - BEHIND_WINDOW_MS - BEHIND_WINDOW_MS;
  const lastStartMs = (toMs ?? INSTANT_MAX_MS) + BEFORE_WINDOW_MS;
  const walked = names.length > 0 ? [] : coins.length > 0 ? coins : markets.coins();
  for (const coin of new Set(walked)) {
    let market = markets.after(coin, { startMs: firstStartMs, conditionId: '' });
    for (; market !== undefined && market.startMs <= lastStartMs; market = markets.after(coin, market)) {
      const isOver = fromMs !== undefined && market.endMs + BEHIND_WINDOW_MS < fromMs;
      const isToCome = toMs !== undefined && listedMs(market, markets.firstRecordMs(market.key)) > toMs;
      if (!isOver && !isToCome && isWanted(market)) found.set(market.key, market);
    }
  }
  return [...found.values()].sort((a, b) => a.startMs - b.startMs || (a.conditionId < b.conditionId ? -1 : 1));
}

/** What the options leave open reaches from the first window or record to the last one, or a resolution. */
function spanOf(markets: readonly StoredMarket[], recorded: readonly Announced[], options: ReplayOptions): Span {
  let fromMs = Infinity;
  let toMs = 0;
  for (const [i, { startMs, endMs, resolvedMs = 0 }] of markets.entries()) {
    const { firstMs, lastMs } = recorded[i]!;
    fromMs = Math.min(fromMs, startMs, firstMs);
    toMs = Math.max(toMs, endMs, resolvedMs, lastMs);
  }
  return { fromMs: options.fromMs ?? fromMs, toMs: options.toMs ?? toMs };
}
