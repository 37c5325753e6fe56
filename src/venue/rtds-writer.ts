import type { InstantMs } from '../domain/instant.ts';

/** A price of a symbol as RTDS publishes it; `timestampMs` is the publisher's time. */
interface RtdsPrice {
  readonly timestampMs: InstantMs;
  readonly price: number;
}

/** A topic of coin prices: `btcusdt` of Binance, `btc/usd` of Chainlink. */
export interface RtdsTopic {
  readonly name: string;
  /** The text after the coin in a symbol. */
  readonly quote: string;
  /** The length of the window of averages, in seconds; left out for a topic of prices. */
  readonly windowSeconds?: number;
}

/** The first messages have this topic, whatever topic the client has subscribed to. */
const HISTORY_TOPIC = 'crypto_prices';

/**
 * An update as RTDS sends it, but without `full_accuracy_value`: recordings are kept as the number `value`. The venue names a connection
 * in each update; all connections to a replay have the same name, since all get the same bytes, and another one if prices are simulated.
 */
export function rtdsUpdate(
  { name, windowSeconds }: RtdsTopic,
  symbol: string,
  price: RtdsPrice,
  connection: 'replay' | 'simulated',
): string {
  const payload = {
    symbol,
    timestamp: price.timestampMs,
    value: price.price,
    ...(windowSeconds === undefined ? {} : { window_s: windowSeconds }),
  };
  const update = { connection_id: connection, payload, timestamp: price.timestampMs, topic: name, type: 'update' };
  return JSON.stringify(update);
}

/** The first message about a symbol: its latest prices. `sentMs` is the time of the message. */
export function rtdsHistory(symbol: string, prices: readonly RtdsPrice[], sentMs: InstantMs): string {
  const data = prices.map(({ timestampMs, price }) => ({ timestamp: timestampMs, value: price }));
  return JSON.stringify({
    payload: { data, symbol },
    timestamp: sentMs,
    topic: HISTORY_TOPIC,
    type: 'subscribe',
  });
}

/** The answer to a request that is refused. */
export function rtdsRefusal(message: string): string {
  return JSON.stringify({ message });
}
