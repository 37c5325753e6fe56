import { Type } from 'typebox';

/** An id from a recording, on the wire: up to 100 decimal digits. */
const NUMERIC = '^(0|[1-9][0-9]{0,99})$';

export const MarketId = Type.String({
  pattern: NUMERIC,
  description:
    'The venue’s market id; "0" if no recording states it, or if asOf is before the first recording that does.',
});

export const EventId = Type.String({
  pattern: NUMERIC,
  description:
    'The venue’s event id; "0" if no recording states it, or if asOf is before the first recording that does.',
});

export const AssetId = Type.String({
  pattern: NUMERIC,
  description: 'The outcome’s asset id at the venue; "0" when never recorded.',
});

/** 1 … 2^53-1. */
export const RecordId = Type.String({
  pattern: '^[1-9][0-9]{0,15}$',
  description: 'Unique in this archive, below 2^53; breaks ties of the timestamp.',
});
