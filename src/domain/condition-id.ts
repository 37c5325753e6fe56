import { createHash } from 'node:crypto';
import { Type } from 'typebox';

/** A conditionId on the wire; recordings state it in any case. */
export const ConditionId = Type.String({
  pattern: '^0x[0-9a-f]{1,64}$',
  description: 'The market’s condition id, lower case: what paths take.',
});

const STAND_IN = /^0x0{24}[0-9a-f]{40}$/;

/**
 * The conditionId of a market whose recording gives none: 24 zeros, and the SHA-1 of its slug and start, so that every
 * recording of the market comes to the same one. A market record with the real one replaces it (store/markets.ts). Real
 * ones are Keccak-256 digests, which begin with 24 zeros for one market in 2^96.
 */
export function standInConditionId(slug: string, startMs: number): string {
  const digest = createHash('sha1').update(`${slug.toLowerCase()} ${startMs}`).digest('hex');
  return `0x${'0'.repeat(24)}${digest}`;
}

export function isStandIn(conditionId: string): boolean {
  return STAND_IN.test(conditionId);
}
