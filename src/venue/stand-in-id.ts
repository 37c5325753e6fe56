import { createHash } from 'node:crypto';
import type { Market } from '../domain/market.ts';

/** The venue's ids have at most 8 digits. A stand-in has 16 and stays below 2^53: clients read ids as numbers. */
const STAND_IN_MIN = 10 ** 15;
const HASH_BYTES = 6;
const UNKNOWN_ID = '0';

/**
 * An id for a Gamma object whose id no recording states: 10^15 plus the first 48 bits of the SHA-256 of `name`, so that it is
 * the same for every recording. Clients of Gamma require ids.
 */
export function standInId(name: string): string {
  return String(STAND_IN_MIN + createHash('sha256').update(name).digest().readUIntBE(0, HASH_BYTES));
}

/** The venue's ids of a market and of its event, or stand-ins. */
export function venueIdsOf({ conditionId, marketId, eventId }: Pick<Market, 'conditionId' | 'marketId' | 'eventId'>) {
  return {
    marketId: marketId === UNKNOWN_ID ? standInId(`market ${conditionId}`) : marketId,
    eventId: eventId === UNKNOWN_ID ? standInId(`event ${conditionId}`) : eventId,
  };
}
