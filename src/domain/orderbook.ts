import { type Static, Type } from '@sinclair/typebox';
import { OUTCOMES } from './outcome.ts';
import { TIMEFRAMES } from './timeframe.ts';

/**
 * Both sides of one outcome's book as parallel arrays, best level first: bids descend, asks ascend, no price twice.
 * Prices lie in 0…1, sizes are above 0; both are exact decimals (see decimal.ts).
 */
export interface OrderBook {
  readonly bidPrices: readonly number[];
  readonly bidSizes: readonly number[];
  readonly askPrices: readonly number[];
  readonly askSizes: readonly number[];
}

const LevelResource = Type.Object({
  price: Type.Number({ minimum: 0, maximum: 1 }),
  size: Type.Number({ exclusiveMinimum: 0 }),
});

/** Fields that every record about one outcome of a market carries. */
export const OUTCOME_FIELDS = {
  id: Type.String({ pattern: '^[0-9]+$', description: 'Unique in this archive; breaks ties of the timestamp.' }),
  assetId: Type.String({ pattern: '^[0-9]+$' }),
  conditionId: Type.String({ pattern: '^0x[0-9a-f]+$' }),
  symbol: Type.String(),
  outcome: Type.Union(OUTCOMES.map((outcome) => Type.Literal(outcome))),
  timeframe: Type.Union(TIMEFRAMES.map((timeframe) => Type.Literal(timeframe))),
  timestamp: Type.String({ format: 'date-time' }),
};

/** An order book snapshot on the wire. */
export const SnapshotResource = Type.Object(
  {
    ...OUTCOME_FIELDS,
    bids: Type.Array(LevelResource, { description: 'Best (highest) first.' }),
    asks: Type.Array(LevelResource, { description: 'Best (lowest) first.' }),
  },
  { $id: 'Snapshot', description: 'The full book of one outcome at one instant.' },
);
export type SnapshotResource = Static<typeof SnapshotResource>;

export function sameBook(a: OrderBook, b: OrderBook): boolean {
  return (
    sameNumbers(a.bidPrices, b.bidPrices) &&
    sameNumbers(a.askPrices, b.askPrices) &&
    sameNumbers(a.bidSizes, b.bidSizes) &&
    sameNumbers(a.askSizes, b.askSizes)
  );
}

function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return false;
  return true;
}
