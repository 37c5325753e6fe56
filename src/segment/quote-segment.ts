import { DECIMAL_PLACES_MAX, toScaled } from '../domain/decimal.ts';
import { type Quote, sameQuote } from '../domain/quote.ts';
import { DOUBLES, divisorOf, readScale, scaleOf } from './scale.ts';
import {
  arrivalAt,
  arrivalsIn,
  type EncodedSegment,
  type Received,
  readSegmentHeader,
  SEGMENT_RECORDS_MAX,
  type SegmentCodec,
  writeSegmentHeader,
} from './segment-header.ts';
import {
  ChangeTable,
  checkedSize,
  DOUBLE,
  InlineChange,
  LEVEL,
  levelCode,
  NOTHING,
  Operations,
  REMOVE,
  sizeOfLevel,
} from './size-change.ts';
import { damaged, VarintReader, VarintWriter } from './varint.ts';

/** A top of book at its position in the series of one market and outcome. */
export interface QuoteRecord extends Received {
  readonly quote: Quote;
}

/**
 * A segment of quotes. After the header (segment-header.ts): price scale, size scale and table as in a segment of books, then
 * the edits from each quote to the next. Before the first quote both sides are absent and their prices are 0. An edit begins
 * with a byte:
 *
 *   bit 0      the side: 0 bid, 1 ask
 *   bit 1      another edit of the same quote follows
 *   bits 2-7   the operation on the side, see size-change.ts
 *
 * A side of size 0 has a price whose size is unknown: no size of an order is 0. The step to a level's price is relative to the last price of the side, and 0 when it is not written. The last quote ends the
 * segment.
 */
const ASK = 1;
const MORE = 2;
/** The stored size of a side whose size is unknown. */
const UNKNOWN = 0;

export const quoteCodec: SegmentCodec<QuoteRecord> = {
  encode: encodeQuotes,
  decode: decodeQuotes,
  same: (a, b) => sameQuote(a.quote, b.quote),
};

/** Price and size in units of their scales; with DOUBLES the size itself. */
interface Side {
  isPresent: boolean;
  price: number;
  size: number;
}

interface Scales {
  readonly price: number;
  readonly size: number;
}

/** A side before and after a quote. */
interface SideEdit {
  readonly side: 0 | 1;
  readonly before: Readonly<Side>;
  readonly after: Readonly<Side>;
}

function encodeQuotes(records: readonly QuoteRecord[], from: number, countMax: number): EncodedSegment {
  const count = Math.min(records.length - from, countMax, SEGMENT_RECORDS_MAX);
  const scales = scalesOf(records, from, count);
  const quotes = editsOf(records, from, count, scales);
  const table = tableOf(quotes, scales);
  const inline = new InlineChange();
  const writer = new VarintWriter();
  writeSegmentHeader(writer, records, from, count);
  writer.unsigned(scales.price);
  writer.unsigned(scales.size);
  table.write(writer);
  for (const edits of quotes) {
    if (edits.length === 0) writer.byte(4 * NOTHING);
    for (const [i, edit] of edits.entries()) {
      writeEdit(writer, edit, i < edits.length - 1 ? edit.side + MORE : edit.side, table, inline, scales);
    }
  }
  return { payload: writer.view().slice(), count };
}

function editsOf(records: readonly QuoteRecord[], from: number, count: number, scales: Scales): SideEdit[][] {
  const sides: [Side, Side] = [
    { isPresent: false, price: 0, size: 0 },
    { isPresent: false, price: 0, size: 0 },
  ];
  const note = (edits: SideEdit[], side: 0 | 1, price: number | undefined, size = UNKNOWN) => {
    const before = sides[side];
    const isPresent = price !== undefined;
    const after: Side = {
      isPresent,
      price: isPresent ? toScaled(price, scales.price) : before.price,
      size: isPresent ? (scales.size === DOUBLES ? size : toScaled(size, scales.size)) : before.size,
    };
    if (isPresent === before.isPresent && after.price === before.price && after.size === before.size) return;
    edits.push({ side, before, after });
    sides[side] = after;
  };
  return records.slice(from, from + count).map(({ quote }) => {
    const edits: SideEdit[] = [];
    note(edits, 0, quote.bidPrice, quote.bidSize);
    note(edits, 1, quote.askPrice, quote.askSize);
    return edits;
  });
}

/** Returns true if only the size changed. */
function isResized({ before, after }: SideEdit): boolean {
  return before.isPresent && after.isPresent && before.price === after.price;
}

