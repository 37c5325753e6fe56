import {
  DETAIL_KINDS,
  DETAIL_NAMES,
  type DetailKind,
  type DetailName,
  isDetail,
  type MarketDetails,
} from '../domain/market-details.ts';
import { type Fields, isFields, rejected, stated } from './fields.ts';

const EXPECTED: Readonly<Record<DetailKind, string>> = {
  text: 'a text of 1 to 10,000 characters',
  flag: 'true or false',
  amount: 'a number of at least 0',
};

/** `details` of a market in bookreel's own format; undefined without any. Throws 'rejected-record'. */
export function ownDetails(market: Fields): MarketDetails | undefined {
  const fields = stated(market, 'details');
  if (fields === undefined) return undefined;
  if (!isFields(fields)) throw rejected('details is not an object');
  for (const name of DETAIL_NAMES) {
    const kind = DETAIL_KINDS[name];
    const value = stated(fields, name);
    if (value !== undefined && !isDetail(kind, value)) throw rejected(`details.${name} is not ${EXPECTED[kind]}`);
  }
  return detailsOf(DETAIL_NAMES.map((name) => [name, fields[name]]));
}

/**
 * Details in an object of the venue. The venue may change their types: a value that is not of the detail's kind counts as unknown. A
 * number may be a text. The first known value of a name counts. Undefined without any.
 */
export function detailsOf(values: readonly (readonly [DetailName, unknown])[]): MarketDetails | undefined {
  const found = new Map<DetailName, string | boolean | number>();
  for (const [name, given] of values) {
    const kind = DETAIL_KINDS[name];
    const value = kind === 'amount' && typeof given === 'string' && given !== '' ? Number(given) : given;
    if (!found.has(name) && isDetail(kind, value)) found.set(name, value);
  }
  return found.size === 0 ? undefined : Object.fromEntries(found);
}
