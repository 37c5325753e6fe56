import { DomainError } from './errors.ts';
import type { InstantMs } from './instant.ts';
import type { Market } from './market.ts';
import type { MarketDetails } from './market-details.ts';

type IdentifyingField = 'conditionId' | 'slug' | 'symbol' | 'timeframe' | 'clobTokenIds' | 'startMs' | 'endMs';

/** The fields of a market that a recording states: the identifying fields, and any others. */
export type MarketStatement = Pick<Market, IdentifyingField> & {
  readonly [Field in Exclude<keyof Market, IdentifyingField>]?: Market[Field] | undefined;
} & {
  /** The time of the statement; set if that is not `updatedMs`. */
  readonly statedMs?: InstantMs;
  readonly details?: MarketDetails | undefined;
};

export type DefaultedField = 'active' | 'closed' | 'volume' | 'liquidity';

type Known = Pick<MarketStatement, 'resolvedMs' | 'priceStart' | 'priceEnd'>;
type Stated = Pick<MarketStatement, DefaultedField>;

/** The defaults: those of an unresolved market. */
const UNSTATED: Pick<Market, DefaultedField> = { active: true, closed: false, volume: 0, liquidity: 0 };

/** The venue's ids and the times of their first statements: the time of the import if a statement has none; undefined without an id. */
interface VenueIds extends Pick<Market, 'marketId' | 'eventId'> {
  readonly marketIdMs: InstantMs | undefined;
  readonly eventIdMs: InstantMs | undefined;
}

export interface StatedMarket extends Market, VenueIds {
  /** The defaulted fields as stated; undefined when not stated. */
  readonly stated: { readonly [Field in DefaultedField]: Market[Field] | undefined };
  /** The latest statement's own time; undefined when it had none: updatedMs is then the time of the import. */
  readonly statedUpdatedMs: InstantMs | undefined;
}

/** A market from one statement; other fields get the values of an unresolved market. */
export function firstStated(statement: MarketStatement, nowMs: InstantMs): StatedMarket {
  const { active, closed, volume, liquidity, statedMs: _, details: __, ...known } = statement;
  return withDefaults({
    ...known,
    ...venueIds(statement, nowMs),
    winner: statement.winner,
    resolvedMs: statement.resolvedMs,
    priceStart: statement.priceStart,
    priceEnd: statement.priceEnd,
    createdMs: statement.createdMs ?? nowMs,
    updatedMs: statement.updatedMs ?? nowMs,
    statedUpdatedMs: statement.updatedMs,
    stated: { active, closed, volume, liquidity },
  });
}

export function withDefaults<M extends Omit<StatedMarket, DefaultedField>>(
  market: M,
): M & Pick<Market, DefaultedField> {
  const { active, closed, volume, liquidity } = market.stated;
  return {
    ...market,
    active: active ?? UNSTATED.active,
    closed: closed ?? UNSTATED.closed,
    volume: volume ?? UNSTATED.volume,
    liquidity: liquidity ?? UNSTATED.liquidity,
  };
}

/**
 * Merges one more statement into a market; returns `known` itself if nothing changes. A statement with a winner outranks one
 * without; then the later updatedMs outranks the earlier, and any updatedMs outranks none.
 *
 *   higher rank   the statement's fields replace the market's
 *   equal rank    unknown fields are filled; volume and liquidity take the larger value; the market is closed, or inactive,
 *                 if either says so. The result does not depend on the order of statements or on repeats
 *   lower rank    unknown fields are filled
 *
 * Whatever the ranks, the earlier creation time is kept, and of two ids of the venue the one that was stated earlier.
 *
 * Throws DomainError 'rejected-record' when the statement contradicts the market's identifying fields or its winner.
 */
export function afterStatement(known: StatedMarket, statement: MarketStatement, nowMs: InstantMs): StatedMarket {
  refuseContradiction(known, statement);
  const rank = compareRank(known, statement);
  const filled = withUnknownFilled(known, statement, nowMs);
  const merged = withDefaults(rank > 0 ? replaced(filled, statement) : rank === 0 ? joined(filled, statement) : filled);
  if (Bun.deepEquals(known, merged)) return known;
  if (rank > 0) return { ...merged, updatedMs: statement.updatedMs ?? nowMs, statedUpdatedMs: statement.updatedMs };
  return { ...merged, updatedMs: known.statedUpdatedMs ?? nowMs };
}

/** Positive when the statement outranks the market. */
export function compareRank(known: StatedMarket, statement: MarketStatement): number {
  const resolved = Number(statement.winner !== undefined) - Number(known.winner !== undefined);
  return resolved || (statement.updatedMs ?? -1) - (known.statedUpdatedMs ?? -1);
}

