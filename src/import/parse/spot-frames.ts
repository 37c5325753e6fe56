import { parseFigure } from '../../domain/decimal.ts';
import { BINANCE, CHAINLINK, COINBASE, chainlinkTwap, PYTH } from '../../domain/publisher.ts';
import { type TradeDetails, tradeDetails } from '../../domain/trade.ts';
import {
  booleanField,
  type Fields,
  instantField,
  isFields,
  nonNegative,
  optional,
  rejected,
  stated,
} from '../../record/fields.ts';
import type { CoinPriceRecord } from '../../record/record.ts';
import { coinOfPair, coinPrice, feedPrice, usdPrice } from './spot-price.ts';

/** The coin prices of one frame. The feeds are the venue's (Chainlink and Binance), Binance's, Coinbase's and Pyth's. */
export interface SpotFrame {
  /** Its name in reports. */
  readonly kind: string;
  /** Empty for a frame without prices, such as an acknowledgement. */
  readonly items: readonly CoinPriceRecord[];
}

const RTDS_TOPIC = /^crypto_prices(?:_chainlink|_twap_[a-z]+)?$/;
const TWAP_SECONDS: ReadonlyMap<string, number> = new Map([
  ['crypto_prices_twap_thirty', 30],
  ['crypto_prices_twap_sixty', 60],
]);
/** A subscription starts with a history of one or two minutes, one price per second. */
const HISTORY_MAX = 100_000;

/** Pyth's price feeds against USD, as pyth.network lists them. */
const COIN_OF_PYTH_FEED: ReadonlyMap<string, string> = new Map([
  ['e62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43', 'btc'],
  ['ff61491a931112ddf1bd8147cd1b641375f79f5825126d665480874634fd0ace', 'eth'],
  ['ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d', 'sol'],
  ['ec5d399846a9209f3fe5881d70aae9268c94339ff9817e8d18ff19fa05eea1c8', 'xrp'],
  ['dcef50dd0a4cd2dcc17e45df1676dcb336a11a61c69df7a0299b0150c672d25c', 'doge'],
  ['2f95862b045670cd22bee3114c39763a4a08beeb663b145d283c31d7d1101c4f', 'bnb'],
  ['4279e31cc369bbcc2faf022b382b080e32a8e689ff20fbc530d2a603eb6cd98b', 'hype'],
]);

/**
 * The coin prices of a parsed frame, in its order; undefined if it comes from none of these feeds. Throws DomainError
 * 'rejected-record' for an invalid frame of one of the feeds.
 */
export function spotFrame(frame: unknown): SpotFrame | undefined {
  if (!isFields(frame)) return undefined;
  return rtdsFrame(frame) ?? binanceFrame(frame) ?? coinbaseFrame(frame) ?? pythFrame(frame);
}

/** The venue: `{topic, type: 'update' | 'subscribe', payload}`. A 'subscribe' has the last minute; its topic does not name the feed. */
function rtdsFrame({ topic, type, payload }: Fields): SpotFrame | undefined {
  if (typeof topic !== 'string' || !RTDS_TOPIC.test(topic)) return undefined;
  if (!isFields(payload)) return { kind: `${topic} ${type}`.slice(0, 100), items: [] };
  const { symbol, source } = rtdsSeries(topic, payload);
  const price = (entry: unknown) => {
    if (!isFields(entry)) throw rejected('data has an entry that is not an object');
    const value = feedPrice(entry.value, entry.full_accuracy_value);
    return coinPrice(symbol, source, instantField(entry, 'timestamp'), value);
  };
  const { data } = payload;
  if (data === undefined) return { kind: `${source} price`, items: [price(payload)] };
  if (!Array.isArray(data) || data.length > HISTORY_MAX)
    throw rejected(`data is not an array of up to ${HISTORY_MAX} prices`);
  return { kind: `${source} price history`, items: data.map(price) };
}

