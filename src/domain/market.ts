import { type Static, Type } from 'typebox';
import { CoinCode } from './coin.ts';
import { ConditionId } from './condition-id.ts';
import { formatInstant, type InstantMs, instantText } from './instant.ts';
import { AssetId, EventId, MarketId } from './numeric-id.ts';
import { OUTCOMES, type Outcome, OutcomeName } from './outcome.ts';
import { type Timeframe, TimeframeName } from './timeframe.ts';

/** A market inside the program: times in Unix milliseconds, unknown values undefined. */
export interface Market {
  /** `0x` and hex digits, lower case. */
  readonly conditionId: string;
  /** Numeric string; `"0"` when unknown. */
  readonly marketId: string;
  readonly eventId: string;
  readonly slug: string;
  /** Coin code, lower case. */
  readonly symbol: string;
  readonly timeframe: Timeframe;
  /** Asset ids of up and down, in this order; `"0"` when unknown. */
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

export const Slug = Type.String({
  pattern: '^[A-Za-z0-9._-]{1,200}$',
  description: 'Readable name; accepted wherever a path takes a conditionId.',
});

const amount = (description: string) => Type.Union([Type.Number({ minimum: 0 }), Type.Null()], { description });

export const MarketResource = Type.Object(
  {
    conditionId: ConditionId,
    marketId: MarketId,
    eventId: EventId,
    slug: Slug,
    symbol: CoinCode,
    timeframe: TimeframeName,
    outcomes: Type.Array(OutcomeName, {
      minItems: 2,
      maxItems: 2,
      description: 'Always ["up", "down"].',
    }),
    clobTokenIds: Type.Array(AssetId, {
      minItems: 2,
      maxItems: 2,
      description: 'One asset id per outcome, in the same order.',
    }),
    active: Type.Boolean({ description: 'Whether the venue lists it as open for trading.' }),
    closed: Type.Boolean({ description: 'Whether trading in it has ended.' }),
    winner: Type.Union([...OUTCOMES.map((outcome) => Type.Literal(outcome)), Type.Null()], {
      description: 'null while unresolved.',
    }),
    startTime: instantText('Start of the window.'),
    endTime: instantText('End of the window.'),
    volume: amount(
      'Traded volume, in the venue’s collateral (USDC); 0 where no recording states it (null with include=counts); null with asOf: only the last value is recorded.',
    ),
    liquidity: amount('Liquidity in the books, in the venue’s collateral (USDC); as volume.'),
    resolvedAt: Type.Union([instantText('When it was resolved.'), Type.Null()], {
      description: 'null while unresolved or unknown.',
    }),
    priceStart: amount('The coin’s reference price at the start, USD; null while unresolved or unknown.'),
    priceEnd: amount('The coin’s reference price at the end, USD; null while unresolved or unknown.'),
    createdAt: Type.Union([instantText('When it was created.'), Type.Null()], {
      description:
        'When the recording says so, else when this archive first stored the market; null with an asOf before that.',
    }),
    updatedAt: Type.Union([instantText('When it was changed.'), Type.Null()], {
      description: 'When the recording says so, else when this archive last changed the market; null with asOf.',
    }),
  },
  { $id: 'Market', description: 'An up-or-down market.' },
);
export type MarketResource = Static<typeof MarketResource>;

/** The fields that say how much of a market's window is recorded. */
export const RECORDED_SECONDS = {
  recordedSeconds: Type.Number({
    minimum: 0,
    description:
      'Seconds of the window between books of either outcome that are at most 60 s apart, without the recorded gaps; with asOf of the books until then.',
  }),
  windowSeconds: Type.Number({ exclusiveMinimum: 0, description: 'Seconds from the start of the window to its end.' }),
};

export const MarketWithCounts = Type.Object(
  {
    ...MarketResource.properties,
    volume: amount('Traded volume, in USDC; null where no recording states it, and with asOf.'),
    liquidity: amount('Liquidity in the books, in USDC; null where no recording states it, and with asOf.'),
    snapshotCount: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Stored order book snapshots of both outcomes; with asOf those until then.',
    }),
    ...RECORDED_SECONDS,
  },
  { $id: 'MarketWithCounts', description: 'A market, asked for with include=counts.' },
);
export type MarketWithCounts = Static<typeof MarketWithCounts>;

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

/** The asset id of `outcome`; `"0"` when it was never recorded. */
export function assetIdOf(market: Market, outcome: Outcome): string {
  return market.clobTokenIds[outcome === 'up' ? 0 : 1];
}
