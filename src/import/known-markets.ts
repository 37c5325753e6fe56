import { knownTokenIds, type MarketStatement } from '../domain/market-statement.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import { isStandIn, standInConditionId } from '../domain/stand-in-id.ts';
import type { Archive } from '../store/archive.ts';
import { LateMarkets } from './late-markets.ts';

/** The identity of a market, as the archive or the input so far states it. */
export type KnownMarket = Pick<
  MarketStatement,
  'conditionId' | 'slug' | 'symbol' | 'timeframe' | 'clobTokenIds' | 'startMs' | 'endMs'
>;

export interface KnownAsset {
  readonly market: KnownMarket;
  readonly outcome: Outcome;
}

/** Maximum number of markets in memory between two batches. With more, they are read from the archive again. */
const MARKETS_MAX = 20_000;

/** Maximum number of unknown assets in memory, so that not every message about them queries the archive. */
const UNKNOWN_ASSETS_MAX = 10_000;

/** Maximum number of unknown markets that are listed. */
const MISSING_MAX = 100_000;

/** The markets of the archive and those that the input has stated so far. */
export class KnownMarkets {
  readonly #archive: Archive;
  readonly #late: Pick<LateMarkets<unknown>, 'hides' | 'addMarket'>;
  readonly #byConditionId = new Map<string, KnownMarket>();
  readonly #byAsset = new Map<string, KnownAsset>();
  readonly #unknownAssets = new Set<string>();
  /** The latest market of each slug, and every market by slug and start. */
  readonly #bySlug = new Map<string, KnownMarket>();
  /** ConditionIds of markets that records name and no market record states. */
  readonly #missing = new Set<string>();
  /** Real conditionIds by the stand-ins that they replaced. */
  readonly #realOf = new Map<string, string>();
  #missed: string | undefined;

  constructor(archive: Archive, late: Pick<LateMarkets<unknown>, 'hides' | 'addMarket'> = new LateMarkets()) {
    this.#archive = archive;
    this.#late = late;
  }

  /** Also finds a market by a stand-in that a real conditionId replaced during this import. */
  byConditionId(stated: string): KnownMarket | undefined {
    const conditionId = this.#realOf.get(stated) ?? stated;
    return this.#byConditionId.get(conditionId) ?? this.keep(this.#archive.markets.findByConditionId(conditionId));
  }

  winnerOf(conditionId: string): Outcome | undefined {
    return this.#archive.markets.findByConditionId(conditionId)?.winner;
  }

