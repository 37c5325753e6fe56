import { refuseUnknownCoins } from '../domain/coin.ts';
import { DomainError } from '../domain/errors.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Timeframe } from '../domain/timeframe.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import type { TableShape } from './table-shape.ts';

/** The filters of an export. An undefined filter selects everything. */
export interface ExportRequest {
  /** Codes of coins. */
  readonly coins: readonly string[] | undefined;
  readonly timeframes: readonly Timeframe[] | undefined;
  /** ConditionIds or slugs. */
  readonly markets: readonly string[] | undefined;
  /** Both inclusive. */
  readonly fromMs: InstantMs | undefined;
  readonly toMs: InstantMs | undefined;
  readonly sampling: Sampling;
}

/** Limits the exported records of each series, and the levels of each snapshot. An undefined field does not restrict. */
export interface Sampling {
  /** Only records of this outcome; gaps and reference prices of coins belong to no outcome. */
  readonly outcome: Outcome | undefined;
  /** Only the last record of each bucket of this length, per series, see domain/interval.ts. */
  readonly intervalMs: number | undefined;
  /** Maximum number of levels per side of a snapshot, the best first. */
  readonly depth: number | undefined;
  /** The table that Parquet has, instead of that of all records. */
  readonly table: TableShape | undefined;
}

/** The records of an export. Every coin and market in it exists in the archive. */
export interface ExportSelection {
  /** Ascending by name. */
  readonly coins: readonly string[];
  /** The markets that were named, ascending by (startMs, conditionId); undefined: every market of the coins. */
  readonly markets: readonly StoredMarket[] | undefined;
  readonly timeframes: readonly Timeframe[] | undefined;
  /** True if the coins' reference prices are exported: only if all markets of the coins are exported. */
  readonly takesCoinPrices: boolean;
  /** Both inclusive. */
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  /** True if markets without a record or gap between `fromMs` and `toMs` are left out. */
  readonly skipsEmptyMarkets: boolean;
  /** Markets and gaps are exported as they were known at this instant; undefined: now. */
  readonly asOfMs: InstantMs | undefined;
  readonly sampling: Sampling;
}

/** Throws DomainError 'not-found' for a coin or market that the archive does not have. */
export function selectionOf(archive: Archive, request: ExportRequest): ExportSelection {
  const { coins, markets, timeframes, fromMs, toMs, sampling } = request;
  const selected = selectedCoins(archive, coins);
  return {
    coins: selected,
    markets: markets === undefined ? undefined : named(archive, selected, markets),
    timeframes,
    takesCoinPrices: markets === undefined && timeframes === undefined,
    fromMs: fromMs ?? 0,
    toMs: toMs ?? INSTANT_MAX_MS,
    skipsEmptyMarkets: fromMs !== undefined || toMs !== undefined,
    asOfMs: undefined,
    sampling,
  };
}

/** The coins of the archive, by name; only those of `coins` if it is given. Throws DomainError 'not-found' for a coin that it does not have. */
export function selectedCoins({ recordedCoins }: Archive, coins: readonly string[] | undefined): string[] {
  const known = recordedCoins.symbols();
  refuseUnknownCoins(coins ?? [], known);
  for (const coin of coins ?? []) {
    if (known.includes(coin)) continue;
    throw new DomainError('not-found', `the archive has no records of the coin '${coin}': it has ${list(known)}`);
  }
  return known.filter((coin) => coins?.includes(coin) ?? true);
}

/** One market's records from `fromMs` to `toMs`, both inclusive. `toMs` must not be after `asOfMs`. */
export function selectionOfMarket(
  market: StoredMarket,
  fromMs: InstantMs,
  toMs: InstantMs,
  sampling: Sampling,
  asOfMs?: InstantMs,
): ExportSelection {
  return {
    coins: [market.symbol],
    markets: [market],
    timeframes: undefined,
    takesCoinPrices: false,
    fromMs,
    toMs,
    skipsEmptyMarkets: true,
    asOfMs,
    sampling,
  };
}

/** The selected markets of one coin, ascending by (startMs, conditionId). */
export function* marketsOf(archive: Archive, selection: ExportSelection, coin: string): Generator<StoredMarket> {
  const { markets, timeframes } = selection;
  const isSelected = ({ symbol, timeframe }: StoredMarket) =>
    symbol === coin && (timeframes === undefined || timeframes.includes(timeframe));
  if (markets !== undefined) {
    yield* markets.filter(isSelected);
    return;
  }
  let market = archive.markets.after(coin, undefined);
  while (market !== undefined) {
    if (isSelected(market)) yield market;
    market = archive.markets.after(coin, market);
  }
}

/** The number of selected markets, of which `skipsEmptyMarkets` may leave some out. */
export function countMarkets({ markets }: Archive, { coins, markets: named, timeframes }: ExportSelection): number {
  if (named !== undefined) return named.filter(({ timeframe }) => timeframes?.includes(timeframe) ?? true).length;
  const counts = coins.flatMap((coin) =>
    timeframes === undefined
      ? [markets.count(coin)]
      : [...new Set(timeframes)].map((timeframe) => markets.count(coin, timeframe)),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

function named(archive: Archive, coins: readonly string[], names: readonly string[]): StoredMarket[] {
  const found = new Map<number, StoredMarket>();
  for (const name of names) {
    const matches = coins.flatMap((coin) => archive.markets.find(coin, name) ?? []);
    if (matches.length === 0) {
      throw new DomainError(
        'not-found',
        `no market of ${list(coins)} has the conditionId or slug '${name}': 'bookreel markets' lists them`,
      );
    }
    for (const market of matches) found.set(market.key, market);
  }
  return [...found.values()].sort((a, b) => a.startMs - b.startMs || (a.conditionId < b.conditionId ? -1 : 1));
}

function list(coins: readonly string[]): string {
  return coins.length === 0 ? 'no coin' : coins.join(', ');
}
