import { isAcceptingOrders, listedObject } from '../../replay/listed-market.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { clobMarketInfo, simplifiedMarket, venueMarket } from '../../venue/clob-market-writer.ts';
import { clobRefusal, type VenueQuestion, type VenueRefusal } from './venue-answer.ts';

/** On one page of the CLOB's lists. */
const PAGE_ITEMS = 100;
/** The venue's cursors are numbers in base64; this one, -1, marks the end. */
const LAST_CURSOR = 'LTE=';
const CURSOR_DIGITS = /^\d{1,9}$/;

/** The CLOB's lists: all markets, or those that take orders (sampling), as whole or simplified objects. */
export type MarketList = '' | 'simplified-' | 'sampling-' | 'sampling-simplified-';

/** A page of `/markets` or a similar list; `next_cursor` selects the next page. */
export function marketsPage({ replay, nowMs, query, catalog }: VenueQuestion, list: MarketList): object {
  const listed = catalog.select(replay, {}, nowMs);
  const wanted = list.startsWith('sampling-') ? listed.filter((market) => isAcceptingOrders(market, nowMs)) : listed;
  const objectOf = list.endsWith('simplified-') ? simplifiedMarket : venueMarket;
  return pageAt(query, wanted, ({ key }) => listedObject(replay, replay.marketByKey(key)!, nowMs, objectOf));
}

/** The page of a list that `next_cursor` selects, in the CLOB's form. */
export function pageAt<T>(query: URLSearchParams, list: readonly T[], objectOf: (item: T) => object): object {
  const from = offsetIn(query.get('next_cursor'));
  const data = list.slice(from, from + PAGE_ITEMS).map(objectOf);
  const next = from + data.length;
  const next_cursor = next < list.length ? Buffer.from(String(next)).toString('base64') : LAST_CURSOR;
  return { limit: PAGE_ITEMS, count: data.length, next_cursor, data };
}

/** `/markets/{condition_id}`. */
export function oneMarket(question: VenueQuestion, conditionId: string): object {
  const { replay, nowMs } = question;
  return listedObject(replay, marketOf(question, conditionId), nowMs, venueMarket);
}

/** `/clob-markets/{condition_id}`: the parameters of trading in a market. */
export function clobMarket(question: VenueQuestion, conditionId: string): object {
  const { replay, nowMs } = question;
  return listedObject(replay, marketOf(question, conditionId), nowMs, clobMarketInfo);
}

/** `/markets-by-token/{token_id}`: the market of an asset. */
export function marketByToken({ replay, nowMs }: VenueQuestion, assetId: string): object {
  const found = replay.findByAsset(assetId, nowMs);
  if (found === undefined) throw notFound();
  const { conditionId, clobTokenIds } = found.market;
  const [primary_token_id, secondary_token_id] = clobTokenIds;
  return { condition_id: conditionId, primary_token_id, secondary_token_id };
}

/** The listed market with this condition id. */
export function marketOf({ replay, nowMs }: VenueQuestion, conditionId: string): StoredMarket {
  const market = replay.archive.markets.findByConditionId(conditionId);
  if (market === undefined || !replay.hasListed(market, nowMs)) throw notFound();
  return replay.marketByKey(market.key)!;
}

function notFound(): VenueRefusal {
  return clobRefusal(404, 'market not found');
}

function offsetIn(cursor: string | null): number {
  if (cursor === null || cursor === '') return 0;
  const digits = Buffer.from(cursor, 'base64').toString();
  if (CURSOR_DIGITS.test(digits)) return Number(digits);
  throw clobRefusal(400, 'next item should be greater than or equal to 0');
}
