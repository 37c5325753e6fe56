import { Type } from 'typebox';

/** A conditionId on the wire; recordings may have it in upper case. */
export const ConditionId = Type.String({
  pattern: '^0x[0-9a-f]{1,64}$',
  description: 'The market’s condition id, lower case; paths take it.',
});
