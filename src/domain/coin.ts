import { Type } from 'typebox';
import { DomainError } from './errors.ts';

const COIN = /^[a-z0-9]{1,16}$/;

export const CoinCode = Type.String({ pattern: COIN.source, description: 'Coin code, lower case.' });

/** The coins with markets at the venue, by code: the other names that mean each, in lower case. Only codes are stored. */
export const COIN_ALIASES: Readonly<Record<string, readonly string[]>> = {
  bnb: [],
  btc: ['bitcoin'],
  doge: ['dogecoin'],
  eth: ['ethereum'],
  hype: ['hyperliquid'],
  sol: ['solana'],
  xrp: ['ripple'],
};
const CODES: ReadonlyMap<string, string> = new Map(
  Object.entries(COIN_ALIASES).flatMap(([code, names]) => [code, ...names].map((name) => [name, code])),
);

/** Paths of the API under /v1: requests for a coin of that name would not reach it. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(['account', 'billing', 'coins', 'replays']);

/** The code of a known coin, from its code or name in any case; any other text in lower case, which may not be a coin. */
export function canonicalCoin(text: string): string {
  return knownCoin(text) ?? text.toLowerCase();
}

/** The code of a coin, from its code or name in any case; undefined for a text that cannot be a code, see `isCoin`. */
export function parseCoin(text: string): string | undefined {
  const coin = canonicalCoin(text);
  return COIN.test(coin) && !RESERVED_NAMES.has(coin) ? coin : undefined;
}

/** The code of a coin with markets at the venue, from its code or name in any case; undefined for any other text. */
export function knownCoin(text: string): string | undefined {
  return CODES.get(text.toLowerCase());
}

/** True for a code that may be stored: 1 to 16 lower-case letters and digits, none of RESERVED_NAMES, and no other name of a coin. */
export function isCoin(text: string): boolean {
  return parseCoin(text) === text;
}

/** Throws a DomainError of `kind`, which lists the known coins, for the first of `coins` that is neither the venue's nor `recorded`. */
export function refuseUnknownCoins(
  coins: readonly string[],
  recorded: readonly string[],
  kind: 'not-found' | 'invalid-parameter' = 'not-found',
): void {
  const known = new Set([...Object.keys(COIN_ALIASES), ...recorded]);
  const unknown = coins.find((coin) => !known.has(coin));
  if (unknown === undefined) return;
  // A longer text may be an API key by mistake, and no message may repeat a key.
  const subject = COIN.test(unknown) ? `'${unknown}'` : 'this';
  throw new DomainError(kind, `${subject} is not a known coin: the known coins are ${[...known].sort().join(', ')}`);
}
