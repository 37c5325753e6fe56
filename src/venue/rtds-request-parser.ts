import { isFields, parsedJson } from '../record/fields.ts';

/** One entry of a request for RTDS. */
export interface RtdsSubscription {
  readonly topic: string;
  readonly type: string;
  /** In lower case; undefined: all symbols. */
  readonly symbols: readonly string[] | undefined;
}

/** A frame of a client of RTDS, the venue's real-time data socket (docs.polymarket.com, RTDS). */
export type RtdsRequest =
  | { readonly kind: 'ping'; readonly wantsAnswer: boolean }
  | { readonly kind: 'subscribe' | 'unsubscribe'; readonly subscriptions: readonly RtdsSubscription[] };

/** Maximum number of entries in a frame, and of symbols in an entry: more than the venue has. */
const ITEMS_MAX = 100;

/**
 * Parses a frame of a client; undefined for a request that the venue refuses. `PING` is answered; the venue's own client sends
 * `ping`, others `{"type":"PING"}`, and none of these waits for an answer.
 */
export function rtdsRequest(text: string): RtdsRequest | undefined {
  if (text.toUpperCase() === 'PING') return { kind: 'ping', wantsAnswer: text === 'PING' };
  const frame = parsedJson(text);
  if (!isFields(frame)) return undefined;
  const { action, subscriptions, type } = frame;
  if (action === undefined && type === 'PING') return { kind: 'ping', wantsAnswer: false };
  if (action !== 'subscribe' && action !== 'unsubscribe') return undefined;
  if (!Array.isArray(subscriptions) || subscriptions.length === 0 || subscriptions.length > ITEMS_MAX) return undefined;
  const parsed = subscriptions.map(subscriptionIn);
  return parsed.includes(undefined)
    ? undefined
    : { kind: action, subscriptions: parsed.filter((each) => each !== undefined) };
}

function subscriptionIn(entry: unknown): RtdsSubscription | undefined {
  if (!isFields(entry)) return undefined;
  const { topic, type = '*', filters = '' } = entry;
  if (typeof topic !== 'string' || typeof type !== 'string') return undefined;
  // The venue refuses filters that are not text (rs-clob-client-v2#108), except null.
  if (filters === null || filters === '') return { topic, type, symbols: undefined };
  const symbols = typeof filters === 'string' ? symbolsIn(filters) : undefined;
  return symbols === undefined ? undefined : { topic, type, symbols };
}

/**
 * The symbols of a filter. The venue documents `{"symbol":"btc/usd"}` and `btcusdt,ethusdt`; clients also send lists of both as JSON.
 * Undefined for any other text.
 */
function symbolsIn(filters: string): string[] | undefined {
  const isJson = /^\s*[[{"]/.test(filters);
  const parsed: unknown = isJson ? parsedJson(filters) : filters.split(',');
  const items: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  const symbols = items.map((item) => (isFields(item) ? item.symbol : item));
  if (symbols.length > ITEMS_MAX) return undefined;
  const texts = symbols.filter((symbol) => typeof symbol === 'string');
  return texts.length < symbols.length ? undefined : texts.map((symbol) => symbol.trim().toLowerCase());
}
