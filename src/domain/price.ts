import { type Static, Type } from 'typebox';
import { CoinCode } from './coin.ts';
import { instantText } from './instant.ts';
import { RecordId } from './numeric-id.ts';
import { OUTCOME_FIELDS } from './snapshot-resource.ts';

/** The kind of a market price: the midpoint of a two-sided book, or a trade's. */
const PRICE_KINDS = ['mid', 'trade'] as const;
export type PriceKind = (typeof PRICE_KINDS)[number];

export function parsePriceKind(text: string): PriceKind | undefined {
  return PRICE_KINDS.find((kind) => kind === text);
}

export const PriceResource = Type.Object(
  {
    ...OUTCOME_FIELDS,
    price: Type.Number({ minimum: 0, maximum: 1, description: 'In the venue’s collateral (USDC).' }),
    kind: Type.Union(
      PRICE_KINDS.map((kind) => Type.Literal(kind)),
      { description: 'mid: midpoint of a two-sided book, one record per change; trade: a trade’s price.' },
    ),
  },
  { $id: 'Price', description: 'The price of one outcome at one instant.' },
);
export type PriceResource = Static<typeof PriceResource>;

export const CoinPriceResource = Type.Object(
  {
    id: RecordId,
    symbol: CoinCode,
    source: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Publisher of the price, as the recording names it.',
    }),
    timestamp: instantText('When it was published.'),
    price: Type.Number({ minimum: 0, description: 'USD.' }),
  },
  { $id: 'CoinPrice', description: 'A coin’s reference price at one instant.' },
);
export type CoinPriceResource = Static<typeof CoinPriceResource>;
