import { DECIMAL_PLACES_MAX, toScaled } from '../domain/decimal.ts';
import type { Position } from '../domain/page.ts';
import { type Quote, sameQuote } from '../domain/quote.ts';
import { columnScale, DOUBLES, divisorOf, placesAtLeast, readScale } from './scale.ts';
import {
  type EncodedSegment,
  readSegmentHeader,
  SEGMENT_RECORDS_MAX,
  type SegmentCodec,
  writeSegmentHeader,
} from './segment-header.ts';
import {
  checkedSize,
  DOUBLE,
  LEVEL,
  ListedChanges,
  levelCode,
  NOTHING,
  Operations,
  REMOVE,
  SpelledChange,
  sizeOfLevel,
  wholeUnit,
} from './size-change.ts';
import { damaged, VarintReader, VarintWriter } from './varint.ts';

/** A top of book at its position in the series of one market and outcome. */
export interface QuoteRecord extends Position {
  readonly quote: Quote;
}

/**
 * A segment of quotes. After the head (segment-header.ts): price scale, size scale and table as in a segment of books, then the
 * edits that make every quote out of the one before. Before the first one no side is there, and both prices are 0.
 * An edit begins with a byte:
 *
 *   bit 0      the side: 0 bid, 1 ask
 *   bit 1      another edit of the same quote follows
 *   bits 2-7   what becomes of the side, see size-change.ts
 *
 * The step to a level's price leads from the last price that the side had, and is 0 where none follows. Nothing follows
 * the last quote.
 */
const ASK = 1;
const MORE = 2;

export const quoteCodec: SegmentCodec<QuoteRecord> = {
  encode: encodeQuotes,
  decode: decodeQuotes,
  same: (a, b) => sameQuote(a.quote, b.quote),
};

/** In units of its columns; the size is a double where they are DOUBLES. */
interface Side {
  isThere: boolean;
  price: number;
  size: number;
}

interface Scales {
  readonly price: number;
  readonly size: number;
}

/** A side as a quote has it, and what it was before. */
interface SideEdit {
  readonly side: 0 | 1;
  readonly before: Readonly<Side>;
  readonly after: Readonly<Side>;
}

function encodeQuotes(records: readonly QuoteRecord[], from: number, countMax: number): EncodedSegment {
  const count = Math.min(records.length - from, countMax, SEGMENT_RECORDS_MAX);
  const scales = scalesOf(records, from, count);
  const quotes = editsOf(records, from, count, scales);
  const listed = listedOf(quotes, scales);
  const spelled = new SpelledChange();
  const writer = new VarintWriter();
  writeSegmentHeader(writer, records, from, count);
  writer.unsigned(scales.price);
  writer.unsigned(scales.size);
  listed.write(writer);
  for (const edits of quotes) {
    if (edits.length === 0) writer.byte(4 * NOTHING);
    for (const [i, edit] of edits.entries()) {
      writeEdit(writer, edit, i < edits.length - 1 ? edit.side + MORE : edit.side, listed, spelled, scales);
    }
  }
  return { payload: writer.view().slice(), count };
}

