import { Type } from 'typebox';

const COIN = /^[a-z0-9]{1,16}$/;

/** A coin code on the wire. */
export const CoinCode = Type.String({ pattern: COIN.source, description: 'Coin code, lower case.' });

/** A coin code in its canonical form: lower case. What a gate compares must be what a look-up uses. */
export function canonicalCoin(text: string): string {
  return text.toLowerCase();
}

/** Whether a recording may name a coin so: 1 to 16 lower-case letters and digits. */
export function isCoin(text: string): boolean {
  return COIN.test(text);
}
