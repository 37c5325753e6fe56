import { type Static, Type } from 'typebox';
import { CoinCode } from './coin.ts';
import { ConditionId } from './condition-id.ts';
import { instantText } from './instant.ts';
import { AssetId, RecordId } from './numeric-id.ts';
import { OutcomeName } from './outcome.ts';
import { TimeframeName } from './timeframe.ts';

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

/**
 * Levels of one side of a book: the venue's finest tick, 0.0001, has this many prices from 0 to 1. A limit is needed because
 * the server does nothing else while it writes a book.
 */
export const LEVELS_MAX = 10_001;

const LevelResource = Type.Object({
  price: Type.Number({
    minimum: 0,
    maximum: 1,
    description: 'Price of one share, in the venue’s collateral (USDC).',
  }),
  size: Type.Number({ exclusiveMinimum: 0, description: 'Shares at this price.' }),
});

/** Fields of every record about one outcome of a market. */
export const OUTCOME_FIELDS = {
  id: RecordId,
  assetId: AssetId,
  conditionId: ConditionId,
  symbol: CoinCode,
  outcome: OutcomeName,
  timeframe: TimeframeName,
  timestamp: instantText('The time of the record, by the venue’s clock.'),
};

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
