import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { MarketWithCounts } from '../../../domain/market.ts';
import type { MidpointsResource } from '../../../domain/midpoints.ts';
import type { CoinResource } from '../../../domain/recorded-coin.ts';
import type { DayResource } from '../../../domain/recorded-day.ts';
import type { BrowseQuery } from './browse-query.ts';
import { type DayTotals, totalsOf } from './calendar.ts';
import type { Connection } from './connection.ts';
import type { Later } from './later.ts';
import { PAGE_ROWS, PagedRows, type RowPage } from './paged-rows.ts';
import { RequestRefused } from './request-refused.ts';
import { ShownValues } from './shown-values.ts';

/** Values of a sparkline. */
const POINTS = 48;
const MIDPOINTS_MAX = 2000;
/** Markets of one request. */
const MIDPOINTS_BATCH_MAX = 50;
const RETRY_MS = 5000;
/** Days are counted again when the list shows that they changed, but not more often than this. */
const RECOUNT_MS = 30_000;

const DAY_CHARS = '2026-01-08'.length;

type Recorded = NonNullable<BrowseQuery['recorded']>;

/** Midpoints of up, from the beginning of a market to its end. */
export type Midpoints = readonly (number | null)[];

/** The fields of a coin that the page shows. */
export type ListedCoin = Pick<CoinResource, 'symbol' | 'timeframes' | 'recordedMarkets'>;

/** The fields of a market that the page shows. */
export type ListedMarket = Pick<
  MarketWithCounts,
  | (
      | 'conditionId'
      | 'slug'
      | 'symbol'
      | 'timeframe'
      | 'startTime'
      | 'endTime'
      | 'closed'
      | 'winner'
      | 'volume'
      | 'snapshotCount'
      | 'priceStart'
      | 'priceEnd'
    )
  | ('recordedSeconds' | 'windowSeconds')
>;

export interface RecordingsDeps {
  readonly connection: Pick<Connection, 'get' | 'grants'>;
  readonly later: Later;
}

/** The coins of the recordings page, the days of one of them, and its markets. It loads what is missing. */
export class Recordings {
  readonly #deps: RecordingsDeps;
  readonly #query: Signal<BrowseQuery>;
  readonly query: ReadonlySignal<BrowseQuery>;
  readonly #coins = signal<readonly ListedCoin[] | undefined>(undefined);
  /** The recorded coins, by symbol; undefined until they are loaded. */
  readonly coins: ReadonlySignal<readonly ListedCoin[] | undefined> = this.#coins;
  readonly #days = signal<readonly DayResource[] | undefined>(undefined);
  /** The days of the coin and the timeframe; undefined until they are loaded. */
  readonly days: ReadonlySignal<readonly DayResource[] | undefined> = this.#days;
  readonly #markets = signal<PagedRows<ListedMarket> | undefined>(undefined);
  /** The list that the query asks for; undefined until it can be loaded. `changes` says when its rows do. */
  readonly markets: ReadonlySignal<PagedRows<ListedMarket> | undefined> = this.#markets;
  readonly #failure = signal<RequestRefused | undefined>(undefined);
  /** Why the last request failed. */
  readonly failure: ReadonlySignal<RequestRefused | undefined> = this.#failure;
  readonly #changes = signal(0);
  /** Changes with each change of rows and midpoints. */
  readonly changes: ReadonlySignal<number> = this.#changes;
  readonly #midpoints: ShownValues<string, Midpoints>;
  /** The totals of a list that the days do not count, and the number of its coins; undefined before its first page. */
  found: (Pick<DayTotals, 'markets' | 'recordedMarkets'> & { readonly coins: number }) | undefined;
  /** The parts of such a list. */
  #groups: readonly FoundGroup[] = [];
  #load = new AbortController();
  #cancelRetry: (() => void) | undefined;
  #cancelRecount: (() => void) | undefined;

