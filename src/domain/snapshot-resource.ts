import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import { CoinCode } from './coin.ts';
import { ConditionId } from './condition-id.ts';
import { instantText } from './instant.ts';
import { AssetId, RecordId } from './numeric-id.ts';
import { OutcomeName } from './outcome.ts';
import { TimeframeName } from './timeframe.ts';

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

/** A record of an answer: with its arrival if the request asks for it. */
export function perhapsReceived<T extends TProperties>(resource: TObject<T>): TSchema {
  const receivedAt = Type.Union([instantText('When its recorder received it, by the recorder’s clock.'), Type.Null()], {
    description: 'null: no recording states it.',
  });
  const options = { $id: `Received${resource.$id}`, description: `A ${resource.$id} with its arrival.` };
  const received = Type.Object({ ...resource.properties, receivedAt }, options);
  return Type.Union([resource, received], { description: 'With receivedAt if the request has include=receivedAt.' });
}
