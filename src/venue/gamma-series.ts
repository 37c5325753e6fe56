import { knownCoin } from '../domain/coin.ts';
import type { Timeframe } from '../domain/timeframe.ts';
import { standInId } from './stand-in-id.ts';

/** The venue's series of the markets of one coin and timeframe. */
export interface GammaSeries {
  readonly slug: string;
  /** The venue's id of the series, or a stand-in if that is not known. */
  readonly id: string;
}

const SERIES_SLUG = /^([a-z0-9]+)-up-or-down-/i;
const SLUG_ENDS: Readonly<Record<Timeframe, string>> = {
  '5m': '5m',
  '15m': '15m',
  '1h': 'hourly',
  '4h': '4h',
  '24h': 'daily',
};

/** Ids are the venue's (gamma-api.polymarket.com/series); they do not change. */
const IDS: Readonly<Record<Timeframe, Readonly<Record<string, string>>>> = {
  '5m': { btc: '10684', eth: '10683', sol: '10686', xrp: '10685', hype: '11327' },
  '15m': { btc: '10192', eth: '10191', sol: '10423', xrp: '10422' },
  '1h': { btc: '10114', eth: '10117', sol: '10122', xrp: '10123', bnb: '11291', doge: '11287', hype: '11289' },
  '4h': { btc: '10331', eth: '10332', sol: '10333', xrp: '10327' },
  '24h': { btc: '41', eth: '40', sol: '10086', xrp: '10100', bnb: '10421' },
};

export function seriesOf(coin: string, timeframe: Timeframe): GammaSeries {
  // The older series of Solana have its full name.
  const name = coin === 'sol' && (timeframe === '1h' || timeframe === '24h') ? 'solana' : coin;
  const slug = `${name}-up-or-down-${SLUG_ENDS[timeframe]}`;
  return { slug, id: IDS[timeframe][coin] ?? standInId(`series ${slug}`) };
}

/** The coin in a series' slug; undefined for a coin without known markets at the venue. */
export function coinOfSeries(slug: unknown): string | undefined {
  return typeof slug === 'string' ? knownCoin(SERIES_SLUG.exec(slug)?.[1] ?? '') : undefined;
}

/** A series inside an event, as Gamma writes it. */
export function seriesObject({ slug, id }: GammaSeries): object {
  return { id, ticker: slug, slug, seriesType: 'single', active: true, closed: false, archived: false };
}