function tableOf(quotes: readonly (readonly SideEdit[])[], scales: Scales): ChangeTable {
  if (scales.size === DOUBLES) return ChangeTable.none();
  const changes: number[] = [];
  for (const edits of quotes) {
    for (const edit of edits) if (isResized(edit)) changes.push(edit.after.size - edit.before.size);
  }
  return ChangeTable.of(changes, scales.size);
}

/** `low`: the lower two bits of the edit's byte. */
function writeEdit(
  writer: VarintWriter,
  edit: SideEdit,
  low: number,
  table: ChangeTable,
  inline: InlineChange,
  scales: Scales,
): void {
  const { before, after } = edit;
  if (!after.isPresent) {
    writer.byte(4 * REMOVE + low);
  } else if (!isResized(edit)) {
    const step = after.price - before.price;
    const code = scales.size === DOUBLES ? 0 : levelCode(after.size, divisorOf(scales.size));
    writer.byte(4 * LEVEL + low);
    writer.unsigned(step === 0 ? code : code + 1);
    if (step !== 0) writer.signed(step);
    if (scales.size === DOUBLES) writer.double(after.size);
  } else if (scales.size === DOUBLES) {
    writer.byte(4 * DOUBLE + low);
    writer.double(after.size);
  } else {
    const change = after.size - before.size;
    const op = table.opOf(change);
    if (op === undefined) inline.set(change, divisorOf(scales.size));
    writer.byte(4 * (op ?? inline.op) + low);
    if (op === undefined) writer.unsigned(inline.rest);
  }
}

function scalesOf(records: readonly QuoteRecord[], from: number, count: number): Scales {
  const quotes = records.slice(from, from + count).map(({ quote }) => quote);
  return {
    price: scaleOf(quotes.flatMap(({ bidPrice = 0, askPrice = 0 }) => [bidPrice, askPrice])),
    size: scaleOf(quotes.flatMap(({ bidSize = 0, askSize = 0 }) => [bidSize, askSize])),
  };
}

function decodeQuotes(payload: Uint8Array, withoutArrivals = false): QuoteRecord[] {
  const head = readSegmentHeader(payload);
  const input = new VarintReader(payload, head.bodyOffset);
  const scales = { price: readScale(input), size: readScale(input) };
  if (scales.price > DECIMAL_PLACES_MAX) throw damaged();
  const operations = new Operations();
  operations.read(input, scales.size);
  const bid: Side = { isPresent: false, price: 0, size: 0 };
  const ask: Side = { isPresent: false, price: 0, size: 0 };
  const [priceUnit, sizeUnit] = [divisorOf(scales.price), divisorOf(scales.size)];
  const { count, timestamps, ids } = head;
  const arrivals = withoutArrivals ? undefined : arrivalsIn({ payload, head });
  const records: QuoteRecord[] = [];
  for (let i = 0; i < count; i += 1) {
    for (let more = true; more; ) {
      const byte = input.byte();
      readEdit(input, (byte & ASK) === 0 ? bid : ask, byte >> 2, scales, operations);
      more = (byte & MORE) !== 0;
    }
    const quote: Quote = {
      bidPrice: bid.isPresent ? bid.price / priceUnit : undefined,
      bidSize: bid.isPresent && bid.size !== UNKNOWN ? bid.size / sizeUnit : undefined,
      askPrice: ask.isPresent ? ask.price / priceUnit : undefined,
      askSize: ask.isPresent && ask.size !== UNKNOWN ? ask.size / sizeUnit : undefined,
    };
    records.push({ timestampMs: timestamps[i]!, id: ids[i]!, receivedMs: arrivalAt(arrivals, i), quote });
  }
  input.mustBeAtEnd();
  return records;
}

function readEdit(input: VarintReader, side: Side, op: number, scales: Scales, operations: Operations): void {
  if (op === NOTHING) return;
  if (op === LEVEL) {
    const code = input.unsigned();
    if (code % 2 === 1) side.price += input.signed();
    if (side.price < 0 || side.price > divisorOf(scales.price)) throw damaged();
    side.size = checkedSize(scales.size === DOUBLES ? input.double() : sizeOfLevel(code, divisorOf(scales.size)));
    side.isPresent = true;
    return;
  }
  if (!side.isPresent) throw damaged();
  if (op === REMOVE) {
    side.isPresent = false;
  } else if (op < REMOVE) {
    side.size = checkedSize(side.size + operations.change(input, op));
  } else {
    if (op !== DOUBLE || scales.size !== DOUBLES) throw damaged();
    side.size = checkedSize(input.double());
  }
}
