import type { BookRecord } from '../../src/book/book-segment.ts';
import type { PriceRecord } from '../../src/book/price-segment.ts';
import type { QuoteRecord } from '../../src/book/quote-segment.ts';
import { VarintWriter } from '../../src/book/varint.ts';
import type { Place } from '../../src/domain/page.ts';

/** Payloads as builds that wrote version 1 made them, of all `records` at once; scales are given, 31 means doubles. */
const DOUBLES = 31;
type Level = readonly [price: number, size: number];

const unitsOf = (value: number, scale: number) => Math.round(value * Number(`1e${scale}`));

function head(records: readonly Place[]): VarintWriter {
  const writer = new VarintWriter();
  writer.unsigned(1);
  writer.unsigned(records.length);
  for (const [i, { timestampMs }] of records.entries()) {
    writer.unsigned(timestampMs - (records[i - 1]?.timestampMs ?? 0));
  }
  for (const [i, { id }] of records.entries()) {
    if (i === 0) writer.unsigned(id);
    else writer.signed(id - records[i - 1]!.id);
  }
  return writer;
}

function size(writer: VarintWriter, value: number, scale: number): void {
  if (scale === DOUBLES) writer.double(value);
  else writer.unsigned(unitsOf(value, scale));
}

export function encodeBooks1(records: readonly BookRecord[], priceScale: number, sizeScale: number): Uint8Array {
  const writer = head(records);
  writer.unsigned(priceScale);
  writer.unsigned(sizeScale);
  for (const [i, { book }] of records.entries()) {
    for (const [away, prices, sizes] of [
      [-1, 'bidPrices', 'bidSizes'],
      [1, 'askPrices', 'askSizes'],
    ] as const) {
      const levels = book[prices].map((price, k): Level => [unitsOf(price, priceScale), book[sizes][k]!]);
      const outside = away === 1 ? -1 : 10 ** priceScale + 1;
      if (i === 0) {
        writer.unsigned(levels.length);
        for (const [k, [price, held]] of levels.entries()) {
          writer.unsigned((price - (levels[k - 1]?.[0] ?? outside)) * away);
          size(writer, held, sizeScale);
        }
        continue;
      }
      const before = records[i - 1]!.book;
      const old = before[prices].map((price, k): Level => [unitsOf(price, priceScale), before[sizes][k]!]);
      const edits = editsOf(old, levels, away);
      writer.unsigned(edits.length);
      for (const { code, at } of edits) {
        writer.unsigned(code);
        if (code % 4 === 1) continue;
        const [price, held] = levels[at]!;
        if (code % 4 === 2) writer.unsigned((price - (levels[at - 1]?.[0] ?? outside)) * away);
        size(writer, held, sizeScale);
      }
    }
  }
  return writer.view().slice();
}

/** Merges two sides: what is in both is skipped or set, what is in one is removed or inserted. */
function editsOf(old: readonly Level[], levels: readonly Level[], away: -1 | 1): { code: number; at: number }[] {
  const edits: { code: number; at: number }[] = [];
  let [o, n, skipped] = [0, 0, 0];
  while (o < old.length || n < levels.length) {
    const [a, b] = [old[o], levels[n]];
    const order = b === undefined ? -1 : a === undefined ? 1 : (a[0] - b[0]) * away;
    if (order === 0 && a![1] === b![1]) {
      skipped += 1;
    } else {
      edits.push({ code: 4 * skipped + (order === 0 ? 0 : order < 0 ? 1 : 2), at: n });
      skipped = 0;
    }
    if (order <= 0) o += 1;
    if (order >= 0) n += 1;
  }
  return edits;
}

export function encodeQuotes1(records: readonly QuoteRecord[], priceScale: number, sizeScale: number): Uint8Array {
  const writer = head(records);
  writer.unsigned(priceScale);
  writer.unsigned(sizeScale);
  const held = [
    { price: 0, size: undefined as number | undefined },
    { price: 0, size: undefined as number | undefined },
  ];
  for (const { quote } of records) {
    const sides = [
      [quote.bidPrice, quote.bidSize],
      [quote.askPrice, quote.askSize],
    ] as const;
    const same = sides.map(
      ([price, amount], i) =>
        price !== undefined && unitsOf(price, priceScale) === held[i]!.price && amount === held[i]!.size,
    );
    writer.unsigned(
      sides.reduce((flags, [price], i) => flags + (price === undefined ? 0 : 1 << i) + (same[i] ? 4 << i : 0), 0),
    );
    for (const [i, [price, amount]] of sides.entries()) {
      if (same[i] || price === undefined || amount === undefined) continue;
      writer.signed(unitsOf(price, priceScale) - held[i]!.price);
      size(writer, amount, sizeScale);
      held[i] = { price: unitsOf(price, priceScale), size: amount };
    }
  }
  return writer.view().slice();
}

export function encodePrices1(records: readonly PriceRecord[], scale: number): Uint8Array {
  const writer = head(records);
  writer.unsigned(scale);
  for (const [i, { price }] of records.entries()) {
    if (scale === DOUBLES) writer.double(price);
    else writer.signed(unitsOf(price, scale) - (i === 0 ? 0 : unitsOf(records[i - 1]!.price, scale)));
  }
  return writer.view().slice();
}
