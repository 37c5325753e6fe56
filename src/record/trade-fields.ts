import { parseTradeSide, TRANSACTION_HASH, type TradeDetails, tradeDetails } from '../domain/trade.ts';
import { type Fields, nonNegative, rejected, stated, wordField } from './fields.ts';

/** How a form calls what is known of a trade. */
interface TradeNames {
  readonly size: string;
  readonly side: string;
  readonly feeRateBps: string;
  readonly transactionHash: string;
}

/** The own format's names. */
export const OWN_TRADE_NAMES: TradeNames = {
  size: 'size',
  side: 'side',
  feeRateBps: 'feeRateBps',
  transactionHash: 'transactionHash',
};

/** The venue's. */
export const VENUE_TRADE_NAMES: TradeNames = {
  size: 'size',
  side: 'side',
  feeRateBps: 'fee_rate_bps',
  transactionHash: 'transaction_hash',
};

/** What a record says of a trade beside its price; undefined when it says nothing. Throws 'rejected-record'. */
export function tradeFields(fields: Fields, names: TradeNames): TradeDetails | undefined {
  const read = <T>(name: string, parse: () => T) => (isStated(fields, name) ? parse() : undefined);
  const { size, side, feeRateBps, transactionHash } = names;
  return tradeDetails({
    size: read(size, () => sizeField(fields, size)),
    side: read(side, () => wordField(fields, side, parseTradeSide, 'neither buy nor sell')),
    feeRateBps: read(feeRateBps, () => feeField(fields, feeRateBps)),
    transactionHash: read(transactionHash, () => hashField(fields, transactionHash)),
  });
}

/** Recorders write what they do not know as an empty text, too. */
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
