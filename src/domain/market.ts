import { type Static, Type } from '@sinclair/typebox';
import { formatInstant, type InstantMs } from './instant.ts';
import { OUTCOMES, type Outcome } from './outcome.ts';
import { TIMEFRAMES, type Timeframe } from './timeframe.ts';

/** A market as the program holds it: times in Unix milliseconds, what is unknown undefined. */
export interface Market {
  /** `0x` and hex digits, lower case. */
  readonly conditionId: string;
  /** Numeric string; `"0"` when the recording did not know it. */
  readonly marketId: string;
  readonly eventId: string;
  readonly slug: string;
  /** Coin code, lower case. */
  readonly symbol: string;
  readonly timeframe: Timeframe;
  /** Asset ids of up and down, in this order; `"0"` when the recording did not know one. */
  readonly clobTokenIds: readonly [up: string, down: string];
  readonly active: boolean;
  readonly closed: boolean;
  readonly winner: Outcome | undefined;
  readonly startMs: InstantMs;
  readonly endMs: InstantMs;
  /** Exact decimals, in the venue's collateral (USDC). */
  readonly volume: number;
  readonly liquidity: number;
  readonly resolvedMs: InstantMs | undefined;
  /** The coin's reference price at the window's start and end, USD. */
  readonly priceStart: number | undefined;
  readonly priceEnd: number | undefined;
  readonly createdMs: InstantMs;
  readonly updatedMs: InstantMs;
}

const numericString = (description: string) => Type.String({ pattern: '^[0-9]+$', description });
const instant = (description: string) => Type.String({ format: 'date-time', description });
const nullable = <T extends ReturnType<typeof Type.Number> | ReturnType<typeof Type.String>>(
  schema: T,
  description: string,
) => Type.Union([schema, Type.Null()], { description });

/** A market on the wire. */
export const MarketResource = Type.Object(
  {
    conditionId: Type.String({
      pattern: '^0x[0-9a-f]+$',
      description: 'The condition id that paths take, lower case.',
    }),
    marketId: numericString('The venue’s market id; "0" when the recording does not know it.'),
    eventId: numericString('The venue’s event id; "0" when the recording does not know it.'),
    slug: Type.String({ description: 'Readable name; accepted wherever a path takes a conditionId.' }),
    symbol: Type.String({ description: 'Coin code, lower case.' }),
    timeframe: Type.Union(
      TIMEFRAMES.map((timeframe) => Type.Literal(timeframe)),
      { description: 'How long the window lasts.' },
    ),
    outcomes: Type.Array(Type.Union(OUTCOMES.map((outcome) => Type.Literal(outcome))), {
      minItems: 2,
      maxItems: 2,
      description: 'Always ["up", "down"].',
    }),
    clobTokenIds: Type.Array(numericString('An asset id; "0" when never recorded.'), {
      minItems: 2,
      maxItems: 2,
      description: 'One asset id per outcome, in the same order.',
    }),
    active: Type.Boolean(),
    closed: Type.Boolean(),
    winner: Type.Union([...OUTCOMES.map((outcome) => Type.Literal(outcome)), Type.Null()], {
      description: 'null while unresolved.',
    }),
    startTime: instant('Start of the window.'),
    endTime: instant('End of the window.'),
    volume: Type.Number({ minimum: 0 }),
    liquidity: Type.Number({ minimum: 0 }),
    resolvedAt: nullable(Type.String({ format: 'date-time' }), 'null while unresolved or unknown.'),
    priceStart: nullable(Type.Number(), 'Reference price at the start; null while unresolved or unknown.'),
    priceEnd: nullable(Type.Number(), 'Reference price at the end; null while unresolved or unknown.'),
    createdAt: instant('When the recording says so, else when this archive first stored the market.'),
    updatedAt: instant('When the recording says so, else when this archive last changed the market.'),
  },
  { $id: 'Market', description: 'An up-or-down market.' },
);
export type MarketResource = Static<typeof MarketResource>;

export function marketResource(market: Market): MarketResource {
  return {
    conditionId: market.conditionId,
    marketId: market.marketId,
    eventId: market.eventId,
    slug: market.slug,
    symbol: market.symbol,
    timeframe: market.timeframe,
    outcomes: [...OUTCOMES],
    clobTokenIds: [...market.clobTokenIds],
    active: market.active,
    closed: market.closed,
    winner: market.winner ?? null,
    startTime: formatInstant(market.startMs),
    endTime: formatInstant(market.endMs),
    volume: market.volume,
    liquidity: market.liquidity,
    resolvedAt: market.resolvedMs === undefined ? null : formatInstant(market.resolvedMs),
    priceStart: market.priceStart ?? null,
    priceEnd: market.priceEnd ?? null,
    createdAt: formatInstant(market.createdMs),
    updatedAt: formatInstant(market.updatedMs),
  };
}

/** The asset id that `outcome` trades under; `"0"` when it was never recorded. */
export function assetIdOf(market: Market, outcome: Outcome): string {
  return market.clobTokenIds[outcome === 'up' ? 0 : 1];
}
