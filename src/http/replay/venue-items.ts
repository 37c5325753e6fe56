import { isFields, parsedJson } from '../../record/fields.ts';
import type { BookSide } from '../../replay/clob/venue-quotes.ts';
import { bodyOf } from '../request-body.ts';
import { clobRefusal, type VenueRefusal } from './venue-answer.ts';

/** One asset of a request for several. */
export interface RequestedAsset {
  readonly assetId: string;
  readonly side: BookSide | undefined;
}

/** The venue's maximum (docs.polymarket.com). */
const ITEMS_MAX = 500;
/** Ten times the usual size of a body with ITEMS_MAX items. */
const ITEMS_BYTES_MAX = 1024 * 1024;

/** Reads BUY or SELL, in upper or lower case. */
export function sideIn(text: string | null): BookSide {
  const side = text?.toUpperCase();
  if (side === 'BUY' || side === 'SELL') return side;
  throw clobRefusal(400, 'Invalid side');
}

/** The items of a request with a body: `[{"token_id": "…", "side": "BUY"}, …]`, or `{"token_ids": ["…", …]}`, which many programs send. */
export async function itemsInBody(request: Request): Promise<() => RequestedAsset[]> {
  const text = (await bodyOf(request, ITEMS_BYTES_MAX))?.toString();
  return () => {
    const body = text === undefined ? undefined : parsedJson(text);
    if (Array.isArray(body)) return checked(body.map(itemOf));
    if (!isFields(body) || !Array.isArray(body.token_ids) || body.token_ids.length === 0) throw invalidPayload();
    return checked(body.token_ids.map((token_id) => itemOf({ token_id })));
  };
}

/** The items of a request without one: `token_ids=A,B`, and `sides=BUY,SELL` in the same order. */
export function itemsInQuery(query: URLSearchParams): RequestedAsset[] {
  const listOf = (name: string) => query.getAll(name).flatMap((list) => list.split(','));
  const sides = listOf('sides');
  const assetIds = listOf('token_ids').filter((assetId) => assetId !== '');
  if (assetIds.length === 0) throw invalidPayload();
  const sideAt = (index: number) => (sides[index] === undefined ? undefined : sideIn(sides[index]));
  return checked(assetIds.map((assetId, index) => ({ assetId, side: sideAt(index) })));
}

function checked(items: RequestedAsset[]): RequestedAsset[] {
  if (items.length > ITEMS_MAX) throw clobRefusal(400, 'Payload exceeds the limit');
  return items;
}

function itemOf(item: unknown): RequestedAsset {
  if (!isFields(item) || typeof item.token_id !== 'string') throw invalidPayload();
  const { token_id: assetId, side } = item;
  if (side === undefined || side === null || side === '') return { assetId, side: undefined };
  if (typeof side !== 'string') throw invalidPayload();
  return { assetId, side: sideIn(side) };
}

function invalidPayload(): VenueRefusal {
  return clobRefusal(400, 'Invalid payload');
}
