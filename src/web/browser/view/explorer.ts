import { batch, computed, effect, type ReadonlySignal, type Signal, signal, untracked } from '@preact/signals';
import type { CoverageResource } from '../../../domain/coverage.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import { settlementSource } from '../../../domain/settlement.ts';
import type { CoinPrices } from './coin-strip.ts';
import type { Connection } from './connection.ts';
import { fittedPrices } from './fitted-prices.ts';
import { HeatMapLoader, type LoadedHeatMaps } from './heat-map-loader.ts';
import { LadderFeed } from './ladder-feed.ts';
import { LocalRecording } from './local-recording.ts';
import { MarketReader, type Neighbours, type ReadMarket, recordedSpans } from './market-reader.ts';
import type { MarketSource } from './market-source.ts';
import { clockText } from './market-texts.ts';
import { type OwnOrder, ownOrders } from './own-orders.ts';
import { pause } from './pause.ts';
import { Playback } from './playback.ts';
import type { PlotEvent } from './plot-band.ts';
import { ReferenceFeed, type ReferencePrices, shownReference } from './reference-prices.ts';
import type { ReplayClock } from './replay-clock.ts';
import { type Notice, RequestRefused } from './request-refused.ts';
import { ServerSource } from './server-source.ts';
import { type OutcomeChoice, outcomesOf } from './view-choices.ts';
import { viewLinkOf } from './view-link.ts';
import { ViewState } from './view-state.ts';

export interface ExplorerSettings {
  readonly connection: Connection;
  readonly coin: string;
  /** A slug or a conditionId. */
  readonly market: string;
  /** The query of the page's address. */
  readonly search: string;
  /** The trusted URL of the worker. */
  readonly workerUrl: string;
  /** Undefined: this process does not replay. */
  readonly clock: ReplayClock | undefined;
}

/** A market, with the state of its page. */
export interface ShownMarket extends ReadMarket {
  readonly state: ViewState;
  readonly playback: Playback;
}

/** The properties of each part of the page of a market. */
export interface MarketContent {
  readonly explorer: Explorer;
  readonly shown: ShownMarket;
}

/** The page waits this long after an answer with ladders before it requests the next: requests are limited. */
const LADDERS_PAUSE_MS = 300;
/** The time between two ladders while a market plays that is not in this browser. */
const PLAYED_LADDERS_MS = 100;
/** Shorter times in which only one outcome is recorded are not marked. */
const ONE_SIDED_MS = 10_000;
/** While the clock of a replay moves, the market is read so often. */
const MARKET_AGE_MS = 3000;

/** Loads a market and what is shown of it. What was loaded stays visible when a later request fails. */
export class Explorer {
  readonly connection: Connection;
  /** Undefined: this process does not replay. */
  readonly clock: ReplayClock | undefined;
  readonly loader: HeatMapLoader;
  readonly feed: LadderFeed;
  /** The columns of a heat map; 0: the plot is not measured. */
  readonly columns: Signal<number> = signal(0);
  /** True while the instant follows the clock of the replay. */
  readonly isFollowing: Signal<boolean>;
  readonly #settings: ExplorerSettings;
  readonly #shown: Signal<ShownMarket | undefined> = signal(undefined);
  readonly #notice: Signal<Notice | undefined> = signal(undefined);
  /** The fills and open orders of the accounts of a replay. */
  readonly own: Signal<readonly OwnOrder[]> = signal([]);
  /** Counts the states of the market that were loaded. */
  readonly #epoch = signal(0);
  readonly #reader: MarketReader;
  readonly #recording: LocalRecording;
  readonly #reference: ReferenceFeed;
  readonly #trades: HeatMapLoader;
  #work = new AbortController();
  /** When the market of a replay was last read, or will be. */
  #readMs = -Infinity;
  /** The time of the clock that the page shows. */
  #followed: string | undefined;

