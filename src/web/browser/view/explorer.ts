import { batch, computed, effect, type ReadonlySignal, type Signal, signal, untracked } from '@preact/signals';
import type { HeatMap } from '../../../domain/heat-map.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import type { Connection } from './connection.ts';
import { HeatMapLoader, heatMapWindow, type LoadedHeatMaps } from './heat-map-loader.ts';
import { LadderFeed } from './ladder-feed.ts';
import type { CoverageJson, MarketJson } from './market-json.ts';
import type { MarketSource } from './market-source.ts';
import { pause } from './pause.ts';
import { Playback } from './playback.ts';
import { RecordingSource } from './recording-source.ts';
import { type ReferencePrices, referencePrices } from './reference-prices.ts';
import type { ReplayClock } from './replay-clock.ts';
import { type Link, RequestRefused } from './request-refused.ts';
import { heatMapPath, laddersPath, ServerSource } from './server-source.ts';
import type { Span } from './span.ts';
import { outcomesOf } from './view-choices.ts';
import { searchOf, type ViewLink, viewLinkOf } from './view-link.ts';
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

/** One sentence for the person, and a page that helps. */
export interface Notice {
  readonly sentence: string;
  readonly link: Link | undefined;
}

/** A market, as it is looked at. */
export interface ShownMarket {
  readonly market: MarketJson;
  /** Undefined: the tier lacks snapshots. */
  readonly coverage: CoverageJson | undefined;
  readonly state: ViewState;
  readonly playback: Playback;
}

/** `hasTrades`: whether the trades of its columns are known. */
export interface SavedHeatMap {
  readonly heatMap: HeatMap;
  readonly hasTrades: boolean;
}

/** Markets with at most this number of snapshots are read in the browser: about 2 MB, and a second of the worker. */
const LOCAL_SNAPSHOTS_MAX = 50_000;
/** After an answer of the server, ladders rest: requests of a key are limited. */
const LADDER_REST_MS = 200;
const WATCH_MS = 20_000;
/** While the clock of a replay runs, the market is read as often. */
const MARKET_AGE_MS = 3000;
const REFERENCE_SETTLED_MS = 250;
const COLUMNS_MAX = 1500;
const COLUMNS_AT_FIRST = 800;

/** Loads a market and what is shown of it. What was loaded stays visible when a later request fails. */
export class Explorer {
  readonly connection: Connection;
  readonly loader: HeatMapLoader;
  readonly feed: LadderFeed;
  /** Of the plot, in columns. */
  readonly columns: Signal<number> = signal(COLUMNS_AT_FIRST);
  /** Whether the instant follows the clock of the replay. */
  readonly isFollowing: Signal<boolean>;
  readonly #settings: ExplorerSettings;
  readonly #clock: ReplayClock | undefined;
  readonly #shown: Signal<ShownMarket | undefined> = signal(undefined);
  readonly #notice: Signal<Notice | undefined> = signal(undefined);
  readonly #reference: Signal<ReferencePrices | undefined> = signal(undefined);
  /** The recording in the worker; undefined: the server is asked. */
  readonly #recording: Signal<RecordingSource | undefined> = signal(undefined);
  /** Counts the states of the market that were loaded. */
  readonly #epoch = signal(0);
  readonly #trades: HeatMapLoader;
  /** Of the market that is shown. */
  #version: string | undefined;
  #work = new AbortController();
  #readMs = -Infinity;

