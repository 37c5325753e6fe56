import { Type } from 'typebox';

const COIN = /^[a-z0-9]{1,16}$/;

export const CoinCode = Type.String({ pattern: COIN.source, description: 'Coin code, lower case.' });

/** A coin code in its canonical form: lower case. Access checks and look-ups must both use this form. */
export function canonicalCoin(text: string): string {
  return text.toLowerCase();
}

/** Paths of the API under /v1: requests for a coin of that name would not reach it. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(['account', 'billing', 'coins', 'replays']);

/** Whether a recording may use this coin code: 1 to 16 lower-case letters and digits, and none of RESERVED_NAMES. */
export function isCoin(text: string): boolean {
  return COIN.test(text) && !RESERVED_NAMES.has(text);
}
