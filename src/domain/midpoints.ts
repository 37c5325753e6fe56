import { type Static, Type } from 'typebox';
import { ConditionId } from './condition-id.ts';
import { instantText } from './instant.ts';
import { Slug } from './market.ts';
import { OutcomeName } from './outcome.ts';

/** Maximum number of markets in one request. */
export const MIDPOINT_MARKETS_MAX = 50;
/** Midpoints of a market: as many as a small picture has pixels. */
export const MIDPOINTS_MAX = 100;
export const MIDPOINTS_DEFAULT = 32;

export const MidpointsResource = Type.Object(
  {
    conditionId: ConditionId,
    slug: Slug,
    outcome: OutcomeName,
    from: instantText('Start of the market’s window.'),
    to: instantText('End of the window.'),
    mids: Type.Array(Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()]), {
      maxItems: MIDPOINTS_MAX,
      description:
        'The last midpoint at or before the end of each part of the window; the lengths of the parts are as equal as whole milliseconds allow. null: the part ends before the first midpoint, or begins after the latest instant that the answer may show.',
    }),
  },
  { $id: 'Midpoints', description: 'The midpoint of one outcome over the window of its market.' },
);
export type MidpointsResource = Static<typeof MidpointsResource>;
