import { type Fields, isFields } from '../record/fields.ts';

/** A signed order as clients send it. Addresses, hashes and the signature are as sent, amounts in millionths of a dollar or a share. */
export interface SignedOrder {
  readonly version: 1 | 2;
  readonly salt: bigint;
  readonly maker: string;
  readonly signer: string;
  readonly tokenId: string;
  readonly makerAmount: bigint;
  readonly takerAmount: bigint;
  readonly side: 'BUY' | 'SELL';
  /** Seconds; '0': none. It is signed in version 1 only. */
  readonly expiration: string;
  readonly signatureType: number;
  /** Version 1 only. */
  readonly taker: string;
  readonly nonce: string;
  readonly feeRateBps: string;
  /** Version 2 only: milliseconds, and two words of 32 bytes. */
  readonly timestamp: string;
  readonly metadata: string;
  readonly builder: string;
}

const VENUE_ORDER_TYPES = ['GTC', 'GTD', 'FOK', 'FAK'] as const;
export type VenueOrderType = (typeof VENUE_ORDER_TYPES)[number];

/** An element of `POST /orders`, or the body of `POST /order` (py-clob-client-v2, order_data_v1.py and order_data_v2.py). */
export interface OrderBody {
  readonly order: SignedOrder;
  /** The key of its sender. */
  readonly owner: string;
  readonly orderType: VenueOrderType;
  readonly postOnly: boolean;
}

/** A word of the contract has 256 bits. */
const WHOLE = /^\d{1,78}$/;
/** At most 10^9 dollars or shares, in millionths; amounts are calculated in doubles. */
const AMOUNT = /^[1-9]\d{0,14}$/;
const ADDRESS = /^0x[0-9a-f]{40}$/i;
const WORD = /^0x[0-9a-f]{64}$/i;
/** That of a key has 65 bytes; that of a contract is wrapped in more. */
const SIGNATURE = /^0x(?:[0-9a-f]{2}){65,2048}$/i;
const SECONDS = /^\d{1,12}$/;
const SIGNATURE_TYPE_MAX: Readonly<Record<1 | 2, number>> = { 1: 2, 2: 3 };
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/** The value of a body; undefined if it is not JSON. A salt keeps all its digits, as a text. */
export function orderJson(text: string): unknown {
  const withSalt = (key: string, value: unknown, { source }: { source?: string } = {}) =>
    key === 'salt' && typeof value === 'number' ? source : value;
  try {
    return JSON.parse(text, withSalt);
  } catch {
    // Not JSON: the caller refuses it.
    return undefined;
  }
}

/** Undefined if a field is missing or malformed. Further fields are ignored. */
export function orderBody(value: unknown): OrderBody | undefined {
  if (!isFields(value) || !isFields(value.order)) return undefined;
  const { owner, postOnly } = value;
  const order = signedOrder(value.order);
  const orderType = VENUE_ORDER_TYPES.find((type) => type === value.orderType);
  if (order === undefined || orderType === undefined || typeof owner !== 'string') return undefined;
  if (postOnly !== undefined && typeof postOnly !== 'boolean') return undefined;
  return { order, owner, orderType, postOnly: postOnly ?? false };
}

/** Version 2 has a time instead of a fee and a nonce. */
function signedOrder(fields: Fields): SignedOrder | undefined {
  const version = fields.timestamp === undefined ? 1 : 2;
  const textIn = (name: string, pattern: RegExp, otherwise?: string) => {
    const text = fields[name] ?? otherwise;
    return typeof text === 'string' && pattern.test(text) ? text : undefined;
  };
  /** Fields of the other version are not read. */
  const textOf = (own: 1 | 2, name: string, pattern: RegExp, otherwise?: string) =>
    own === version ? textIn(name, pattern, otherwise) : '';
  const { side, signatureType } = fields;
  const texts = {
    salt: textIn('salt', WHOLE),
    maker: textIn('maker', ADDRESS),
    signer: textIn('signer', ADDRESS),
    tokenId: textIn('tokenId', WHOLE),
    makerAmount: textIn('makerAmount', AMOUNT),
    takerAmount: textIn('takerAmount', AMOUNT),
    expiration: textIn('expiration', SECONDS, '0'),
    signature: textIn('signature', SIGNATURE),
    taker: textOf(1, 'taker', ADDRESS, ZERO_ADDRESS),
    nonce: textOf(1, 'nonce', WHOLE),
    feeRateBps: textOf(1, 'feeRateBps', WHOLE),
    timestamp: textOf(2, 'timestamp', WHOLE),
    metadata: textOf(2, 'metadata', WORD),
    builder: textOf(2, 'builder', WORD),
  };
  if (side !== 'BUY' && side !== 'SELL') return undefined;
  if (typeof signatureType !== 'number' || !Number.isInteger(signatureType)) return undefined;
  if (signatureType < 0 || signatureType > SIGNATURE_TYPE_MAX[version] || !isComplete(texts)) return undefined;
  const { salt, makerAmount, takerAmount, signature: _, ...others } = texts;
  const amounts = { salt: BigInt(salt), makerAmount: BigInt(makerAmount), takerAmount: BigInt(takerAmount) };
  return { version, side, signatureType, ...amounts, ...others };
}

function isComplete<T extends object>(texts: T): texts is { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.values(texts).every((text) => text !== undefined);
}
