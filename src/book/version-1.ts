import type { EditLog } from './book-segment.ts';
import type { Ladder } from './ladder.ts';
import type { QuoteRecord } from './quote-segment.ts';
import type { RunHead } from './run.ts';
import { divisorOf, readScale, readScaled } from './scale.ts';
import { damaged, type VarintReader } from './varint.ts';

/**
 * Payloads of version 1, which earlier builds wrote. Where they differ from version 2:
 *
 * The head has every difference of times (unsigned) and of ids (signed), repetitions or not.
 *
 * Books: price scale, size scale, then the keyframe: per side its level count, then per level its price, as an unsigned
 * step away from the level before (which stands one tick outside the range in front of the first), and its size. A
 * delta is per side its number of edits, then the edits: unsigned skip · 4 + kind, for SET the size, for INSERT the
 * price step and the size. Sizes are unsigned, or doubles.
 *
 * Quotes: price scale, size scale, then per quote a byte of flags (bit 0: has a bid, bit 1: has an ask, bit 2: the bid is
 * that of the quote before, bit 3: likewise the ask), and per side that is there and not repeated: price as a signed
 * difference to the last price of that side, size.
 *
 * Prices are as in version 2.
 */
export const VERSION_1 = 1;

const SET = 0;
const REMOVE = 1;
const INSERT = 2;
const HAS_BID = 1;
const HAS_ASK = 2;
const SAME_BID = 4;
const SAME_ASK = 8;

export function readPlaces1(reader: VarintReader, timestamps: Float64Array, ids: Float64Array): void {
  let timestamp = reader.unsigned();
  timestamps[0] = timestamp;
  for (let i = 1; i < timestamps.length; i += 1) {
    timestamp += reader.unsigned();
    timestamps[i] = timestamp;
  }
  let id = reader.unsigned();
  ids[0] = id;
  for (let i = 1; i < ids.length; i += 1) {
    id += reader.signed();
    ids[i] = id;
  }
}

/** `outside`: the price in front of the first level. `away`: the direction in which prices leave the best one. */
export function readSide1(reader: VarintReader, side: Ladder, sizeScale: number, outside: number, away: -1 | 1): void {
  let price = outside;
  for (let left = reader.unsigned(); left > 0; left -= 1) {
    price += reader.unsigned() * away;
    side.push(price, readScaled(reader, sizeScale));
  }
}

export function editSide1(
  reader: VarintReader,
  side: Ladder,
  log: EditLog | undefined,
  sizeScale: number,
  outside: number,
  away: -1 | 1,
): void {
  const count = reader.unsigned();
  // An edit takes a byte at least.
  if (count > reader.bytes.length - reader.position) throw damaged();
  log?.begin(count);
  let position = 0;
  for (let i = 0; i < count; i += 1) {
    const code = reader.unsigned();
    const kind = code % 4;
    const skip = (code - kind) / 4;
    position += skip;
    if (kind > INSERT || position > side.length || (kind !== INSERT && position === side.length)) throw damaged();
    if (log !== undefined) {
      log.skips[i] = skip;
      if (kind === INSERT) log.inserts(i);
      if (kind === REMOVE) log.removes(i);
    }
    if (kind === REMOVE) {
      side.remove(position);
      continue;
    }
    if (kind === SET) {
      side.values[2 * position + 1] = readScaled(reader, sizeScale);
    } else {
      const before = position === 0 ? outside : side.values[2 * position - 2]!;
      const price = before + reader.unsigned() * away;
      side.insert(position, price, readScaled(reader, sizeScale));
    }
    position += 1;
  }
}

interface SideState {
  price: number;
  size: number | undefined;
}

/** `reader` stands at the body. */
export function readQuotes1(reader: VarintReader, head: RunHead): QuoteRecord[] {
  const priceScale = readScale(reader);
  const sizeScale = readScale(reader);
  const bid: SideState = { price: 0, size: undefined };
  const ask: SideState = { price: 0, size: undefined };
  const records: QuoteRecord[] = [];
  for (let i = 0; i < head.count; i += 1) {
    const flags = reader.unsigned();
    if ((flags & (HAS_BID | SAME_BID)) === HAS_BID) readQuoteSide1(reader, bid, sizeScale);
    if ((flags & (HAS_ASK | SAME_ASK)) === HAS_ASK) readQuoteSide1(reader, ask, sizeScale);
    const quote = {
      bidPrice: (flags & HAS_BID) === 0 ? undefined : bid.price / divisorOf(priceScale),
      bidSize: (flags & HAS_BID) === 0 ? undefined : bid.size,
      askPrice: (flags & HAS_ASK) === 0 ? undefined : ask.price / divisorOf(priceScale),
      askSize: (flags & HAS_ASK) === 0 ? undefined : ask.size,
    };
    records.push({ timestampMs: head.timestamps[i]!, id: head.ids[i]!, quote });
  }
  return records;
}

function readQuoteSide1(reader: VarintReader, state: SideState, sizeScale: number): void {
  state.price += reader.signed();
  state.size = readScaled(reader, sizeScale) / divisorOf(sizeScale);
}