  /** Call it when the archive does not have the market any more. */
  forget(conditionId: string): void {
    const market = this.#byConditionId.get(conditionId);
    if (market === undefined) return;
    this.#byConditionId.delete(conditionId);
    const name = market.slug.toLowerCase();
    for (const slug of [name, windowName(name, market.startMs)]) {
      if (this.#bySlug.get(slug)?.conditionId === conditionId) this.#bySlug.delete(slug);
    }
    for (const assetId of market.clobTokenIds) this.#byAsset.delete(assetId);
  }

  /** Call it for a record of a market whose market record, or its assets, are not known. */
  addMissing(conditionId: string): void {
    if (this.#missing.size < MISSING_MAX) this.#missing.add(conditionId);
  }

  /** ConditionIds of the markets that are still missing, in their order. */
  missing(): string[] {
    return [...this.#missing].filter((conditionId) => {
      const known = this.byConditionId(conditionId);
      return known === undefined || known.clobTokenIds.includes('0');
    });
  }

  /** The market and outcome of an asset; undefined if no market record names it (outcomes are never guessed), or LateMarkets hides it. */
  byAsset(assetId: string): KnownAsset | undefined {
    const known = this.#late.hides(assetId) ? undefined : this.#assetOf(assetId);
    if (known === undefined) this.#missed = assetId;
    return known;
  }

  /** The asset that `byAsset` did not find since the last call. */
  takeMissed(): string | undefined {
    const missed = this.#missed;
    this.#missed = undefined;
    return missed;
  }

  /** Returns true if the input or the archive states the market of a conditionId or an asset id. */
  hasName(key: string): boolean {
    return this.#assetOf(key) !== undefined || this.byConditionId(key) !== undefined;
  }

  #assetOf(assetId: string): KnownAsset | undefined {
    const known = this.#byAsset.get(assetId);
    if (known !== undefined || assetId === '0' || this.#unknownAssets.has(assetId)) return known;
    const market = this.keep(this.#archive.markets.findByAsset(assetId));
    if (market === undefined && this.#unknownAssets.size < UNKNOWN_ASSETS_MAX) this.#unknownAssets.add(assetId);
    return this.#byAsset.get(assetId);
  }

  /** The market whose window starts at `startMs`, or the latest: slugs without a year repeat every year. */
  bySlug(slug: string, startMs?: number): KnownMarket | undefined {
    const name = slug.toLowerCase();
    const known = this.#bySlug.get(startMs === undefined ? name : windowName(name, startMs));
    return known ?? this.keep(this.#archive.markets.findBySlug(name, startMs));
  }

  /** Adds a market record of the input. If the market is known already, only unknown asset ids are filled in. */
  addStatement(statement: MarketStatement): void {
    const known = this.byConditionId(statement.conditionId) ?? this.#standInOrReal(statement) ?? statement;
    const conditionId = isStandIn(known.conditionId) ? statement.conditionId : known.conditionId;
    for (const replaced of [known.conditionId, statement.conditionId]) {
      if (replaced !== conditionId) this.#realOf.set(replaced, conditionId);
    }
    const clobTokenIds = knownTokenIds(known.clobTokenIds, statement.clobTokenIds);
    const before = known === statement ? [] : [known.conditionId, ...known.clobTokenIds];
    this.#late.addMarket([conditionId, ...clobTokenIds].filter((key) => key !== '0' && !before.includes(key)));
    this.keep({ ...known, conditionId, clobTokenIds });
  }

  /** The known market of the same slug and window, if one of the two has a stand-in for its conditionId. */
  #standInOrReal({ conditionId, slug, symbol, startMs }: MarketStatement): KnownMarket | undefined {
    const other = isStandIn(conditionId)
      ? this.bySlug(slug, startMs)
      : this.byConditionId(standInConditionId(slug, startMs));
    if (other === undefined || other.symbol !== symbol) return undefined;
    return isStandIn(conditionId) || isStandIn(other.conditionId) ? other : undefined;
  }

  /** Limits memory. Call it only when the archive has all added markets. */
  shrink(): void {
    this.#unknownAssets.clear();
    if (this.#byConditionId.size <= MARKETS_MAX) return;
    this.#byConditionId.clear();
    this.#byAsset.clear();
    this.#bySlug.clear();
  }

  /** Keeps a market in memory, and returns it. */
  keep(market: KnownMarket | undefined): KnownMarket | undefined {
    if (market === undefined) return undefined;
    const { conditionId, slug, symbol, timeframe, clobTokenIds, startMs, endMs } = market;
    const known = { conditionId, slug, symbol, timeframe, clobTokenIds, startMs, endMs };
    this.#byConditionId.set(conditionId, known);
    const name = slug.toLowerCase();
    this.#bySlug.set(windowName(name, startMs), known);
    if ((this.#bySlug.get(name)?.startMs ?? -1) <= startMs) this.#bySlug.set(name, known);
    for (const [index, assetId] of clobTokenIds.entries()) {
      if (assetId === '0') continue;
      this.#byAsset.set(assetId, { market: known, outcome: OUTCOMES[index]! });
      this.#unknownAssets.delete(assetId);
    }
    return known;
  }
}

/** Unique, because no slug contains a space. */
function windowName(slug: string, startMs: number): string {
  return `${slug} ${startMs}`;
}