  constructor(settings: ExplorerSettings) {
    this.#settings = settings;
    this.connection = settings.connection;
    const settled = () => {
      this.#notice.value = undefined;
    };
    this.loader = new HeatMapLoader(this.#refuse, settled);
    this.#trades = new HeatMapLoader(this.#refuse, settled);
    this.feed = new LadderFeed(this.#refuse);
    this.isFollowing = signal(settings.clock !== undefined);
    this.#clock = settings.clock;
  }

  get shown(): ReadonlySignal<ShownMarket | undefined> {
    return this.#shown;
  }

  get notice(): ReadonlySignal<Notice | undefined> {
    return this.#notice;
  }

  get reference(): ReadonlySignal<ReferencePrices | undefined> {
    return this.#reference;
  }

  get clock(): ReplayClock | undefined {
    return this.#clock;
  }

  /** The market is asked for by its id: a slug may be another market's later. */
  readonly marketPath: ReadonlySignal<string | undefined> = computed(() => {
    const conditionId = this.#shown.value?.market.conditionId;
    return conditionId && `/v1/${this.#settings.coin}/markets/${conditionId}`;
  });

  /** Whether the books are read in this browser. */
  readonly isLocal: ReadonlySignal<boolean> = computed(() => this.#recording.value !== undefined);

  /** Trades are of the server's heat maps: the worker has only books. */
  readonly trades: ReadonlySignal<ReadonlyMap<Outcome, LoadedHeatMaps>> = computed(() =>
    this.#recording.value === undefined ? this.loader.heatMaps.value : this.#trades.heatMaps.value,
  );

  readonly events: ReadonlySignal<readonly (readonly [ms: number, name: string])[]> = computed(() => {
    const market = this.#shown.value?.market;
    if (market === undefined) return [];
    const end = market.winner === null ? 'end' : `settled: ${market.winner} won`;
    return [
      [Date.parse(market.startTime), 'start'],
      [Date.parse(market.endTime), end],
    ];
  });

  readonly #server: ReadonlySignal<ServerSource | undefined> = computed(() => {
    const path = this.marketPath.value;
    return path === undefined ? undefined : new ServerSource(this.connection, path);
  });

  readonly #source: ReadonlySignal<MarketSource | undefined> = computed(() => {
    if (this.#shown.value?.coverage === undefined) return undefined;
    return this.#recording.value ?? this.#server.value;
  });

  readonly #clockNow: ReadonlySignal<string | undefined> = computed(() => this.#clock?.shown.value?.now);