/** Chainlink's pairs have a slash (`btc/usd`), Binance's have none, under every topic. */
function rtdsSeries(topic: string, payload: Fields): { readonly symbol: string; readonly source: string } {
  const pair = payload.symbol;
  const isChainlink = topic !== 'crypto_prices' || (typeof pair === 'string' && pair.includes('/'));
  if (!isChainlink) return { symbol: coinOfPair(pair, '', 'usdt'), source: BINANCE };
  const symbol = coinOfPair(pair, '/', 'usd');
  if (!topic.includes('twap')) return { symbol, source: CHAINLINK };
  const seconds = stated(payload, 'window_s') ?? TWAP_SECONDS.get(topic);
  if (typeof seconds !== 'number' || !Number.isSafeInteger(seconds) || seconds < 1) {
    throw rejected(`${topic} has no window_s, the number of seconds of its average`);
  }
  return { symbol, source: chainlinkTwap(seconds) };
}

/** Binance: `{e: 'trade', s: 'BTCUSDT', p, q, T, m}`, alone or as `data` of a combined stream. */
function binanceFrame(frame: Fields): SpotFrame | undefined {
  const trade = typeof frame.stream === 'string' && isFields(frame.data) ? frame.data : frame;
  if ((trade.e !== 'trade' && trade.e !== 'aggTrade') || !('p' in trade)) return undefined;
  const symbol = coinOfPair(trade.s, '', 'usdt');
  return {
    kind: 'binance price',
    items: [coinPrice(symbol, BINANCE, instantField(trade, 'T'), usdPrice(trade.p, 'p'), binanceTrade(trade))],
  };
}

/** `q` is a number of coins; `m` says that the buyer was the maker, so that the taker sold. */
function binanceTrade(trade: Fields): TradeDetails | undefined {
  const isSale = optional(trade, 'm', booleanField);
  return tradeDetails({
    size: stated(trade, 'q') === undefined ? undefined : nonNegative(trade.q, 'q') || undefined,
    side: isSale === undefined ? undefined : isSale ? 'sell' : 'buy',
    feeRateBps: undefined,
    transactionHash: undefined,
  });
}

/** Coinbase: `{type: 'ticker', product_id: 'BTC-USD', price, time}`, and its heartbeats and acknowledgements. */
function coinbaseFrame(frame: Fields): SpotFrame | undefined {
  if (frame.type === 'subscriptions' && Array.isArray(frame.channels)) return { kind: 'subscriptions', items: [] };
  if (!('product_id' in frame)) return undefined;
  if (frame.type === 'heartbeat') return { kind: 'heartbeat', items: [] };
  if (frame.type !== 'ticker') return undefined;
  const symbol = coinOfPair(frame.product_id, '-', 'usd');
  const price = usdPrice(frame.price, 'price');
  return { kind: 'coinbase price', items: [coinPrice(symbol, COINBASE, instantField(frame, 'time'), price)] };
}

/** Pyth (Hermes): `{parsed: [{id, price: {price, expo, publish_time}}]}`. The time is in Unix seconds, the value price · 10^expo. */
function pythFrame({ parsed }: Fields): SpotFrame | undefined {
  if (!Array.isArray(parsed)) return undefined;
  if (parsed.length > HISTORY_MAX) throw rejected(`parsed is not an array of up to ${HISTORY_MAX} prices`);
  return { kind: 'pyth price', items: parsed.map(pythPrice) };
}

function pythPrice(entry: unknown): CoinPriceRecord {
  if (!isFields(entry) || !isFields(entry.price)) throw rejected('parsed has an entry without a price');
  const id = typeof entry.id === 'string' ? entry.id.toLowerCase().replace(/^0x/, '') : '';
  const symbol = COIN_OF_PYTH_FEED.get(id);
  if (symbol === undefined) throw rejected(`the coin of Pyth's feed ${id.slice(0, 64)} is unknown`);
  const { price, expo, publish_time } = entry.price;
  const exponent = typeof expo === 'number' && Number.isInteger(expo) && Math.abs(expo) <= 30 ? expo : Number.NaN;
  if (typeof price !== 'string' || !/^\d{1,40}$/.test(price) || Number.isNaN(exponent)) {
    throw rejected('price is not an integer as text, or expo is not an integer from -30 to 30');
  }
  const seconds = typeof publish_time === 'number' ? publish_time : Number.NaN;
  const timestampMs = instantField({ publish_time: seconds * 1000 }, 'publish_time');
  return coinPrice(
    symbol,
    PYTH,
    timestampMs,
    usdPrice(parseFigure(`${price.replace(/^0+(?=\d)/, '')}e${exponent}`), 'price'),
  );
}