  constructor(settings: ExplorerSettings) {
    const { connection, clock, coin, market, workerUrl } = settings;
    this.#settings = settings;
    this.connection = connection;
    this.clock = clock;
    const clearNotice = () => {
      this.#notice.value = undefined;
    };
    this.loader = new HeatMapLoader(this.#explain, clearNotice);
    this.#trades = new HeatMapLoader(this.#explain, clearNotice);
    this.feed = new LadderFeed((error) => {
      this.#shown.value?.playback.pause();
      this.#explain(error);
    });
    this.isFollowing = signal(clock !== undefined);
    this.#reader = new MarketReader(connection, `/v1/${coin}/markets/${market}`);
    this.#recording = new LocalRecording(connection, workerUrl);
    this.#reference = new ReferenceFeed(connection, coin);
  }

  readonly #neighbours = signal<Neighbours>({ previous: undefined, next: undefined, hasRecords: true });
  readonly neighbours: ReadonlySignal<Neighbours> = this.#neighbours;
  readonly shown: ReadonlySignal<ShownMarket | undefined> = this.#shown;
  readonly notice: ReadonlySignal<Notice | undefined> = this.#notice;

  /** The publishers of reference prices in the window. */
  readonly sources: ReadonlySignal<readonly string[]> = computed(
    () => this.#reference.prices.value?.map(({ source }) => source) ?? [],
  );

  /** The reference prices that are shown; undefined before they are loaded, and if the publisher has none. */
  readonly reference: ReadonlySignal<ReferencePrices | undefined> = computed(() => {
    const [shown, all] = [this.#shown.value, this.#reference.prices.value];
    if (shown === undefined || all === undefined) return undefined;
    return shownReference(all, shown.state.reference.value, settlementSource(shown.market.timeframe));
  });

  /** A notice of the data that the tier lacks, with or without a sample of books; undefined: the tier grants books. */
  readonly tierNotice: ReadonlySignal<Notice | undefined> = computed(() => {
    const shown = this.#shown.value;
    if (shown === undefined || this.connection.grants('snapshots')) return undefined;
    if (shown.coverage !== undefined) return this.connection.sampleNotice;
    return this.connection.missingGrant('snapshots', 'A tier with snapshots shows books.');
  });

  /** The path of the market, by its id: later another market may have its slug. */
  readonly marketPath: ReadonlySignal<string | undefined> = computed(() => {
    const conditionId = this.#shown.value?.market.conditionId;
    return conditionId && `/v1/${this.#settings.coin}/markets/${conditionId}`;
  });

  /** True: the books are read in this browser. */
  readonly isLocal: ReadonlySignal<boolean> = computed(() => this.#recording.source.value !== undefined);

  /** The heat maps with trades: the server's, since the worker has only books. */
  readonly trades: ReadonlySignal<ReadonlyMap<Outcome, LoadedHeatMaps>> = computed(() =>
    !this.isLocal.value ? this.loader.heatMaps.value : this.#trades.heatMaps.value,
  );

  /** True where a book is recorded; without coverage, because the tier lacks books, where one was shown before. */
  readonly hasBooks: ReadonlySignal<boolean> = computed(
    () => this.#shown.value?.coverage?.outcomes.some(({ count }) => count > 0) ?? this.loader.heatMaps.value.size > 0,
  );

  /** False: without books and reference prices a picture would be empty. */
  readonly hasPicture: ReadonlySignal<boolean> = computed(
    () => this.hasBooks.value || this.#shown.value?.coverage === undefined || this.reference.value !== undefined,
  );

  /** The outcomes with a panel: the chosen ones, or the one of both of which anything is recorded. */
  readonly panels: ReadonlySignal<OutcomeChoice> = computed(() => {
    const { coverage, state } = this.#shown.value ?? {};
    const choice = state?.outcome.value ?? 'both';
    const own = this.own.value;
    const known = (coverage?.outcomes ?? []).filter(
      ({ outcome, count }) => count > 0 || own.some((order) => order.outcome === outcome),
    );
    return choice === 'both' && known.length === 1 ? known[0]!.outcome : choice;
  });

  readonly events: ReadonlySignal<readonly PlotEvent[]> = computed(() => {
    const { market, coverage, state } = this.#shown.value ?? {};
    if (market === undefined) return [];
    const [startMs, endMs] = [Date.parse(market.startTime), Date.parse(market.endTime)];
    const end = `ends ${clockText(endMs, startMs).slice(0, -'.000'.length)}`;
    return [
      [startMs, 'start'],
      [endMs, market.winner === null ? end : `resolved: ${market.winner} won`],
      ...(state === undefined ? [] : oneSidedTimes(coverage, state.outcome.value)),
    ];
  });

  readonly coin: ReadonlySignal<CoinPrices> = computed(() => {
    const { reference } = this;
    const { market, state } = this.#shown.value ?? {};
    const source = reference.value?.source ?? state?.reference.value;
    const [strike, final] = [market?.priceStart ?? undefined, market?.priceEnd ?? undefined];
    // The band has room before its prices are there; a market that ended without a strike mostly has none.
    const isAwaited = !market?.closed && this.connection.grants('prices') && this.#reference.prices.value === undefined;
    return {
      isKnown: isAwaited || (source ?? strike ?? final) !== undefined,
      name: `${this.#settings.coin.toUpperCase()}${source === undefined ? '' : `, ${source}`}`,
      reference: reference.value,
      strike,
      final,
      window: state?.home ?? { from: 0, to: 0 },
    };
  });

  readonly #server: ReadonlySignal<ServerSource | undefined> = computed(() => {
    const path = this.marketPath.value;
    return path === undefined ? undefined : new ServerSource(this.connection, path);
  });

  readonly #source: ReadonlySignal<MarketSource | undefined> = computed(() => {
    if (this.#shown.value?.coverage === undefined) return undefined;
    return this.#recording.source.value ?? this.#server.value;
  });

