import { INSTANT_MAX_MS, type InstantMs } from '../../domain/instant.ts';
import { pricesIn } from '../../segment/price-segment.ts';
import type { CoinMessage } from '../coin-price-streams.ts';
import type { Replay } from '../replay.ts';
import { binanceDecimal, Candle } from './candle.ts';
import { type CandleSeries, intervalStart } from './candles.ts';
import { symbolOf } from './coin-trades.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** Binance's intervals up to a day, by their names. */
export const KLINE_INTERVALS: ReadonlyMap<string, number> = new Map([
  ['1s', SECOND_MS],
  ...[1, 3, 5, 15, 30].map((minutes) => [`${minutes}m`, minutes * MINUTE_MS] as const),
  ...[1, 2, 4, 6, 8, 12].map((hours) => [`${hours}h`, hours * HOUR_MS] as const),
  ['1d', 24 * HOUR_MS],
]);
/** The time between two updates of a growing candle (binance-spot-api-docs, web-socket-streams.md). */
const UPDATE_MS = 2 * SECOND_MS;
/** Binance's own number where there is no trade. Recordings do not have the numbers of trades. */
export const NO_TRADE_ID = -1;
const IGNORED = '0';

/** A candle as a row of the REST interface (binance-spot-api-docs, rest-api.md). */
export function klineRow(candle: Candle, { intervalMs }: CandleSeries, shiftMs: number): readonly unknown[] {
  const { open, high, low, close, trades, volumes } = candle;
  const [base, quote, ...taker] = volumes;
  const openMs = candle.openMs + shiftMs;
  const prices = [open, high, low, close].map(binanceDecimal);
  return [openMs, ...prices, base, openMs + intervalMs - 1, quote, trades, ...taker, IGNORED];
}

/**
 * The messages of a stream of klines after an instant: at every even second, or every second for `1s`, that follows new prices of the
 * growing candle, and at its end. A message has the prices before its time.
 */
export function* klineMessages(
  { archive, shiftMs }: Replay,
  series: CandleSeries,
  interval: string,
  afterMs: InstantMs,
): Generator<CoinMessage> {
  const { coin, source, intervalMs } = series;
  const symbol = symbolOf(coin);
  const updates = { ...series, intervalMs: Math.min(UPDATE_MS, intervalMs) };
  let candle: Candle | undefined;
  let dueMs = Infinity;
  const textOf = (sent: Candle, x: boolean) => {
    const [t, o, h, l, c, v, T, q, n, V, Q, B] = klineRow(sent, series, shiftMs);
    const times = { t, T, s: symbol, i: interval, f: NO_TRADE_ID, L: NO_TRADE_ID };
    return JSON.stringify({
      e: 'kline',
      E: dueMs + shiftMs,
      s: symbol,
      k: { ...times, o, c, h, l, v, n, x, q, V, Q, B },
    });
  };
  function* until(instantMs: InstantMs): Generator<CoinMessage> {
    while (candle !== undefined && dueMs <= instantMs) {
      const endMs: InstantMs = candle.openMs + intervalMs;
      const isClosed = dueMs === endMs;
      if (dueMs > afterMs) yield { timestampMs: dueMs, text: textOf(candle, isClosed) };
      if (isClosed) candle = undefined;
      dueMs = isClosed ? Infinity : endMs;
    }
  }
  const fromMs = intervalStart(series, afterMs);
  for (const slice of archive.prices.slicesOfSource(coin, source, fromMs, INSTANT_MAX_MS)) {
    for (const price of pricesIn([slice])) {
      const { timestampMs } = price;
      yield* until(timestampMs);
      candle ??= new Candle(intervalStart(series, timestampMs));
      candle.add(price);
      dueMs = Math.min(dueMs, intervalStart(updates, timestampMs) + updates.intervalMs);
    }
    // A day may have a million prices before the instant: other work takes turns with reading them.
    if (slice.head.timestamps[slice.to - 1]! <= afterMs) yield { timestampMs: fromMs, text: undefined };
  }
  yield* until(Infinity);
}
