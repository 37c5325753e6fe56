import type { InstantMs } from '../../domain/instant.ts';
import { BINANCE } from '../../domain/publisher.ts';
import { binanceDecimal, type Candle } from '../../replay/binance/candle.ts';
import { type Candles, intervalStart } from '../../replay/binance/candles.ts';
import { coinOf, symbolOf, tradeFields } from '../../replay/binance/coin-trades.ts';
import { klineRow, NO_TRADE_ID } from '../../replay/binance/klines.ts';
import type { Replay } from '../../replay/replay.ts';
import type { PriceRecord } from '../../segment/price-segment.ts';
import { BinanceQuery, binanceRefusal, invalidData } from './binance-query.ts';
import type { VenueQuestion } from './venue-answer.ts';

type Steps<T> = Generator<unknown, T>;

const TRADES_MAX = 1000;
const DAY_MS = 86_400_000;

/** At most `limitMax` rows of candles, by the time at which they begin. */
export function* klines(question: VenueQuestion, candles: Candles, limitMax: number): Steps<object> {
  const { replay, nowMs, query } = question;
  const asked = new BinanceQuery(query, ['symbol', 'interval', 'startTime', 'endTime', 'limit']);
  const { shiftMs } = replay;
  const coin = knownCoin(replay, asked.symbol());
  const series = { coin, source: replay.priceSource(coin, BINANCE), intervalMs: asked.interval(), phaseMs: shiftMs };
  const limit = asked.limit(limitMax);
  const { fromMs, toMs } = spanOf(asked, question);
  // The span is one of beginnings: its last candle has later prices too, up to the clock.
  const untilMs = Math.min(nowMs, intervalStart(series, toMs) + series.intervalMs - 1);
  const found = yield* fromMs === undefined
    ? candles.last(series, untilMs, limit)
    : candles.first(series, intervalStart(series, fromMs + series.intervalMs - 1), untilMs, limit);
  return found.map((candle) => klineRow(candle, series, shiftMs));
}

/** Recorded trades, by time; none are aggregated, see tradeMessage. */
export function trades(question: VenueQuestion): object {
  const { replay, query } = question;
  const asked = new BinanceQuery(query, ['symbol', 'fromId', 'startTime', 'endTime', 'limit']);
  const coin = knownCoin(replay, asked.symbol());
  // Recordings do not have the numbers of trades.
  if (asked.whole('fromId') !== undefined) throw invalidData('fromId');
  const limit = asked.limit(TRADES_MAX);
  const { fromMs, toMs } = spanOf(asked, question);
  const order = fromMs === undefined ? 'desc' : 'asc';
  const page = { fromMs: fromMs ?? 0, toMs, order, after: undefined, limit } as const;
  const { records } = replay.archive.prices.pageOfCoin(coin, page, replay.priceSource(coin, BINANCE));
  return (order === 'asc' ? records : records.toReversed()).map((record) => tradeFields(record, replay.shiftMs));
}

/** The latest prices; with their times if `isTimed`. */
export function prices(question: VenueQuestion, isTimed: boolean): Steps<object> {
  const { replay, nowMs } = question;
  // biome-ignore lint/correctness/useYield: a price takes one step.
  return perCoin(question, function* (coin) {
    const last = latestPrice(replay, coin, nowMs);
    if (last === undefined) return undefined;
    const time = isTimed ? last.timestampMs + replay.shiftMs : undefined;
    return { symbol: symbolOf(coin), price: binanceDecimal(last.price), time };
  });
}

/** The changes of prices in the last 24 hours, for coins with a price in them. */
export function dayTickers(question: VenueQuestion, candles: Candles): Steps<object> {
  const { replay, nowMs } = question;
  const fromMs = nowMs - DAY_MS + 1;
  return perCoin(question, function* (coin) {
    const series = { coin, source: replay.priceSource(coin, BINANCE), intervalMs: DAY_MS, phaseMs: -fromMs };
    const [day] = yield* candles.first(series, fromMs, nowMs);
    return day && dayTicker(coin, day, latestPrice(replay, coin, nowMs)?.trade?.size, replay.shiftMs);
  });
}

/** Its times are those of the first and the last price, which a short recording has later than 24 hours before the clock. */
function dayTicker(coin: string, day: Candle, size: number | undefined, shiftMs: number): object {
  const [lastPrice, openPrice, highPrice, lowPrice] = [day.close, day.open, day.high, day.low].map(binanceDecimal);
  const [volume, quoteVolume] = day.volumes;
  const { price: priceChange, percent: priceChangePercent } = day.changes;
  return {
    symbol: symbolOf(coin),
    ...{ priceChange, priceChangePercent, weightedAvgPrice: day.averagePrice, lastPrice },
    lastQty: size === undefined ? undefined : binanceDecimal(size),
    ...{ openPrice, highPrice, lowPrice, volume, quoteVolume },
    ...{ openTime: day.firstMs + shiftMs, closeTime: day.lastMs + shiftMs },
    ...{ firstId: NO_TRADE_ID, lastId: NO_TRADE_ID, count: day.trades },
  };
}

/** The recorded times of `startTime` and `endTime`, not later than the clock; a missing `startTime` is undefined. */
function spanOf(asked: BinanceQuery, { replay: { shiftMs }, nowMs }: VenueQuestion) {
  const [startMs, endMs = Infinity] = [asked.whole('startTime'), asked.whole('endTime')];
  return { fromMs: startMs === undefined ? undefined : startMs - shiftMs, toMs: Math.min(nowMs, endMs - shiftMs) };
}

/** The answer of `of` for the symbol of a request, for each of its symbols, or without any for each coin of the replay that has one. */
function* perCoin<T>({ replay, query }: VenueQuestion, of: (coin: string) => Steps<T | undefined>): Steps<T | T[]> {
  const asked = new BinanceQuery(query, ['symbol', 'symbols']);
  const symbols = asked.symbols();
  const wanted = query.has('symbol') ? [asked.symbol()] : symbols;
  const found: T[] = [];
  for (const coin of wanted?.map((symbol) => knownCoin(replay, symbol)) ?? replay.coins) {
    const one = yield* of(coin);
    if (one !== undefined) found.push(one);
    else if (wanted !== undefined) throw invalidSymbol();
  }
  return query.has('symbol') ? found[0]! : found;
}

function latestPrice(replay: Replay, coin: string, nowMs: InstantMs): PriceRecord | undefined {
  return replay.archive.prices.latestOfSource(coin, replay.priceSource(coin, BINANCE), nowMs);
}

function knownCoin(replay: Replay, symbol: string): string {
  const coin = coinOf(replay, symbol);
  if (coin === undefined) throw invalidSymbol();
  return coin;
}

const invalidSymbol = () => binanceRefusal(-1121, 'Invalid symbol.');
