import type { Format, Responder } from './responder.ts';

/** The bytes after the list of a document as JSON: the ends of the list, of `data` and of the document. */
const JSON_END = Buffer.from(']}}');
const COMMA = Buffer.from(',');

/** `{data: {...fields, [name]: items}}` as `Responder.encode` writes it, in pieces of at most `itemsMax` items. */
export function* documentPieces<T>(
  responder: Responder,
  format: Format,
  { fields, name, items, resourceOf, itemsMax }: ListDocument<T>,
): Generator<Uint8Array> {
  const isJson = format === 'json';
  // In msgpack a list begins with its length, and a zero is one byte.
  const zeros = isJson ? [] : items.map(() => 0);
  const empty = responder.encode({ data: { ...fields, [name]: zeros } }, format);
  yield empty.subarray(0, empty.length - (isJson ? JSON_END.length : zeros.length));
  for (let from = 0; from < items.length; from += itemsMax) {
    const encoded = items
      .slice(from, from + itemsMax)
      .map((item) => responder.encode(resourceOf(item), format).slice());
    yield Buffer.concat(isJson ? encoded.flatMap((item, i) => (from + i === 0 ? [item] : [COMMA, item])) : encoded);
  }
  if (isJson) yield JSON_END;
}

/** A document whose `data` has one long list, as its last field. */
interface ListDocument<T> {
  readonly fields: object;
  readonly name: string;
  readonly items: readonly T[];
  readonly resourceOf: (item: T) => object;
  readonly itemsMax: number;
}
