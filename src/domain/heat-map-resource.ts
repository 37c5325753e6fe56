import { type Static, Type } from 'typebox';
import { CoinCode } from './coin.ts';
import { ConditionId } from './condition-id.ts';
import { HEAT_MAP_COLUMNS_MAX } from './heat-map.ts';
import { instantText } from './instant.ts';
import { Slug } from './market.ts';
import { AssetId, RecordId } from './numeric-id.ts';
import { OutcomeName } from './outcome.ts';
import { TimeframeName } from './timeframe.ts';
import { TRADE_SIDES } from './trade.ts';

const price = (description: string) =>
  Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], { description });
const rows = (side: string) =>
  Type.Array(Type.Integer({ minimum: 0 }), {
    description: `The rows with ${side}, best first: indexes of prices.`,
  });
const sizes = (side: string) =>
  Type.Array(Type.Number({ exclusiveMinimum: 0 }), {
    description: `The shares in each of these rows: the exact sum of the ${side} whose prices lie in it. A sum of more than 15 digits is the nearest double.`,
  });

const SideTradesResource = Type.Object({
  side: Type.Union([...TRADE_SIDES.map((side) => Type.Literal(side)), Type.Null()], {
    description: 'The side of the taker’s order; null: not recorded.',
  }),
  trades: Type.Integer({ minimum: 1, description: 'Number of trades.' }),
  shares: Type.Number({ minimum: 0, description: 'The sum of their shares, as in tradedShares.' }),
  low: Type.Number({ minimum: 0, maximum: 1, description: 'Their lowest price.' }),
  high: Type.Number({ minimum: 0, maximum: 1, description: 'Their highest price.' }),
});

const ColumnResource = Type.Object({
  from: instantText('Start of the column, inclusive.'),
  to: instantText('End of the column, inclusive.'),
  gap: Type.Boolean({ description: 'Whether a recorded gap touches the column.' }),
  id: Type.Union([RecordId, Type.Null()], {
    description:
      'The snapshot that the column shows: the last one at or before its end. null: the book is not known at the end of the column, because it ends before the first snapshot, begins after the last one, or a gap touches the time since the snapshot.',
  }),
  timestamp: Type.Union([instantText('The time of that snapshot.'), Type.Null()], {
    description: 'The time of that snapshot; null when there is none.',
  }),
  bidPrice: price('Its best bid; null when there is none.'),
  askPrice: price('Its best ask; null when there is none.'),
  mid: price('Its midpoint, exact; null when a side is missing.'),
  bidRows: rows('bids'),
  bidSizes: sizes('bids'),
  askRows: rows('asks'),
  askSizes: sizes('asks'),
  trades: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description:
      'The number of recorded trades of the outcome in the column. This and the following four fields are null if the tier does not grant prices.',
  }),
  tradedShares: Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
    description:
      'The exact sum of their shares, without trades whose size is not recorded. A sum of more than 15 digits is the nearest double.',
  }),
  tradeLow: price('Their lowest price; null without trades.'),
  tradeHigh: price('Their highest price; null without trades.'),
  tradeSides: Type.Union([Type.Array(SideTradesResource, { maxItems: TRADE_SIDES.length + 1 }), Type.Null()], {
    description: 'The same by side: buy, sell, not recorded; sides without trades are left out.',
  }),
});
export type ColumnResource = Static<typeof ColumnResource>;

export const HeatMapResource = Type.Object(
  {
    assetId: AssetId,
    conditionId: ConditionId,
    slug: Slug,
    symbol: CoinCode,
    outcome: OutcomeName,
    timeframe: TimeframeName,
    from: instantText('Start of the first column.'),
    to: instantText('End of the last column, inclusive.'),
    prices: Type.Array(Type.Number({ minimum: 0, maximum: 1 }), {
      description:
        'The lowest price of each row, ascending; a row ends where the next one begins. Rows are 0.01 apart. If a shown book has a price with more decimals, they are 0.001 apart below 0.04 and from 0.96 on.',
    }),
    columns: Type.Array(ColumnResource, {
      minItems: 1,
      maxItems: HEAT_MAP_COLUMNS_MAX,
      description: 'Ascending, without overlap; their lengths are as equal as whole milliseconds allow.',
    }),
  },
  { $id: 'HeatMap', description: 'The books of one outcome over time: time × price, the resting size as value.' },
);
export type HeatMapResource = Static<typeof HeatMapResource>;