  /** The key that requests are sent with. A renewed token changes nothing. */
  readonly #access: ReadonlySignal<string | undefined> = computed(() => {
    const { value: state } = this.connection.state;
    return state.kind === 'ready' ? (state.with?.key.id ?? '') : undefined;
  });

  /** Loads the market whenever requests can be sent, and keeps the rest as the person changes the view. The result ends it. */
  start(): () => void {
    const ends = [
      effect(() => {
        if (this.#access.value === undefined) return;
        this.#work.abort();
        this.#work = new AbortController();
        void untracked(() => this.#open(this.#work.signal)).catch(this.#refuse);
      }),
      effect(() => this.#loadHeatMaps()),
      effect(() => this.#wantLadders()),
      effect(() => this.#loadReference()),
      effect(() => this.#followClock()),
    ];
    return () => {
      for (const end of ends) end();
      this.#work.abort();
      this.#forget();
    };
  }

  /** The query of a link to this view. */
  linkSearch(link: ViewLink): string {
    const replay = new URLSearchParams(this.#settings.search).get('replay');
    const search = searchOf(link);
    return replay === null ? search : `${search === '' ? '?' : `${search}&`}replay=${encodeURIComponent(replay)}`;
  }

  /** The requests of what is shown: their paths, with the prefix of the replay. */
  requests({ state }: ShownMarket): { readonly heatMaps: readonly string[]; readonly ladders: string } {
    const marketPath = `${this.connection.settings.prefix}${this.marketPath.value!}`;
    const [choice, time] = [state.outcome.value, state.time.value];
    return {
      heatMaps: outcomesOf(choice).map((outcome) =>
        heatMapPath(marketPath, heatMapWindow(outcome, time, this.columns.value)),
      ),
      ladders: laddersPath(marketPath, { choice, atMs: state.atMs.value, depth: state.depth.value }),
    };
  }

  /** The heat map of the window, with its trades if they are drawn; undefined until it is there. */
  heatMapOf({ state }: ShownMarket, outcome: Outcome): SavedHeatMap | undefined {
    const { from, to } = state.time.value;
    const withTrades = this.connection.grants('prices');
    const loaders = [
      { heatMaps: this.trades.value, isWanted: state.layers.value.has('trades'), hasTrades: withTrades },
      { heatMaps: this.loader.heatMaps.value, isWanted: true, hasTrades: withTrades && !this.isLocal.value },
    ];
    for (const { heatMaps, isWanted, hasTrades } of loaders) {
      const heatMap = heatMaps.get(outcome)?.window;
      const isShown = heatMap?.columns.at(0)?.fromMs === from && heatMap.columns.at(-1)?.toMs === to - 1;
      if (isWanted && isShown) return { heatMap, hasTrades };
    }
    return undefined;
  }

  /** The whole recording of the market; undefined if it cannot be had, which the notice explains. */
  async segments(): Promise<Blob | undefined> {
    const { signal } = this.#work;
    try {
      return await (await this.#exported(signal)).blob();
    } catch (error) {
      this.#refuse(error);
      return undefined;
    }
  }

  /** Moves the instant to the next snapshot, or to the one before. */
  async step(direction: -1 | 1): Promise<void> {
    const [source, shown] = [this.#source.value, this.#shown.value];
    if (source === undefined || shown === undefined) return;
    const { state } = shown;
    this.isFollowing.value = false;
    try {
      const { signal } = this.#work;
      const asked = outcomesOf(state.outcome.value).map((outcome) =>
        source.neighbour(outcome, state.atMs.value, direction, signal),
      );
      const times = (await Promise.all(asked)).filter((ms) => ms !== undefined);
      if (times.length > 0) state.scrubTo(direction === 1 ? Math.min(...times) : Math.max(...times));
    } catch (error) {
      this.#refuse(error);
    }
  }

  async #open(signal: AbortSignal): Promise<void> {
    const { market, coverage } = await this.#read(signal);
    const before = this.#shown.value;
    const window = { from: Date.parse(market.startTime), to: Date.parse(market.endTime) + 1 };
    const limits = limitsOf(window, coverage);
    const firstMs = firstBookMs(window, coverage);
    const state = before?.state ?? new ViewState(viewLinkOf(this.#settings.search), limits, window, firstMs);
    state.widen(limits);
    batch(() => {
      this.#forget();
      this.#shown.value = { market, coverage, state, playback: before?.playback ?? new Playback(state) };
      this.#epoch.value += 1;
    });
    if (coverage === undefined) this.#notice.value = this.#lack('snapshots');
    void this.#readLocally(market, coverage, signal).catch(this.#refuse);
    if (this.#clock === undefined) await this.#watch(signal);
    else await this.#clock.follow(this.#refuse, signal);
  }

  async #read(signal: AbortSignal): Promise<{ market: MarketJson; coverage: CoverageJson | undefined }> {
    const { coin, market: name } = this.#settings;
    const path = `/v1/${coin}/markets/${name}`;
    const answer = await this.connection.response(`${path}?include=counts`, { signal });
    const text = await answer.text();
    this.#version = versionOf(answer, text);
    const { data: market } = JSON.parse(text) as { data: MarketJson };
    if (!this.connection.grants('snapshots')) return { market, coverage: undefined };
    const { data: coverage } = await this.connection.get<{ data: CoverageJson }>(`${path}/coverage`, { signal });
    return { market, coverage };
  }

  /** Reads the market again when it has changed, and all that is shown of it. */
  async #watch(signal: AbortSignal): Promise<void> {
    for (;;) {
      await nextLook(signal);
      const { coin, market: name } = this.#settings;
      const path = `/v1/${coin}/markets/${name}?include=counts`;
      try {
        const answer = await this.connection.response(path, { signal });
        if (versionOf(answer, await answer.text()) !== this.#version) break;
      } catch (error) {
        this.#refuse(error);
      }
    }
    await this.#open(signal);
  }

  async #readLocally(market: MarketJson, coverage: CoverageJson | undefined, signal: AbortSignal): Promise<void> {
    const { state } = this.connection;
    const hasAsOf = state.value.kind === 'ready' && (state.value.with?.key.asOf ?? null) !== null;
    if (coverage === undefined || this.#clock !== undefined || hasAsOf || !this.connection.grants('export')) return;
    const isSmall = market.snapshotCount > 0 && market.snapshotCount <= LOCAL_SNAPSHOTS_MAX;
    if (!isSmall || coverage.gapCount > coverage.gaps.length) return;
    const segments = new Uint8Array(await (await this.#exported(signal)).arrayBuffer());
    const gaps = coverage.gaps.map(({ from, to }) => ({ fromMs: Date.parse(from), toMs: Date.parse(to) }));
    const recording = new RecordingSource(this.#settings.workerUrl);
    signal.addEventListener('abort', () => recording.close(), { once: true });
    await recording.read(segments, gaps, signal);
    this.#recording.value = recording;
  }

  async #exported(signal: AbortSignal): Promise<Response> {
    const path = `${this.marketPath.value!}/export?format=segments`;
    return await this.connection.response(path, { signal, accept: '*/*' });
  }

  #forget(): void {
    this.loader.forget();
    this.#trades.forget();
    this.#recording.value?.close();
    this.#recording.value = undefined;
  }

  #loadHeatMaps(): void {
    void this.#epoch.value;
    const [source, shown] = [this.#source.value, this.#shown.value];
    if (source === undefined || shown === undefined) return;
    const { state } = shown;
    const wanted = {
      source,
      outcomes: outcomesOf(state.outcome.value),
      whole: state.limits.value,
      window: state.time.value,
      columns: Math.min(COLUMNS_MAX, this.columns.value),
    };
    void untracked(() => this.loader.load(wanted));
    if (!this.isLocal.value || !state.layers.value.has('trades')) return;
    const server = this.#server.value!;
    void untracked(() => this.#trades.load({ ...wanted, source: server, whole: wanted.window }));
  }

  #wantLadders(): void {
    void this.#epoch.value;
    const [source, state] = [this.#source.value, this.#shown.value?.state];
    if (source === undefined || state === undefined) return;
    const query = { choice: state.outcome.value, atMs: state.atMs.value, depth: state.depth.value };
    const restMs = this.isLocal.value ? 0 : LADDER_REST_MS;
    untracked(() => this.feed.want(source, query, restMs));
  }

  #loadReference(): (() => void) | undefined {
    void this.#epoch.value;
    const state = this.#shown.value?.state;
    if (state?.layers.value.has('reference') !== true || !this.connection.grants('prices')) return undefined;
    const window = state.time.value;
    const work = new AbortController();
    const load = async () => {
      await pause(this.#reference.peek() === undefined ? 0 : REFERENCE_SETTLED_MS, work.signal);
      const { coin } = this.#settings;
      this.#reference.value = await referencePrices(this.connection, coin, window, work.signal);
    };
    void untracked(load).catch(this.#refuse);
    return () => work.abort();
  }

  #followClock(): void {
    const now = this.#clockNow.value;
    const [state, isFollowing] = [this.#shown.value?.state, this.isFollowing.value];
    if (now === undefined || state === undefined) return;
    untracked(() => {
      this.#forget();
      this.#epoch.value += 1;
      if (isFollowing) state.scrubTo(Date.parse(now));
      if (performance.now() - this.#readMs < MARKET_AGE_MS) return;
      this.#readMs = performance.now();
      void this.#readAgain(this.#work.signal).catch(this.#refuse);
    });
  }

  /** At the clock of a replay the market changes too: its winner is known later. */
  async #readAgain(signal: AbortSignal): Promise<void> {
    const read = await this.#read(signal);
    const shown = this.#shown.value;
    if (shown !== undefined) this.#shown.value = { ...shown, ...read };
  }

  #lack(route: string): Notice {
    const { sentence, link } = this.connection.lackOf(route);
    return { sentence: `${sentence} With it, the heat map of the books and the ladder are here.`, link };
  }

  /** Shows why something is not there. Requests that the page gave up are no news. */
  readonly #refuse = (error: unknown): void => {
    if (error instanceof DOMException && error.name === 'AbortError') return;
    if (error instanceof RequestRefused) this.#notice.value = { sentence: error.message, link: error.link };
    else if (error instanceof Error) this.#notice.value = { sentence: sentenceOf(error), link: undefined };
    else throw error;
  };
}

/** The window of the market, and what is recorded before and after it. */
function limitsOf({ from, to }: Span, coverage: CoverageJson | undefined): Span {
  const times = (coverage?.outcomes ?? []).flatMap(({ first, last }) => [first, last]);
  const recorded = times.filter((time) => time !== null).map((time) => Date.parse(time));
  return { from: Math.min(from, ...recorded), to: Math.max(to, ...recorded.map((ms) => ms + 1)) };
}

/** The first instant of the window that has a book of each recorded outcome. */
function firstBookMs({ from, to }: Span, coverage: CoverageJson | undefined): number {
  const firsts = (coverage?.outcomes ?? []).map(({ first }) => (first === null ? from : Date.parse(first)));
  return Math.min(Math.max(from, ...firsts), to - 1);
}

/** Some time of a visible page, or the moment when it becomes visible again. */
async function nextLook(signal: AbortSignal): Promise<void> {
  const waiting = new AbortController();
  const returned = new Promise<void>((resolve) => {
    const look = () => document.visibilityState === 'visible' && resolve();
    document.addEventListener('visibilitychange', look, { signal: AbortSignal.any([signal, waiting.signal]) });
  });
  do await Promise.race([returned, pause(WATCH_MS, signal)]);
  while (document.visibilityState !== 'visible');
  waiting.abort();
}

/** Another one after each change of the market and its records. Unresolved markets have no entity tag. */
function versionOf({ headers }: Response, text: string): string {
  return headers.get('etag') ?? text;
}

function sentenceOf({ message }: Error): string {
  return `The recording cannot be shown: ${message}.`;
}
