import { Type } from 'typebox';

const COIN = /^[a-z0-9]{1,16}$/;

/** A coin code on the wire. */
export const CoinCode = Type.String({ pattern: COIN.source, description: 'Coin code, lower case.' });

/** A coin code in its canonical form: lower case. What a gate compares must be what a look-up uses. */
export function canonicalCoin(text: string): string {
  return text.toLowerCase();
}

/** Paths of the API under /v1: a coin of that name could not be asked for. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(['account', 'billing', 'coins', 'replays']);

/** Whether a recording may name a coin so: 1 to 16 lower-case letters and digits, and none of RESERVED_NAMES. */
export function isCoin(text: string): boolean {
  return COIN.test(text) && !RESERVED_NAMES.has(text);
}
