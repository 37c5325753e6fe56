import { parseTradeSide, TRANSACTION_HASH, type TradeDetails, tradeDetails } from '../domain/trade.ts';
import { type Fields, nonNegative, rejected, stated, wordField } from './fields.ts';

/** A format's names for the fields of a trade. */
type TradeNames = Readonly<Record<keyof TradeDetails, string>>;

export const OWN_TRADE_NAMES: TradeNames = {
  size: 'size',
  side: 'side',
  feeRateBps: 'feeRateBps',
  transactionHash: 'transactionHash',
};

export const VENUE_TRADE_NAMES: TradeNames = {
  size: 'size',
  side: 'side',
  feeRateBps: 'fee_rate_bps',
  transactionHash: 'transaction_hash',
};

/** The details of a trade besides its price; undefined when a record has none. Throws 'rejected-record'. */
export function tradeFields(fields: Fields, names: TradeNames): TradeDetails | undefined {
  const read = <T>(name: string, field: (fields: Fields, name: string) => T) =>
    isStated(fields, name) ? field(fields, name) : undefined;
  return tradeDetails({
    size: read(names.size, sizeField),
    side: read(names.side, () => wordField(fields, names.side, parseTradeSide, 'neither buy nor sell')),
    feeRateBps: read(names.feeRateBps, feeField),
    transactionHash: read(names.transactionHash, hashField),
  });
}

/** Some recorders write an empty string for an unknown value. */
function isStated(fields: Fields, name: string): boolean {
  return stated(fields, name) !== undefined && fields[name] !== '';
}

function sizeField(fields: Fields, name: string): number {
  const size = nonNegative(fields[name], name);
  if (size === 0) throw rejected(`${name} of a trade is 0`);
  return size;
}

function feeField(fields: Fields, name: string): number {
  const fee = nonNegative(fields[name], name);
  if (!Number.isSafeInteger(fee)) throw rejected(`${name} ${fee} is not a whole number`);
  return fee;
}

function hashField(fields: Fields, name: string): string {
  const value = fields[name];
  const hash = typeof value === 'string' ? value.toLowerCase() : '';
  if (!TRANSACTION_HASH.test(hash)) throw rejected(`${name} is not 0x and 64 hex digits`);
  return hash;
}
