import { isFields, parsedJson } from '../record/fields.ts';

/** Markets that one frame can name; further ones are ignored. */
const MARKETS_MAX = 1000;

/** A request of a client of the venue's user channel (docs.polymarket.com, user channel). */
export type UserRequest =
  | { readonly kind: 'ping' }
  | {
      readonly kind: 'open';
      readonly apiKey: string;
      readonly secret: string;
      readonly passphrase: string;
      /** Condition ids in lower case; empty: all markets. */
      readonly markets: readonly string[];
    }
  | { readonly kind: 'subscribe' | 'unsubscribe'; readonly markets: readonly string[] };

/** Parses a frame of a client; undefined for any other frame, which is not answered. */
export function userRequest(text: string): UserRequest | undefined {
  if (text === 'PING') return { kind: 'ping' };
  const frame = parsedJson(text);
  if (!isFields(frame)) return undefined;
  const { type, operation, auth } = frame;
  const listed = Array.isArray(frame.markets) ? frame.markets : [];
  const markets = listed
    .filter((id): id is string => typeof id === 'string')
    .slice(0, MARKETS_MAX)
    .map((id) => id.toLowerCase());
  if (operation === 'subscribe' || operation === 'unsubscribe') return { kind: operation, markets };
  if (typeof type !== 'string' || type.toLowerCase() !== 'user') return undefined;
  const textIn = (name: string) => (isFields(auth) && typeof auth[name] === 'string' ? auth[name] : '');
  const credentials = { apiKey: textIn('apiKey'), secret: textIn('secret'), passphrase: textIn('passphrase') };
  return { kind: 'open', ...credentials, markets };
}
