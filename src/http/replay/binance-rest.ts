import type { InstantMs } from '../../domain/instant.ts';
import { BINANCE } from '../../domain/publisher.ts';
import { binanceDecimal, type Candle } from '../../replay/binance/candle.ts';
import { type Candles, intervalStart } from '../../replay/binance/candles.ts';
import { coinOf, symbolOf, tradeFields } from '../../replay/binance/coin-trades.ts';
import { KLINE_INTERVALS, klineRow, NO_TRADE_ID } from '../../replay/binance/klines.ts';
import type { Replay } from '../../replay/replay.ts';
import type { PriceRecord } from '../../segment/price-segment.ts';
import { type VenueQuestion, VenueRefusal } from './venue-answer.ts';

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

const SYMBOL = '[A-Z0-9-_.]{1,20}';
const LIMIT_DEFAULT = 500;

/** A refusal in Binance's words (binance-spot-api-docs, errors.md). */
function binanceRefusal(code: number, msg: string): VenueRefusal {
  return new VenueRefusal(400, { code, msg });
}

/** The parameters of a request. Its readers throw VenueRefusals; an optional one that was not sent is undefined. */
class BinanceQuery {
  readonly #query: URLSearchParams;

  /** Throws for a parameter that is repeated, empty or not one of `known`. */
  constructor(query: URLSearchParams, known: readonly string[]) {
    for (const name of known) {
      if (query.getAll(name).length > 1) throw binanceRefusal(-1101, `Duplicate values for parameter '${name}'.`);
      if (query.get(name) === '') throw binanceRefusal(-1105, `Parameter '${name}' was empty.`);
    }
    const read = [...query.keys()].filter((name) => known.includes(name)).length;
    if (read < query.size) {
      const counts = `read '${read}' parameter(s) but was sent '${query.size}'`;
      throw binanceRefusal(-1104, `Not all sent parameters were read; ${counts}.`);
    }
    this.#query = query;
  }

  /** The one symbol of the request. */
  symbol(): string {
    return this.#legal('symbol', `^${SYMBOL}$`) ?? missing('symbol');
  }

  /** Undefined: all. */
  symbols(): readonly string[] | undefined {
    if (this.#query.has('symbol') && this.#query.has('symbols')) {
      throw binanceRefusal(-1128, 'Combination of optional parameters invalid.');
    }
    const list = this.#legal('symbols', `^\\[("${SYMBOL}"(,"${SYMBOL}"){0,}){0,1}\\]$`);
    return list === undefined ? undefined : (list.match(new RegExp(SYMBOL, 'g')) ?? []);
  }

  whole(name: string): number | undefined {
    const text = this.#legal(name, '^[0-9]{1,20}$');
    return text === undefined ? undefined : Number(text);
  }

  /** A greater number of rows than `max` means `max`. */
  limit(max: number): number {
    const limit = this.whole('limit') ?? LIMIT_DEFAULT;
    if (limit === 0) throw invalidData('limit');
    return Math.min(limit, max);
  }

  /** Milliseconds. */
  interval(): number {
    const intervalMs = KLINE_INTERVALS.get(this.#query.get('interval') ?? missing('interval'));
    if (intervalMs === undefined) throw binanceRefusal(-1120, 'Invalid interval.');
    return intervalMs;
  }

  #legal(name: string, range: string): string | undefined {
    const text = this.#query.get(name) ?? undefined;
    if (text === undefined || new RegExp(range).test(text)) return text;
    throw binanceRefusal(-1100, `Illegal characters found in parameter '${name}'; legal range is '${range}'.`);
  }
}

function invalidData(name: string): VenueRefusal {
  return binanceRefusal(-1130, `Data sent for parameter '${name}' is not valid.`);
}

function missing(name: string): never {
  throw binanceRefusal(-1102, `Mandatory parameter '${name}' was not sent, was empty/null, or malformed.`);
}
