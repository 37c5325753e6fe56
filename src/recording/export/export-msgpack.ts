import { Packr } from 'msgpackr';
import type { BookReader } from '../../book/book-segment.ts';
import type { ByteBuffer } from '../../book/byte-buffer.ts';
import type { Ladder } from '../../book/ladder.ts';
import { divisorOf } from '../../book/scale.ts';
import { formatInstant } from '../../domain/instant.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { OwnFormatWriter } from './export-own.ts';
import type { RecordFields } from './export-record.ts';
import { BookSeries, type SeriesWriter } from './export-writer.ts';

/** The own format as a stream of msgpack maps, each packed as msgpackr packs the line of JSON, in the fewest bytes. */
export class MsgpackWriter extends OwnFormatWriter {
  // Plain maps: any msgpack reader understands them, msgpackr's records would need its own.
  readonly #packr = new Packr({ useRecords: false, variableMapSize: true });

  snapshots({ conditionId }: StoredMarket, outcome: Outcome, mirrored: boolean): SeriesWriter {
    const labels = Object.entries({ conditionId, outcome, ...(mirrored ? { mirrored } : {}) });
    const packed = labels.flatMap(([name, value]) => [this.#packr.pack(name), this.#packr.pack(value)]);
    const opening = Uint8Array.from([FIX_MAP | (FIELDS_BESIDE_LABELS + labels.length), ...OPENING]);
    const middle = Buffer.concat([...packed, TIMESTAMP]);
    return new BookSeries((reader) => writeSnapshot(this.out, opening, middle, reader));
  }

  protected record(fields: RecordFields): void {
    const said = Object.entries(fields).filter(([, value]) => value !== undefined);
    this.out.append(this.#packr.pack(Object.fromEntries(said)));
  }
}

const encoder = new TextEncoder();
/** The texts of a snapshot's map, each with its length in front. */
const fixText = (text: string) => Uint8Array.from([0xa0 | text.length, ...encoder.encode(text)]);
const OPENING = Buffer.concat([fixText('type'), fixText('snapshot'), fixText('id')]);
const TIMESTAMP = fixText('timestamp');
const BIDS = fixText('bids');
const ASKS = fixText('asks');
/** A level is a map of two: what stands in front of the price, and between price and size. */
const LEVEL_OPENS = Uint8Array.from([0x82, ...fixText('price')]);
const SIZE = fixText('size');
const FIX_MAP = 0x80;
/** Fields beside the labels: type, id, timestamp, bids, asks. */
const FIELDS_BESIDE_LABELS = 5;
const NUMBER_BYTES_MAX = 9;
const LEVEL_BYTES_MAX = LEVEL_OPENS.length + SIZE.length + 2 * NUMBER_BYTES_MAX;

/** `opening` ends where the id is written, `middle` where the timestamp is. */
function writeSnapshot(out: ByteBuffer, opening: Uint8Array, middle: Uint8Array, reader: BookReader): void {
  const { head, index, bids, asks, priceScale, sizeScale } = reader;
  out.append(opening);
  out.append(fixText(String(head.ids[index]!)));
  out.append(middle);
  out.append(fixText(formatInstant(head.timestamps[index]!)));
  out.append(BIDS);
  writeLevels(out, bids, divisorOf(priceScale), divisorOf(sizeScale));
  out.append(ASKS);
  writeLevels(out, asks, divisorOf(priceScale), divisorOf(sizeScale));
}

function writeLevels(out: ByteBuffer, { values, length }: Ladder, priceDivisor: number, sizeDivisor: number): void {
  out.reserve(NUMBER_BYTES_MAX + length * LEVEL_BYTES_MAX);
  const { bytes } = out;
  const view = new DataView(bytes.buffer);
  let at = writeArrayLength(view, out.length, length);
  for (let i = 0; i < length; i += 1) {
    bytes.set(LEVEL_OPENS, at);
    at = writeNumber(view, at + LEVEL_OPENS.length, values[2 * i]! / priceDivisor);
    bytes.set(SIZE, at);
    at = writeNumber(view, at + SIZE.length, values[2 * i + 1]! / sizeDivisor);
  }
  out.length = at;
}

function writeArrayLength(view: DataView, at: number, length: number): number {
  if (length < 16) {
    view.setUint8(at, 0x90 | length);
    return at + 1;
  }
  view.setUint8(at, length < 0x10000 ? 0xdc : 0xdd);
  if (length < 0x10000) view.setUint16(at + 1, length);
  else view.setUint32(at + 1, length);
  return at + (length < 0x10000 ? 3 : 5);
}

/** A number of 0 or more: whole ones below 2^32 as integers, others as doubles. */
function writeNumber(view: DataView, at: number, value: number): number {
  if (value >>> 0 !== value) {
    view.setUint8(at, 0xcb);
    view.setFloat64(at + 1, value);
    return at + 9;
  }
  if (value < 0x80) {
    view.setUint8(at, value);
    return at + 1;
  }
  if (value < 0x100) {
    view.setUint16(at, 0xcc00 | value);
    return at + 2;
  }
  view.setUint8(at, value < 0x10000 ? 0xcd : 0xce);
  if (value < 0x10000) view.setUint16(at + 1, value);
  else view.setUint32(at + 1, value);
  return at + (value < 0x10000 ? 3 : 5);
}