  constructor(query: BrowseQuery, deps: RecordingsDeps) {
    this.query = this.#query = signal(query);
    this.#deps = deps;
    this.#midpoints = new ShownValues({
      ...{ valuesMax: MIDPOINTS_MAX, batchMax: MIDPOINTS_BATCH_MAX, loadsMax: 1, later: deps.later },
      load: async (markets, aborted) => await this.#loadMidpoints(markets, aborted),
      onChange: () => this.#changed(),
    });
  }

  /** The coin that is shown; undefined while nothing is known. */
  get coin(): string | undefined {
    return this.#query.value.coin ?? this.#coins.value?.[0]?.symbol;
  }

  /** Why the coin or the timeframe of the query has no list; undefined: it has one, or the answer is awaited. */
  get refusal(): RequestRefused | undefined {
    const failure = this.#failure.value;
    const isRefused = this.#coins.value !== undefined && this.#days.value === undefined;
    return isRefused && [400, 403, 404].includes(failure?.status ?? 0) ? failure : undefined;
  }

  /** The timeframes to choose from: those of the coin, and one that is asked for. */
  get timeframes(): readonly string[] {
    const { timeframe } = this.#query.value;
    const own: readonly string[] = this.#coins.value?.find(({ symbol }) => symbol === this.coin)?.timeframes ?? [];
    return timeframe === undefined || own.includes(timeframe) ? own : [...own, timeframe];
  }

  /** The markets that the list has: of a date without any recorded one it has all. */
  get recorded(): Recorded {
    const { recorded, date, search } = this.#query.value;
    if (recorded !== undefined) return recorded;
    return search === '' && totalsOf(this.#days.value ?? [], date).recordedMarkets > 0 ? 'yes' : 'all';
  }

  /** The day on which all markets of the list begin; undefined if there are several, or if it is not known. */
  get onlyDay(): string | undefined {
    const { date } = this.#query.value;
    if (date.length === DAY_CHARS) return date;
    const list = this.#markets.value;
    const rows = list?.count === undefined || list.count > PAGE_ROWS ? 0 : list.count;
    const days = new Set(Array.from({ length: rows }, (_, index) => list!.row(index)?.startTime.slice(0, DAY_CHARS)));
    return rows > 1 && days.size === 1 ? [...days][0] : undefined;
  }

  /** Midpoints of a shown market; undefined while they are not known. */
  midpoints(market: ListedMarket): Midpoints | undefined {
    return this.#midpoints.value(nameOf(market));
  }

  /** Loads all again: with another key, or after a failure. */
  start(): void {
    this.#coins.value = undefined;
    this.#days.value = undefined;
    this.#midpoints.clear();
    this.retry();
  }

  /** Loads again what is missing. */
  retry(): void {
    this.#cancelRetry?.();
    this.#failure.value = undefined;
    const markets = this.#markets.peek();
    if (this.#days.peek() === undefined || markets === undefined) void this.#loadAll();
    else if (markets.failure !== undefined) markets.retry();
    if (this.#midpoints.failure !== undefined) this.#midpoints.retry();
  }

  /** Changes the query, and loads what it needs. */
  choose(change: Partial<BrowseQuery>): void {
    const before = this.#query.peek();
    const next = { ...before, ...change };
    this.#query.value = next;
    if (next.coin !== before.coin || next.timeframe !== before.timeframe) this.#days.value = undefined;
    this.#failure.value = undefined;
    void this.#loadAll();
  }

  /** Says which rows of the list are shown, from `first` to before `end`. */
  show(first: number, end: number): void {
    const markets = this.#markets.peek();
    if (markets === undefined) return;
    markets.show(first, end);
    if (!this.#deps.connection.grants('quotes')) return;
    const shown: string[] = [];
    for (let index = first; index < end; index += 1) {
      const market = markets.row(index);
      if (market !== undefined && market.snapshotCount > 0) shown.push(nameOf(market));
    }
    this.#midpoints.show(shown);
  }

  /** Loads the coins and the days if they are missing, and makes the list. */
  async #loadAll(): Promise<void> {
    this.#load.abort();
    this.#load = new AbortController();
    const { signal: aborted } = this.#load;
    this.#markets.peek()?.close();
    this.#markets.value = undefined;
    this.#midpoints.show([]);
    try {
      this.#coins.value ??= recordedFirst(await this.#data<readonly ListedCoin[]>('/v1/coins', aborted));
      if (this.coin === undefined) return;
      if (this.#days.peek() === undefined) {
        const days = await this.#data<readonly DayResource[]>(`/v1/${this.coin}/days${this.#timeframe('?')}`, aborted);
        this.#days.value = days;
      }
      this.#list();
    } catch (error) {
      if (!aborted.aborted) this.#fail(error);
    }
  }

  #list(): void {
    const { search } = this.#query.peek();
    const count = search === '' ? this.#count() : undefined;
    this.found = undefined;
    this.#markets.value = new PagedRows<ListedMarket>({
      ...{ count, later: this.#deps.later },
      loadPage: async (skip, aborted) => {
        const load: LoadMarkets = async (coin, from, limit, totals = '') =>
          await this.#deps.connection.get<MarketPage>(
            `/v1/${coin}/markets?include=counts${this.#filters(coin)}&limit=${limit}&skip=${from}${totals}`,
            { signal: aborted },
          );
        if (count === undefined) return await this.#found(skip, load);
        const limit = Math.min(PAGE_ROWS, count - skip);
        const { data, pagination } = await load(this.coin!, skip, limit);
        // Markets were added or deleted since the days were counted.
        if (data.length < limit || (pagination.hasMore && skip + limit >= count)) this.#recount();
        return { rows: data, hasMore: pagination.hasMore && skip + limit < count };
      },
      onChange: () => this.#changed(),
    });
  }

  /**
   * A page of a list that the days do not count. A search is of all coins, the chosen one first; ordered by books it has the recorded markets of
   * all coins before the others.
   */
  async #found(skip: number, load: LoadMarkets): Promise<RowPage<ListedMarket>> {
    const { search, sort } = this.#query.peek();
    if (skip === 0) {
      const coins = this.#coins.peek()!.map(({ symbol }) => symbol);
      const asked = search === '' ? [] : coins.filter((coin) => coin !== this.coin);
      const firsts = await Promise.all(
        [this.coin!, ...asked].map(async (coin) => ({ coin, ...(await load(coin, 0, PAGE_ROWS, '&totals=true')) })),
      );
      const halves = firsts.map(({ coin, data, pagination: { total = 0, recorded = 0 } }) => {
        const split = sort === 'books' ? recorded : total;
        return [
          { coin, data, from: 0, to: split },
          { coin, data, from: split, to: total },
        ] as const;
      });
      this.#groups = [...halves.map(([recorded]) => recorded), ...halves.map(([, others]) => others)];
      const sum = (name: 'total' | 'recorded') =>
        firsts.reduce((before, { pagination }) => before + (pagination[name] ?? 0), 0);
      const found = firsts.filter(({ data }) => data.length > 0);
      this.found = { markets: sum('total'), recordedMarkets: sum('recorded'), coins: found.length };
    }
    const parts: (readonly ListedMarket[] | Promise<MarketPage>)[] = [];
    let before = 0;
    for (const { coin, data, from, to } of this.#groups) {
      const first = from + Math.max(0, skip - before);
      const end = Math.min(to, from + skip + PAGE_ROWS - before);
      before += to - from;
      if (first < end) parts.push(end <= data.length ? data.slice(first, end) : load(coin, first, end - first));
    }
    const loaded = await Promise.all(parts);
    const rows = loaded.flatMap((part) => ('data' in part ? part.data : part));
    return { rows, hasMore: skip + PAGE_ROWS < before, count: before };
  }

  /** The number of markets in the list; undefined if the days do not say it. */
  #count(): number | undefined {
    const { date, winner, gaps, volumeMin } = this.#query.peek();
    if (winner !== undefined || gaps !== undefined || volumeMin !== undefined) return undefined;
    const { markets, recordedMarkets } = totalsOf(this.#days.peek() ?? [], date);
    return { yes: recordedMarkets, no: markets - recordedMarkets, all: markets }[this.recorded];
  }

  /** The parameters of the list of a coin: a search for the coin finds all of its markets, whatever their slugs. */
  #filters(coin: string): string {
    const { date, search: text, winner, gaps, volumeMin, sort } = this.#query.peek();
    const recorded = { yes: true, no: false, all: undefined }[this.recorded];
    const search = text.toLowerCase() === coin ? '' : text;
    const values = { recorded, search, date, winner, gaps, volumeMin, sort: sort === '-window' ? '' : sort };
    const given = Object.entries(values).flatMap(([name, value]) =>
      value === undefined || value === '' ? [] : `&${name}=${encodeURIComponent(value)}`,
    );
    return `${this.#timeframe('&')}${given.join('')}`;
  }

  /** The list does not begin where the days say: a market was added since they were counted. */
  #recount(): void {
    if (this.#cancelRecount !== undefined) return;
    this.#cancelRecount = this.#deps.later(() => {
      this.#cancelRecount = undefined;
    }, RECOUNT_MS);
    this.#days.value = undefined;
    void this.#loadAll();
  }

  async #loadMidpoints(names: readonly string[], aborted: AbortSignal): Promise<ReadonlyMap<string, Midpoints>> {
    const byCoin = Map.groupBy(names, (name) => name.split('/')[0]!);
    const loaded = [...byCoin].map(async ([coin, ofCoin]) => {
      const markets = ofCoin.map((name) => name.slice(coin.length + 1)).join();
      const path = `/v1/${coin}/midpoints?points=${POINTS}&markets=${markets}`;
      const data = await this.#data<readonly MidpointsResource[]>(path, aborted);
      return data.map(({ conditionId, mids }) => [`${coin}/${conditionId}`, mids] as const);
    });
    return new Map((await Promise.all(loaded)).flat());
  }

  async #data<T>(path: string, aborted: AbortSignal): Promise<T> {
    return (await this.#deps.connection.get<{ readonly data: T }>(path, { signal: aborted })).data;
  }

  /** The parameter of the chosen timeframe after `before`. */
  #timeframe(before: '?' | '&'): string {
    const { timeframe } = this.#query.peek();
    return timeframe === undefined ? '' : `${before}tf=${encodeURIComponent(timeframe)}`;
  }

  #changed(): void {
    this.#changes.value += 1;
    const failure = this.#markets.peek()?.failure ?? this.#midpoints.failure;
    if (failure !== undefined) this.#fail(failure);
  }

  /** Requests again if the server does not answer; the person decides about other refusals. */
  #fail(error: unknown): void {
    if (!(error instanceof RequestRefused)) throw error;
    this.#failure.value = error;
    this.#cancelRetry?.();
    if (error.kind === 'unreachable' || error.status >= 500) {
      this.#cancelRetry = this.#deps.later(() => this.retry(), RETRY_MS);
    }
  }
}

/** Parts of answers of /v1. */
interface MarketPage {
  readonly data: readonly ListedMarket[];
  readonly pagination: { readonly hasMore: boolean; readonly total?: number; readonly recorded?: number };
}

type LoadMarkets = (coin: string, from: number, limit: number, totals?: string) => Promise<MarketPage>;

/** Consecutive markets of a coin's list, and its first page. */
interface FoundGroup {
  readonly coin: string;
  readonly data: readonly ListedMarket[];
  readonly from: number;
  readonly to: number;
}

/** The coins with recorded markets, then the others; each by name. */
function recordedFirst(coins: readonly ListedCoin[]): readonly ListedCoin[] {
  return coins.toSorted((a, b) => Number(b.recordedMarkets > 0) - Number(a.recordedMarkets > 0));
}

/** The name of a market's midpoints. */
function nameOf({ symbol, conditionId }: Pick<ListedMarket, 'symbol' | 'conditionId'>): string {
  return `${symbol}/${conditionId}`;
}
