import { toScaled } from '../domain/decimal.ts';
import { sameTrade, type TradeDetails } from '../domain/trade.ts';
import { DOUBLES, divisorOf, readScale, scaleOf } from './scale.ts';
import {
  arrivalAt,
  arrivalsIn,
  type EncodedSegment,
  type Received,
  readSegmentHeader,
  SEGMENT_RECORDS_MAX,
  type SegmentCodec,
  type SegmentSlice,
  writeSegmentHeader,
} from './segment-header.ts';
import { readTradeColumns, writeTradeColumns } from './trade-columns.ts';
import { damaged, VarintReader, VarintWriter } from './varint.ts';

/** Maximum number of records of a segment with trades: this many transaction hashes fill it. */
const DETAILED_RECORDS = 48;

/** A price at its position in one series: an outcome's mids or trades, or a coin's prices from one source. */
export interface PriceRecord extends Received {
  readonly price: number;
  /** Details of a trade; undefined for a price that is not a trade's. */
  readonly trade?: TradeDetails | undefined;
}

/**
 * A segment of prices. After the header (segment-header.ts): a scale, then for each price the signed difference to the previous
 * price in units of 10^-scale; or DOUBLES (scale.ts), then the prices as doubles. If any price is a trade's, the columns of
 * trade-columns.ts follow.
 */
export const priceCodec: SegmentCodec<PriceRecord> = {
  encode: encodePrices,
  decode: decodePrices,
  same: (a, b) => a.price === b.price && sameTrade(a.trade, b.trade),
};

/** The prices of slices, in order. */
export function* pricesIn(slices: Iterable<SegmentSlice>): Generator<PriceRecord> {
  for (const { payload, from, to } of slices) yield* decodePrices(payload).slice(from, to);
}

function encodePrices(records: readonly PriceRecord[], from: number, countMax: number): EncodedSegment {
  const detailed = records.slice(from, from + DETAILED_RECORDS).some(({ trade }) => trade !== undefined);
  const count = Math.min(records.length - from, countMax, detailed ? DETAILED_RECORDS : SEGMENT_RECORDS_MAX);
  const encoded = records.slice(from, from + count);
  const scale = scaleOf(encoded.map(({ price }) => price));
  const writer = new VarintWriter();
  writeSegmentHeader(writer, records, from, count);
  writer.unsigned(scale);
  let before = 0;
  for (const { price } of encoded) {
    if (scale === DOUBLES) {
      writer.double(price);
      continue;
    }
    const scaled = toScaled(price, scale);
    writer.signed(scaled - before);
    before = scaled;
  }
  const trades = encoded.map(({ trade }) => trade);
  if (trades.some((trade) => trade !== undefined)) writeTradeColumns(writer, trades);
  return { payload: writer.view().slice(), count };
}

function decodePrices(payload: Uint8Array, withoutArrivals = false): PriceRecord[] {
  const head = readSegmentHeader(payload);
  const reader = new VarintReader(payload, head.bodyOffset);
  const scale = readScale(reader);
  const { count, timestamps, ids } = head;
  const arrivals = withoutArrivals ? undefined : arrivalsIn({ payload, head });
  const records: PriceRecord[] = [];
  let scaled = 0;
  for (let i = 0; i < count; i += 1) {
    if (scale !== DOUBLES) scaled += reader.signed();
    if (Math.abs(scaled) > Number.MAX_SAFE_INTEGER) throw damaged();
    const price = scale === DOUBLES ? reader.double() : scaled / divisorOf(scale);
    records.push({ timestampMs: timestamps[i]!, id: ids[i]!, receivedMs: arrivalAt(arrivals, i), price });
  }
  if (reader.position === payload.length) return records;
  const trades = readTradeColumns(reader, count);
  reader.mustBeAtEnd();
  return records.map((record, i) => (trades[i] === undefined ? record : { ...record, trade: trades[i] }));
}
