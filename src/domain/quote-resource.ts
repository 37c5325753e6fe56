import { type Static, Type } from 'typebox';
import { OUTCOME_FIELDS } from './snapshot-resource.ts';

const price = (description: string) =>
  Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], { description });
const size = (description: string) => Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.Null()], { description });

export const QuoteResource = Type.Object(
  {
    ...OUTCOME_FIELDS,
    bidPrice: price('Best bid; null when there is none.'),
    bidSize: size(
      'Shares at the best bid; null when there is no bid, or when a recording states its price without a size.',
    ),
    askPrice: price('Best ask; null when there is none.'),
    askSize: size(
      'Shares at the best ask; null when there is no ask, or when a recording states its price without a size.',
    ),
    mid: price('Midpoint of a two-sided book, exact; null when a side is missing.'),
    spread: Type.Union([Type.Number({ minimum: -1, maximum: 1 }), Type.Null()], {
      description: 'askPrice - bidPrice, exact (negative when the book is crossed); null when a side is missing.',
    }),
  },
  { $id: 'Quote', description: 'Top of one outcome’s book, one record per change.' },
);
export type QuoteResource = Static<typeof QuoteResource>;
