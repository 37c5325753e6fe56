import { toScaled } from '../domain/decimal.ts';
import { type TradeDetails, tradeDetails } from '../domain/trade.ts';
import { DOUBLES, divisorOf, readScale, readScaled, scaleOf } from './scale.ts';
import { checkedSize } from './size-change.ts';
import { damaged, type VarintReader, type VarintWriter } from './varint.ts';

/**
 * Details of trades, after the prices of a segment in which any trade has details:
 *
 *   a byte each   bit 0: a size, 1: a side, 2: the side is sell, 3: a fee, 4: a transaction
 *   size scale    unsigned (scale.ts)
 *   sizes         of trades that have one: unsigned, in units of 10^-scale; or doubles
 *   fees          of trades that have one: unsigned, hundredths of a percent
 *   transactions  of trades that have one: 32 bytes
 */
const SIZE = 1;
const SIDE = 2;
const SELL = 4;
const FEE = 8;
const TRANSACTION = 16;
const ALL = SIZE | SIDE | SELL | FEE | TRANSACTION;
const HASH_BYTES = 32;

export function writeTradeColumns(writer: VarintWriter, trades: readonly (TradeDetails | undefined)[]): void {
  for (const trade of trades) writer.byte(flagsOf(trade));
  const sizes = trades.flatMap((trade) => trade?.size ?? []);
  const scale = scaleOf(sizes);
  writer.unsigned(scale);
  for (const size of sizes) {
    if (scale === DOUBLES) writer.double(size);
    else writer.unsigned(toScaled(size, scale));
  }
  for (const trade of trades) if (trade?.feeRateBps !== undefined) writer.unsigned(trade.feeRateBps);
  for (const trade of trades) {
    if (trade?.transactionHash !== undefined) writer.append(Buffer.from(trade.transactionHash.slice(2), 'hex'));
  }
}

function flagsOf(trade: TradeDetails | undefined): number {
  if (trade === undefined) return 0;
  return (
    (trade.size === undefined ? 0 : SIZE) |
    (trade.side === undefined ? 0 : SIDE) |
    (trade.side === 'sell' ? SELL : 0) |
    (trade.feeRateBps === undefined ? 0 : FEE) |
    (trade.transactionHash === undefined ? 0 : TRANSACTION)
  );
}

/** Reads the columns of `count` trades. Throws DomainError 'unavailable' when the bytes are damaged. */
export function readTradeColumns(reader: VarintReader, count: number): (TradeDetails | undefined)[] {
  const flags = Array.from({ length: count }, () => reader.byte());
  const scale = readScale(reader);
  const sizes = flags.map((flag) => {
    if (flag > ALL || (flag & (SIDE | SELL)) === SELL) throw damaged();
    return (flag & SIZE) === 0 ? undefined : checkedSize(readScaled(reader, scale)) / divisorOf(scale);
  });
  const fees = flags.map((flag) => ((flag & FEE) === 0 ? undefined : reader.unsigned()));
  return flags.map((flag, i) =>
    tradeDetails({
      size: sizes[i],
      side: (flag & SIDE) === 0 ? undefined : (flag & SELL) === 0 ? 'buy' : 'sell',
      feeRateBps: fees[i],
      transactionHash: (flag & TRANSACTION) === 0 ? undefined : readHash(reader),
    }),
  );
}

function readHash(reader: VarintReader): string {
  const bytes = reader.bytes.subarray(reader.position, reader.position + HASH_BYTES);
  if (bytes.length < HASH_BYTES) throw damaged();
  reader.position += HASH_BYTES;
  return `0x${Buffer.from(bytes).toString('hex')}`;
}
