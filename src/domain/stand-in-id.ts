import { createHash } from 'node:crypto';

const STAND_IN = /^0x0{24}[0-9a-f]{40}$/;

/**
 * The conditionId of a market whose recording has none: 24 zeros, then the SHA-1 of its slug and start, so that every
 * recording of the market gets the same id. A market record with the real id replaces it (store/markets.ts). Real ids are
 * Keccak-256 digests: one in 2^96 begins with 24 zeros.
 */
export function standInConditionId(slug: string, startMs: number): string {
  const digest = createHash('sha1').update(`${slug.toLowerCase()} ${startMs}`).digest('hex');
  return `0x${'0'.repeat(24)}${digest}`;
}

export function isStandIn(conditionId: string): boolean {
  return STAND_IN.test(conditionId);
}