function editsOf(records: readonly QuoteRecord[], from: number, count: number, scales: Scales): SideEdit[][] {
  const sides: [Side, Side] = [
    { isThere: false, price: 0, size: 0 },
    { isThere: false, price: 0, size: 0 },
  ];
  const note = (edits: SideEdit[], side: 0 | 1, price: number | undefined, size: number | undefined) => {
    const before = sides[side];
    const isThere = price !== undefined && size !== undefined;
    const after: Side = {
      isThere,
      price: isThere ? toScaled(price, scales.price) : before.price,
      size: isThere ? (scales.size === DOUBLES ? size : toScaled(size, scales.size)) : before.size,
    };
    if (isThere === before.isThere && after.price === before.price && after.size === before.size) return;
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

/** Whether only the size of a side is another one. */
function isResized({ before, after }: SideEdit): boolean {
  return before.isThere && after.isThere && before.price === after.price;
}

function listedOf(quotes: readonly (readonly SideEdit[])[], scales: Scales): ListedChanges {
  if (scales.size === DOUBLES) return ListedChanges.none();
  const changes: number[] = [];
  for (const edits of quotes) {
    for (const edit of edits) if (isResized(edit)) changes.push(edit.after.size - edit.before.size);
  }
  return ListedChanges.of(changes, scales.size);
}

/** `low`: the lower two bits of the edit's byte. */
function writeEdit(
  writer: VarintWriter,
  edit: SideEdit,
  low: number,
  listed: ListedChanges,
  spelled: SpelledChange,
  scales: Scales,
): void {
  const { before, after } = edit;
  if (!after.isThere) {
    writer.byte(4 * REMOVE + low);
  } else if (!isResized(edit)) {
    const step = after.price - before.price;
    const code = scales.size === DOUBLES ? 0 : levelCode(after.size, wholeUnit(scales.size));
    writer.byte(4 * LEVEL + low);
    writer.unsigned(step === 0 ? code : code + 1);
    if (step !== 0) writer.signed(step);
    if (scales.size === DOUBLES) writer.double(after.size);
  } else if (scales.size === DOUBLES) {
    writer.byte(4 * DOUBLE + low);
    writer.double(after.size);
  } else {
    const change = after.size - before.size;
    const op = listed.opOf(change);
    if (op === undefined) spelled.spell(change, wholeUnit(scales.size));
    writer.byte(4 * (op ?? spelled.op) + low);
    if (op === undefined) writer.unsigned(spelled.rest);
  }
}

function scalesOf(records: readonly QuoteRecord[], from: number, count: number): Scales {
  let price = 0;
  let sizePlaces = 0;
  let sizeLargest = 0;
  for (let i = from; i < from + count; i += 1) {
    const { bidPrice = 0, bidSize = 0, askPrice = 0, askSize = 0 } = records[i]!.quote;
    price = placesAtLeast(placesAtLeast(price, bidPrice), askPrice);
    sizePlaces = placesAtLeast(placesAtLeast(sizePlaces, bidSize), askSize);
    sizeLargest = Math.max(sizeLargest, bidSize, askSize);
  }
  return { price, size: columnScale(sizePlaces, sizeLargest) };
}

function decodeQuotes(payload: Uint8Array): QuoteRecord[] {
  const head = readSegmentHeader(payload);
  const input = new VarintReader(payload, head.bodyOffset);
  const scales = { price: readScale(input), size: readScale(input) };
  if (scales.price > DECIMAL_PLACES_MAX) throw damaged();
  const operations = new Operations();
  operations.read(input, scales.size);
  const bid: Side = { isThere: false, price: 0, size: 0 };
  const ask: Side = { isThere: false, price: 0, size: 0 };
  const [priceUnit, sizeUnit] = [divisorOf(scales.price), divisorOf(scales.size)];
  const records: QuoteRecord[] = [];
  for (let i = 0; i < head.count; i += 1) {
    for (let more = true; more; ) {
      const byte = input.byte();
      readEdit(input, (byte & ASK) === 0 ? bid : ask, byte >> 2, scales, operations);
      more = (byte & MORE) !== 0;
    }
    const quote: Quote = {
      bidPrice: bid.isThere ? bid.price / priceUnit : undefined,
      bidSize: bid.isThere ? bid.size / sizeUnit : undefined,
      askPrice: ask.isThere ? ask.price / priceUnit : undefined,
      askSize: ask.isThere ? ask.size / sizeUnit : undefined,
    };
    records.push({ timestampMs: head.timestamps[i]!, id: head.ids[i]!, quote });
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
    side.size = checkedSize(scales.size === DOUBLES ? input.double() : sizeOfLevel(code, wholeUnit(scales.size)));
    side.isThere = true;
    return;
  }
  if (!side.isThere) throw damaged();
  if (op === REMOVE) {
    side.isThere = false;
  } else if (op < REMOVE) {
    side.size = checkedSize(side.size + operations.change(input, op));
  } else {
    if (op !== DOUBLE || scales.size !== DOUBLES) throw damaged();
    side.size = checkedSize(input.double());
  }
}
