import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { isFields } from '../record/fields.ts';

const text = (pattern: string, otherwise?: string) =>
  Type.String({ pattern: `^${pattern}$`, ...(otherwise !== undefined && { default: otherwise }) });
const Whole = text('\\d{1,78}');
/** At most 10^9 dollars or shares, in millionths: amounts are calculated in doubles. */
const Amount = text('[1-9]\\d{0,14}');
const ADDRESS = '0x[0-9a-fA-F]{40}';
const Word = text('0x[0-9a-fA-F]{64}');

/** The fields of a signed order in both versions (py-clob-client-v2, order_data_v1.py and order_data_v2.py), as clients send them. */
const SIGNED = {
  salt: Whole,
  maker: text(ADDRESS),
  signer: text(ADDRESS),
  tokenId: Whole,
  makerAmount: Amount,
  takerAmount: Amount,
  side: Type.Union([Type.Literal('BUY'), Type.Literal('SELL')]),
  /** Seconds; '0': none. It is signed in version 1 only. */
  expiration: text('\\d{1,12}', '0'),
  /** That of a key has 65 bytes; that of a contract is wrapped in more. */
  signature: text('0x(?:[0-9a-fA-F]{2}){65,2048}'),
};
const Version1 = Type.Object({
  ...SIGNED,
  taker: text(ADDRESS, `0x${'0'.repeat(40)}`),
  nonce: Whole,
  feeRateBps: Whole,
  signatureType: Type.Integer({ minimum: 0, maximum: 2 }),
  timestamp: Type.Optional(Type.Undefined()),
});
const Version2 = Type.Object({
  ...SIGNED,
  signatureType: Type.Integer({ minimum: 0, maximum: 3 }),
  /** Milliseconds. */
  timestamp: Whole,
  metadata: Word,
  builder: Word,
});
export type SignedOrder = Static<typeof Version1> | Static<typeof Version2>;

const VENUE_ORDER_TYPES = ['GTC', 'GTD', 'FOK', 'FAK'] as const;
export type VenueOrderType = (typeof VENUE_ORDER_TYPES)[number];

/** The rest of the body of `POST /order`, or of an element of `POST /orders`. */
const Sent = Type.Object({
  /** The key of its sender. */
  owner: Type.String(),
  orderType: Type.Union(VENUE_ORDER_TYPES.map((type) => Type.Literal(type))),
  postOnly: Type.Boolean({ default: false }),
});
export interface OrderBody extends Readonly<Static<typeof Sent>> {
  readonly order: SignedOrder;
}

/** A word of the contract has 256 bits. */
const WORD_BITS = 256n;

/** The value of a body; undefined if it is not JSON. A salt keeps all its digits, as a text. */
export function orderJson(json: string): unknown {
  const withSalt = (key: string, value: unknown, { source }: { source?: string } = {}) =>
    key === 'salt' && typeof value === 'number' ? source : value;
  try {
    return JSON.parse(json, withSalt);
  } catch {
    // Not JSON: the caller refuses it.
    return undefined;
  }
}

/** Undefined if a field is missing or malformed. Further fields are ignored. Version 2 has a time instead of a fee and a nonce. */
export function orderBody(value: unknown): OrderBody | undefined {
  if (!isFields(value) || !isFields(value.order)) return undefined;
  const sent = Value.Default(Sent, value);
  const schema = value.order.timestamp === undefined ? Version1 : Version2;
  const order = Value.Default(schema, value.order);
  if (!Value.Check(Sent, sent) || !Value.Check(schema, order)) return undefined;
  const numbers = [
    order.salt,
    order.tokenId,
    ...(order.timestamp === undefined ? [order.nonce, order.feeRateBps] : [order.timestamp]),
  ];
  if (numbers.some((number) => BigInt(number) >> WORD_BITS > 0n)) return undefined;
  const { owner, orderType, postOnly } = sent;
  return { order, owner, orderType, postOnly };
}
