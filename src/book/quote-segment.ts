import { toScaled } from '../domain/decimal.ts';
import type { Place } from '../domain/page.ts';
import { type Quote, sameQuote } from '../domain/quote.ts';
import { type EncodedRun, RUN_RECORDS_MAX, type RunCodec, readRunHead, writeRunHead } from './run.ts';
import { columnScale, divisorOf, placesAtLeast, readScale, readScaled, writeScaled } from './scale.ts';
import { VarintReader, VarintWriter } from './varint.ts';

/** A top of book at its place in the series of one market and outcome. */
export interface QuoteRecord extends Place {
  readonly quote: Quote;
}

/**
 * A segment of quotes. Behind the head (run.ts): price scale and size scale as in a segment of books, then per quote
 * a byte of flags (bit 0: has a bid, bit 1: has an ask, bit 2: the bid is that of the quote before, bit 3: likewise the
 * ask), and per side that is there and not repeated: price as a signed difference to the last price of that side, size.
 */
const HAS_BID = 1;
const HAS_ASK = 2;
const SAME_BID = 4;
const SAME_ASK = 8;

export const quoteCodec: RunCodec<QuoteRecord> = {
  encode: encodeQuotes,
  decode: decodeQuotes,
  same: (a, b) => sameQuote(a.quote, b.quote),
};

interface SideState {
  price: number;
  size: number | undefined;
}

function encodeQuotes(records: readonly QuoteRecord[], from: number, countMax: number): EncodedRun {
  const count = Math.min(records.length - from, countMax, RUN_RECORDS_MAX);
  const { priceScale, sizeScale } = scalesOf(records, from, count);
  const writer = new VarintWriter();
  writeRunHead(writer, records, from, count);
  writer.unsigned(priceScale);
  writer.unsigned(sizeScale);
  const bid: SideState = { price: 0, size: undefined };
  const ask: SideState = { price: 0, size: undefined };
  for (let i = from; i < from + count; i += 1) {
    const { bidPrice, bidSize, askPrice, askSize } = records[i]!.quote;
    const sameBid = isSame(bid, bidPrice, bidSize, priceScale);
    const sameAsk = isSame(ask, askPrice, askSize, priceScale);
    writer.unsigned(
      (bidPrice === undefined ? 0 : HAS_BID) |
        (askPrice === undefined ? 0 : HAS_ASK) |
        (sameBid ? SAME_BID : 0) |
        (sameAsk ? SAME_ASK : 0),
    );
    if (!sameBid) writeSide(writer, bid, bidPrice, bidSize, priceScale, sizeScale);
    if (!sameAsk) writeSide(writer, ask, askPrice, askSize, priceScale, sizeScale);
  }
  return { payload: writer.view().slice(), count };
}

function isSame(state: SideState, price: number | undefined, size: number | undefined, priceScale: number): boolean {
  return price !== undefined && size === state.size && toScaled(price, priceScale) === state.price;
}

function writeSide(
  writer: VarintWriter,
  state: SideState,
  price: number | undefined,
  size: number | undefined,
  priceScale: number,
  sizeScale: number,
): void {
  if (price === undefined || size === undefined) return;
  const scaled = toScaled(price, priceScale);
  writer.signed(scaled - state.price);
  writeScaled(writer, size, sizeScale);
  state.price = scaled;
  state.size = size;
}

function scalesOf(records: readonly QuoteRecord[], from: number, count: number) {
  let priceScale = 0;
  let sizePlaces = 0;
  let sizeLargest = 0;
  for (let i = from; i < from + count; i += 1) {
    const { bidPrice = 0, bidSize = 0, askPrice = 0, askSize = 0 } = records[i]!.quote;
    priceScale = placesAtLeast(placesAtLeast(priceScale, bidPrice), askPrice);
    sizePlaces = placesAtLeast(placesAtLeast(sizePlaces, bidSize), askSize);
    sizeLargest = Math.max(sizeLargest, bidSize, askSize);
  }
  return { priceScale, sizeScale: columnScale(sizePlaces, sizeLargest) };
}

function decodeQuotes(payload: Uint8Array): QuoteRecord[] {
  const head = readRunHead(payload);
  const reader = new VarintReader(payload, head.bodyOffset);
  const priceScale = readScale(reader);
  const sizeScale = readScale(reader);
  const bid: SideState = { price: 0, size: undefined };
  const ask: SideState = { price: 0, size: undefined };
  const records: QuoteRecord[] = [];
  for (let i = 0; i < head.count; i += 1) {
    const flags = reader.unsigned();
    if ((flags & (HAS_BID | SAME_BID)) === HAS_BID) readSide(reader, bid, sizeScale);
    if ((flags & (HAS_ASK | SAME_ASK)) === HAS_ASK) readSide(reader, ask, sizeScale);
    const quote: Quote = {
      bidPrice: (flags & HAS_BID) === 0 ? undefined : bid.price / divisorOf(priceScale),
      bidSize: (flags & HAS_BID) === 0 ? undefined : bid.size,
      askPrice: (flags & HAS_ASK) === 0 ? undefined : ask.price / divisorOf(priceScale),
      askSize: (flags & HAS_ASK) === 0 ? undefined : ask.size,
    };
    records.push({ timestampMs: head.timestamps[i]!, id: head.ids[i]!, quote });
  }
  return records;
}

function readSide(reader: VarintReader, state: SideState, sizeScale: number): void {
  state.price += reader.signed();
  state.size = readScaled(reader, sizeScale) / divisorOf(sizeScale);
}