/** Each optional field from `first`, or from `second` when `first` does not have it. */
function either(first: Known, second: Known) {
  return {
    resolvedMs: first.resolvedMs ?? second.resolvedMs,
    priceStart: first.priceStart ?? second.priceStart,
    priceEnd: first.priceEnd ?? second.priceEnd,
  };
}

function eitherStated(first: Stated, second: Stated): StatedMarket['stated'] {
  return {
    active: first.active ?? second.active,
    closed: first.closed ?? second.closed,
    volume: first.volume ?? second.volume,
    liquidity: first.liquidity ?? second.liquidity,
  };
}

function withUnknownFilled(known: StatedMarket, statement: MarketStatement, nowMs: InstantMs): StatedMarket {
  return {
    ...known,
    ...either(known, statement),
    clobTokenIds: knownTokenIds(known.clobTokenIds, statement.clobTokenIds),
    ...earlierIds(known, venueIds(statement, nowMs)),
    createdMs: Math.min(known.createdMs, statement.createdMs ?? known.createdMs),
    stated: eitherStated(known.stated, statement),
  };
}

function joined(filled: StatedMarket, statement: MarketStatement): StatedMarket {
  const { active, closed, volume, liquidity } = filled.stated;
  return {
    ...filled,
    stated: {
      active: statement.active === false ? false : active,
      closed: statement.closed === true ? true : closed,
      volume: larger(volume, statement.volume),
      liquidity: larger(liquidity, statement.liquidity),
    },
  };
}

function larger(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

function replaced(filled: StatedMarket, statement: MarketStatement): StatedMarket {
  return {
    ...filled,
    ...either(statement, filled),
    winner: statement.winner ?? filled.winner,
    statedUpdatedMs: statement.updatedMs,
    stated: eitherStated(statement, filled.stated),
  };
}

function venueIds({ marketId = '0', eventId = '0', statedMs, updatedMs }: MarketStatement, nowMs: InstantMs): VenueIds {
  const timeOf = (id: string) => (id === '0' ? undefined : (statedMs ?? updatedMs ?? nowMs));
  return { marketId, marketIdMs: timeOf(marketId), eventId, eventIdMs: timeOf(eventId) };
}

/** Keeps the id that was stated first: if later statements changed it, the id as of an instant would depend on them. */
function earlierIds(known: VenueIds, stated: VenueIds): VenueIds {
  const market = isEarlier(stated.marketIdMs, known.marketIdMs) ? stated : known;
  const event = isEarlier(stated.eventIdMs, known.eventIdMs) ? stated : known;
  return {
    marketId: market.marketId,
    marketIdMs: market.marketIdMs,
    eventId: event.eventId,
    eventIdMs: event.eventIdMs,
  };
}

function isEarlier(aMs: InstantMs = Infinity, bMs: InstantMs = Infinity): boolean {
  return aMs < bMs;
}

function knownId(id: string, other: string): string {
  return id === '0' ? other : id;
}

/** The known asset ids of two lists; `first` decides when both know one. */
export function knownTokenIds(first: Market['clobTokenIds'], second: Market['clobTokenIds']): Market['clobTokenIds'] {
  return [knownId(first[0], second[0]), knownId(first[1], second[1])];
}

function refuseContradiction(known: Market, statement: MarketStatement): void {
  const refuse = (field: string, before: string | number, after: string | number) => {
    if (before === after) return;
    throw new DomainError(
      'rejected-record',
      `market ${statement.conditionId} is stored with ${field} ${before}, but this record says ${after}: one of the two recordings is wrong`,
    );
  };
  refuse('slug', known.slug, statement.slug);
  refuse('symbol', known.symbol, statement.symbol);
  refuse('timeframe', known.timeframe, statement.timeframe);
  refuse('startTime', known.startMs, statement.startMs);
  refuse('endTime', known.endMs, statement.endMs);
  if (known.winner !== undefined && statement.winner !== undefined) refuse('winner', known.winner, statement.winner);
  for (const index of [0, 1] as const) {
    const [before, after] = [known.clobTokenIds[index], statement.clobTokenIds[index]];
    if (before !== '0' && after !== '0') refuse('clobTokenIds', before, after);
    // An asset id must not belong to one outcome here and to the other there.
    const other = statement.clobTokenIds[1 - index]!;
    if (other !== '0' && other === before)
      refuse('clobTokenIds', known.clobTokenIds.join(), statement.clobTokenIds.join());
  }
}