  /** The same for all that is read of the market. */
  readonly #state: ReadonlySignal<ViewState | undefined> = computed(() => this.#shown.value?.state);

  readonly #clockNow: ReadonlySignal<string | undefined> = computed(() => this.clock?.shown.value?.now);

  /** The key that requests are sent with. A renewed token changes nothing. */
  readonly #access: ReadonlySignal<string | undefined> = computed(() => {
    const { value: state } = this.connection.state;
    return state.kind === 'ready' ? (state.connected?.key.id ?? '') : undefined;
  });

  /** Loads the market whenever requests can be sent, and the rest as the person changes the view. Returns a function that ends it. */
  start(): () => void {
    const ends = [
      effect(() => {
        if (this.#access.value === undefined) return;
        this.#work.abort();
        this.#work = new AbortController();
        this.#readMs = -Infinity;
        void untracked(() => this.#open(this.#work.signal)).catch(this.#explain);
      }),
      effect(() => this.#loadHeatMaps()),
      effect(() => this.#wantLadders()),
      effect(() => this.#fitPrices()),
      effect(() => this.#loadReference()),
      effect(() => this.#followClock()),
    ];
    return () => {
      for (const end of ends) end();
      this.#work.abort();
      this.#forget();
    };
  }

  /** Loads something for the person; undefined if that fails, which the notice explains. */
  async attempt<T>(load: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    try {
      return await load(this.#work.signal);
    } catch (error) {
      this.#explain(error);
      return undefined;
    }
  }

  /** True while the instant moves by itself. */
  get isMoving(): boolean {
    const isRunning = this.isFollowing.value && this.clock?.shown.value?.state === 'running';
    return isRunning || this.#shown.value?.playback.isPlaying.value === true;
  }

  /** Plays, or pauses, also where the instant follows the clock of a replay. Without books nothing happens. */
  togglePlay(): void {
    if (!this.hasBooks.value) return;
    const { playback } = this.#shown.value!;
    if (!this.isMoving || playback.isPlaying.value) playback.toggle();
    this.isFollowing.value = false;
  }

  /** Moves the instant with the clock of the replay. */
  follow(): void {
    this.#shown.value!.playback.pause();
    this.isFollowing.value = true;
  }

  /** Moves the instant to the next snapshot, or to the one before. */
  async step(direction: -1 | 1): Promise<void> {
    const [source, shown] = [this.#source.value, this.#shown.value];
    if (source === undefined || shown === undefined) return;
    const { state } = shown;
    this.isFollowing.value = false;
    try {
      const { signal } = this.#work;
      const found = outcomesOf(state.outcome.value).map((outcome) =>
        source.neighbour(outcome, state.atMs.value, direction, signal),
      );
      const times = (await Promise.all(found)).filter((ms) => ms !== undefined);
      if (times.length > 0) state.scrubTo(direction === 1 ? Math.min(...times) : Math.max(...times));
    } catch (error) {
      this.#explain(error);
    }
  }

  async #open(signal: AbortSignal): Promise<void> {
    const read = await this.#reader.read(signal);
    const before = this.#shown.value;
    const isComplete = this.clock === undefined && Date.now() > Date.parse(read.market.endTime);
    const spans = recordedSpans(read, isComplete);
    const state = before?.state ?? new ViewState(viewLinkOf(this.#settings.search), spans);
    state.widen(spans.limits);
    batch(() => {
      this.#forget();
      this.#shown.value = { ...read, state, playback: before?.playback ?? this.#playbackOf(state) };
      this.#epoch.value += 1;
    });
    void this.#reader.neighbours(read.market, signal).then((found) => {
      this.#neighbours.value = found;
    }, this.#explain);
    if (this.clock !== undefined) {
      await this.clock.follow(this.#explain, signal);
      return;
    }
    void this.#recording.read(read, this.marketPath.value!, signal).catch(this.#explain);
    await this.#reader.waitForChange(this.#explain, signal);
    await this.#open(signal);
  }

  #forget(): void {
    this.loader.forget();
    this.#trades.forget();
    this.#server.peek()?.forget();
    this.#recording.close();
  }

  /** Plays no faster than ladders arrive from the server; a worker has them at once. */
  #playbackOf(state: ViewState): Playback {
    return new Playback(state, () => !this.isLocal.value && this.feed.isWaiting);
  }

  #loadHeatMaps(): void {
    void this.#epoch.value;
    const [source, shown, columns] = [this.#source.value, this.#shown.value, this.columns.value];
    if (source === undefined || shown === undefined || columns === 0) return;
    const { state } = shown;
    const wanted = {
      source,
      outcomes: outcomesOf(this.panels.value),
      whole: state.limits.value,
      window: state.time.value,
      columns,
    };
    void untracked(() => this.loader.load(wanted));
    if (!this.isLocal.value || !state.layers.value.has('trades')) return;
    const server = this.#server.value!;
    void untracked(() => this.#trades.load({ ...wanted, source: server, whole: wanted.window }));
  }

  #wantLadders(): void {
    void this.#epoch.value;
    const [source, shown] = [this.#source.value, this.#shown.value];
    if (source === undefined || shown === undefined) return;
    const { state, playback } = shown;
    const query = { choice: state.outcome.value, atMs: state.atMs.value, depth: state.depth.value };
    const stepMs = playback.isPlaying.value ? playback.speed.value * PLAYED_LADDERS_MS : undefined;
    const pauseMs = this.isLocal.value || stepMs !== undefined ? 0 : LADDERS_PAUSE_MS;
    untracked(() => this.feed.want({ source, query, stepMs, pauseMs }));
  }

  #fitPrices(): void {
    const state = this.#state.value;
    if (state === undefined) return;
    const loaded = outcomesOf(this.panels.value).flatMap((outcome) =>
      [this.loader.heatMaps.value, this.trades.value].map((heatMaps) => heatMaps.get(outcome)),
    );
    const heatMaps = loaded.flatMap((maps) => maps?.window ?? maps?.whole ?? []);
    const own = this.own.value.map(({ price }) => price);
    if (heatMaps.length > 0) state.fitted.value = fittedPrices(heatMaps, own);
  }

  #loadReference(): (() => void) | undefined {
    void this.#epoch.value;
    const state = this.#shown.value?.state;
    if (state?.layers.value.has('reference') !== true || !this.connection.grants('prices')) return undefined;
    const window = state.time.value;
    return untracked(() => this.#reference.load(window, this.#explain));
  }

  #followClock(): void {
    const now = this.#clockNow.value;
    const [state, isFollowing] = [this.#state.value, this.isFollowing.value];
    if (now === undefined || state === undefined) return;
    // A heat map that takes longer than a tick of the clock is shown before the next one is asked for.
    const isNew = now !== this.#followed && !this.loader.isLoading.value;
    untracked(() => {
      if (isFollowing) state.scrubTo(Date.parse(now));
      if (!isNew) return;
      this.#followed = now;
      this.#forget();
      this.#epoch.value += 1;
      const nowMs = performance.now();
      // The read that waits has what the clock shows by then.
      if (this.#readMs > nowMs) return;
      this.#readMs = Math.max(nowMs, this.#readMs + MARKET_AGE_MS);
      void this.#readMarketIn(this.#readMs - nowMs, this.#work.signal).catch(this.#explain);
    });
  }

  /** At the clock of a replay the market changes too: its winner is known later. */
  async #readMarketIn(waitMs: number, signal: AbortSignal): Promise<void> {
    await pause(waitMs, signal);
    const read = await this.#reader.read(signal);
    const shown = this.#shown.value;
    if (shown !== undefined) this.#shown.value = { ...shown, ...read };
    const clock = this.clock?.shown.value;
    if (clock?.paper) this.own.value = await ownOrders(this.connection, clock.id, read.market.conditionId, signal);
  }

  /** Shows why something could not be loaded. A request that the page aborted needs no explanation. */
  readonly #explain = (error: unknown): void => {
    if (error instanceof DOMException && error.name === 'AbortError') return;
    if (error instanceof RequestRefused) this.#notice.value = { sentence: error.message, link: error.link };
    else if (error instanceof Error) {
      this.#notice.value = { sentence: `The recording cannot be shown: ${error.message}.`, link: undefined };
    } else throw error;
  };
}

/** The ends of the books of the chosen outcome beyond which only the other one is recorded. */
function oneSidedTimes(coverage: CoverageResource | undefined, chosen: OutcomeChoice): readonly PlotEvent[] {
  const own = coverage?.outcomes.find(({ outcome }) => outcome === chosen);
  const other = coverage?.outcomes.find((one) => one !== own);
  if (!own?.first || !other?.first) return [];
  const [first, last] = [Date.parse(own.first), Date.parse(own.last!)];
  const sides = [
    [first - Date.parse(other.first), first, `‹ earlier: only ${other.outcome}`, 32],
    // Above the other: both may be wider than the time between them.
    [Date.parse(other.last!) - last, last, `later: only ${other.outcome} ›`, 50],
  ] as const;
  return sides.flatMap(([lengthMs, ...event]) => (lengthMs > ONE_SIDED_MS ? [event] : []));
}
