import { DomainError } from './errors.ts';
import type { InstantMs } from './instant.ts';
import type { Market } from './market.ts';

type IdentifyingField = 'conditionId' | 'slug' | 'symbol' | 'timeframe' | 'clobTokenIds' | 'startMs' | 'endMs';

/** What a recording says about a market: what identifies it, and of the rest what it knows. */
export type MarketStatement = Pick<Market, IdentifyingField> & {
  readonly [Field in Exclude<keyof Market, IdentifyingField>]?: Market[Field] | undefined;
};

/** Fields that a market always has a value for, stated or not. */
export type DefaultedField = 'active' | 'closed' | 'volume' | 'liquidity';

type Known = Pick<MarketStatement, 'marketId' | 'eventId' | 'resolvedMs' | 'priceStart' | 'priceEnd'>;
type Stated = Pick<MarketStatement, DefaultedField>;

/** What is true of an unresolved market that nobody said more of. */
const UNSTATED: Pick<Market, DefaultedField> = { active: true, closed: false, volume: 0, liquidity: 0 };

/** A market put together from statements. */
export interface StatedMarket extends Market {
  /** Which of the defaulted fields were stated, and as what. */
  readonly stated: { readonly [Field in DefaultedField]: Market[Field] | undefined };
  /** The latest statement's own time; undefined when it had none, and updatedMs is when the archive heard of it. */
  readonly statedUpdatedMs: InstantMs | undefined;
}

/** A market that is known from one statement: what that leaves open is what is true of an unresolved market. */
export function firstStated(said: MarketStatement, nowMs: InstantMs): StatedMarket {
  const { active, closed, volume, liquidity, ...known } = said;
  return withDefaults({
    ...known,
    marketId: said.marketId ?? '0',
    eventId: said.eventId ?? '0',
    winner: said.winner,
    resolvedMs: said.resolvedMs,
    priceStart: said.priceStart,
    priceEnd: said.priceEnd,
    createdMs: said.createdMs ?? nowMs,
    updatedMs: said.updatedMs ?? nowMs,
    statedUpdatedMs: said.updatedMs,
    stated: { active, closed, volume, liquidity },
  });
}

/** A market whose defaulted fields follow from what was stated. */
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
 * What is known of a market after one more statement; `held` itself when that adds nothing. A statement that knows the
 * winner outranks one that does not; of two alike the one with the later updatedMs, and any time outranks none.
 *
 *   higher rank   what it says replaces what is held
 *   equal rank    unknown fields are filled; volume and liquidity take the larger, a market that either calls closed or
 *                 inactive is so: whichever came first, and however often, the result is the same
 *   lower rank    unknown fields are filled
 *
 * Of two times of creation the earlier one holds, whatever the ranks.
 *
 * Throws DomainError 'rejected-record' when the statement contradicts what identifies the market, or its winner.
 */
export function afterStatement(held: StatedMarket, said: MarketStatement, nowMs: InstantMs): StatedMarket {
  refuseContradiction(held, said);
  const rank = compareRank(held, said);
  const filled = withUnknownFilled(held, said);
  const merged = withDefaults(rank > 0 ? replaced(filled, said) : rank === 0 ? joined(filled, said) : filled);
  if (Bun.deepEquals(held, merged)) return held;
  if (rank > 0) return { ...merged, updatedMs: said.updatedMs ?? nowMs, statedUpdatedMs: said.updatedMs };
  return { ...merged, updatedMs: held.statedUpdatedMs ?? nowMs };
}

/** Positive when the statement outranks what is held. */
function compareRank(held: StatedMarket, said: MarketStatement): number {
  const resolved = Number(said.winner !== undefined) - Number(held.winner !== undefined);
  return resolved || (said.updatedMs ?? -1) - (held.statedUpdatedMs ?? -1);
}

/** Of what a market need not have, what `first` says, else what `second` does. */
function either(first: Known, second: Known) {
  return {
    marketId: knownId(first.marketId, second.marketId),
    eventId: knownId(first.eventId, second.eventId),
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

function withUnknownFilled(held: StatedMarket, said: MarketStatement): StatedMarket {
  return {
    ...held,
    ...either(held, said),
    clobTokenIds: knownTokenIds(held.clobTokenIds, said.clobTokenIds),
    createdMs: Math.min(held.createdMs, said.createdMs ?? held.createdMs),
    stated: eitherStated(held.stated, said),
  };
}

function joined(filled: StatedMarket, said: MarketStatement): StatedMarket {
  const { active, closed, volume, liquidity } = filled.stated;
  return {
    ...filled,
    stated: {
      active: said.active === false ? false : active,
      closed: said.closed === true ? true : closed,
      volume: larger(volume, said.volume),
      liquidity: larger(liquidity, said.liquidity),
    },
  };
}

function larger(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

function replaced(filled: StatedMarket, said: MarketStatement): StatedMarket {
  return {
    ...filled,
    ...either(said, filled),
    winner: said.winner ?? filled.winner,
    statedUpdatedMs: said.updatedMs,
    stated: eitherStated(said, filled.stated),
  };
}

function knownId(id = '0', other = '0'): string {
  return id === '0' ? other : id;
}

/** Of two lists of asset ids the known ones; `first` decides where both know one. */
export function knownTokenIds(first: Market['clobTokenIds'], second: Market['clobTokenIds']): Market['clobTokenIds'] {
  return [knownId(first[0], second[0]), knownId(first[1], second[1])];
}

function refuseContradiction(held: Market, said: MarketStatement): void {
  const refuse = (field: string, before: string | number, after: string | number) => {
    if (before === after) return;
    throw new DomainError(
      'rejected-record',
      `market ${said.conditionId} is held with ${field} ${before}, and this record says ${after}: one of the two recordings is wrong`,
    );
  };
  refuse('slug', held.slug, said.slug);
  refuse('symbol', held.symbol, said.symbol);
  refuse('timeframe', held.timeframe, said.timeframe);
  refuse('startTime', held.startMs, said.startMs);
  refuse('endTime', held.endMs, said.endMs);
  if (held.winner !== undefined && said.winner !== undefined) refuse('winner', held.winner, said.winner);
  for (const index of [0, 1] as const) {
    const [before, after] = [held.clobTokenIds[index], said.clobTokenIds[index]];
    if (before !== '0' && after !== '0') refuse('clobTokenIds', before, after);
    // Each may name one outcome only, and both the same asset.
    const other = said.clobTokenIds[1 - index]!;
    if (other !== '0' && other === before) refuse('clobTokenIds', held.clobTokenIds.join(), said.clobTokenIds.join());
  }
}
