import type { OrderBook } from '../../domain/orderbook.ts';
import type { Outcome } from '../../domain/outcome.ts';
import { conditionIdField, instantField, numericField, outcomeField, refusal } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { bestPricesOf } from '../../venue/best-prices.ts';
import type { BookMessage } from '../../venue/book-message-parser.ts';
import { MIN_ORDER_SIZE } from '../../venue/market-status.ts';
import { LineCursor, NOT_PLAIN, QUOTE } from './line-cursor.ts';
import type { ByteLine } from './lines.ts';
import { RepeatedText } from './repeated-text.ts';
import { ScannedSide } from './scanned-side.ts';

type SnapshotItem = Extract<RecordedItem, { type: 'snapshot' }>;

/** The fields of a snapshot, as bits of a set. */
const TYPE = 1;
const CONDITION_ID = 2;
const OUTCOME = 4;
const TIMESTAMP = 8;
const BIDS = 16;
const ASKS = 32;
const ID = 64;
const ASSET_ID = 128;
const MIRRORED = 256;
const HASH = 512;
const TICK_SIZE = 1024;
const LAST_TRADE_PRICE = 2048;
const RECEIVED_AT = 4096;
/** A field that is ignored. */
const OTHER = 0;
/** The lines that a scanner reads: the bits of its fields by their names, those that it needs, and its `type`. */
interface LineFormat {
  readonly fields: ReadonlyMap<string, number>;
  readonly needed: number;
  readonly type: string;
}

const SNAPSHOT_FIELDS: ReadonlyMap<string, number> = new Map([
  ['type', TYPE],
  ['conditionId', CONDITION_ID],
  ['outcome', OUTCOME],
  ['timestamp', TIMESTAMP],
  ['bids', BIDS],
  ['asks', ASKS],
  ['id', ID],
  ['assetId', ASSET_ID],
  ['mirrored', MIRRORED],
  ['receivedAt', RECEIVED_AT],
]);
/** bookreel's own records. */
const SNAPSHOTS: LineFormat = {
  fields: SNAPSHOT_FIELDS,
  needed: TYPE | CONDITION_ID | OUTCOME | TIMESTAMP | BIDS | ASKS,
  type: 'snapshot',
};
/** The venue's book messages; their other fields are ignored. */
const MESSAGES: LineFormat = {
  fields: new Map([
    ['event_type', TYPE],
    ['market', CONDITION_ID],
    ['asset_id', ASSET_ID],
    ['timestamp', TIMESTAMP],
    ['bids', BIDS],
    ['asks', ASKS],
    ['hash', HASH],
    ['tick_size', TICK_SIZE],
    ['last_trade_price', LAST_TRADE_PRICE],
  ]),
  needed: TYPE | CONDITION_ID | ASSET_ID | TIMESTAMP | BIDS | ASKS,
  type: 'book',
};

const COMMA = 44;
const POINT = 46;
const ZERO = 48;
const COLON = 58;
const UPPER_Z = 90;
const BRACE_OPENS = 123;
const BRACE_CLOSES = 125;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const TRUE = encoder.encode('true');
const FALSE = encoder.encode('false');

/** Longer lines are not scanned, to limit the bytes that are kept per outcome. Two hundred levels take about 6 kB. */
const SCANNED_BYTES_MAX = 64 * 1024;
/** A line with more fields is not scanned. */
const FIELDS_MAX = 32;
/** Number of markets whose last lines are kept. The first line of any other market is read in full. */
const MARKETS_MAX = 64;
/** Characters of `2026-04-16T07:10:`, which is mostly the same in consecutive instants, and of the `04.123Z` that follows. */
const MINUTE_CHARS = 17;
const SECONDS_CHARS = 7;

/** The last scanned line of one outcome, and the sides of its book. */
class ScannedBook {
  bids = new ScannedSide();
  asks = new ScannedSide();
  #bytes = new Uint8Array();
  text = new DataView(this.#bytes.buffer);

  keepText({ bytes, start, end }: LineCursor): void {
    if (end - start > this.#bytes.length) {
      this.#bytes = new Uint8Array(Math.ceil((end - start) * 1.25));
      this.text = new DataView(this.#bytes.buffer);
    }
    this.#bytes.set(bytes.subarray(start, end));
  }

  book(): OrderBook {
    const { bids, asks } = this;
    return { bidPrices: bids.prices, bidSizes: bids.sizes, askPrices: asks.prices, askSizes: asks.sizes };
  }
}

/**
 * A fast parser for snapshots in bookreel's own format, and for the venue's book messages. It reads bytes without creating texts or an object per level, and does not
 * parse a level again that has the same bytes as in the line before of its series, which is true of most levels. Its result is
 * what `parseRecord` would return. Any line that is not a plain, valid snapshot is left to `parseRecord`.
 */
export class BookScanner {
  readonly #format: LineFormat;
  readonly #cursor = new LineCursor();
  readonly #keys: readonly RepeatedText<number>[];
  readonly #type = new RepeatedText((type) => type);
  readonly #conditionId = new RepeatedText((conditionId) => conditionIdField({ conditionId }));
  readonly #outcome = new RepeatedText((outcome) => outcomeField({ outcome }));
  readonly #assetId = new RepeatedText((assetId) => numericField({ assetId }, 'assetId'));
  readonly #minute = new RepeatedText((minute) => instantOf(`${minute}00.000Z`));
  readonly #markets = new Map<string, Record<Outcome, ScannedBook>>();
  /** The line before the current one, for lines that name their market after the sides. */
  #latest = new ScannedBook();
  /** The current line. Its bytes are kept once the whole line was read. */
  #next = new ScannedBook();
  #conditionIdRead: string | undefined;
  #outcomeRead: Outcome | undefined;
  #assetIdRead: string | undefined;
  #timestampMs = NOT_PLAIN;
  #receivedMs: number | undefined;
  #id: number | undefined;
  #mirrored = false;
  #hash: string | undefined;
  #tickSize: string | undefined;
  #lastTradePrice: string | undefined;
  /** The places of the sides in the line, without their brackets. */
  readonly #sides = { bids: { start: 0, end: 0 }, asks: { start: 0, end: 0 } };

  private constructor(format: LineFormat) {
    this.#format = format;
    this.#keys = Array.from({ length: FIELDS_MAX }, () => new RepeatedText((key) => format.fields.get(key) ?? OTHER));
  }

  static ofSnapshots(): BookScanner {
    return new BookScanner(SNAPSHOTS);
  }

  /** For messages, whose snapshots are of `up` until the caller knows the outcome of their asset. */
  static ofMessages(): BookScanner {
    return new BookScanner(MESSAGES);
  }

  /** The snapshot of the line; undefined if the line is left to the parser of its format. */
  scan({ bytes, start, end }: Pick<ByteLine, 'bytes' | 'start' | 'end'>): SnapshotItem | undefined {
    if (end - start > SCANNED_BYTES_MAX) return undefined;
    this.#cursor.open(bytes, start, end);
    try {
      return this.#takeFields() ? this.#snapshot() : undefined;
    } catch (error) {
      // An invalid field: `parseRecord` gives the reason. Other errors are thrown again.
      refusal(error);
      return undefined;
    }
  }

  /** The hash of the last scanned message with the values that it depends on, if it has one, and its price of the last trade. */
  hashed(): Pick<BookMessage, 'claim' | 'lastTradePrice'> {
    const hash = this.#hash;
    const tickSize = this.#tickSize;
    const lastTradePrice = this.#lastTradePrice;
    if (hash === undefined || hash === '') return { claim: undefined, lastTradePrice };
    const hashed = {
      market: this.#conditionIdRead!,
      assetId: this.#assetIdRead!,
      timestamp: String(this.#timestampMs),
      bids: this.#textOf(this.#sides.bids),
      asks: this.#textOf(this.#sides.asks),
      best: bestPricesOf(this.#latest.book()),
      minOrderSize: MIN_ORDER_SIZE,
      negRisk: false,
    };
    return { claim: { hash, hashed, tickSize, lastTradePrice, isComplete: false }, lastTradePrice };
  }

  #textOf({ start, end }: { readonly start: number; readonly end: number }): string | Uint8Array {
    const { bytes, hadSpace } = this.#cursor;
    const text = bytes.subarray(start, end);
    // Without the white space of a recorder. A level that equals one of an earlier line has the white space of that line.
    return hadSpace ? decoder.decode(text).replaceAll(/\s/g, '') : text;
  }

  /** Takes the object of the line. True if it has every needed field once, and all its values are plain. */
  #takeFields(): boolean {
    const cursor = this.#cursor;
    this.#conditionIdRead = undefined;
    this.#outcomeRead = this.#format === MESSAGES ? 'up' : undefined;
    this.#assetIdRead = undefined;
    this.#receivedMs = undefined;
    this.#id = undefined;
    this.#mirrored = false;
    this.#hash = undefined;
    this.#tickSize = undefined;
    this.#lastTradePrice = undefined;
    const { needed } = this.#format;
    let seen = 0;
    if (!cursor.take(BRACE_OPENS)) return false;
    for (let index = 0; index < FIELDS_MAX; index += 1) {
      const field = this.#keys[index]!.take(cursor);
      // A repeated field is left to `parseRecord`.
      if (field === undefined || (seen & field) !== 0) return false;
      seen |= field;
      if (!cursor.take(COLON) || !this.#takeValue(field)) return false;
      if (cursor.take(COMMA)) continue;
      return cursor.take(BRACE_CLOSES) && cursor.at === cursor.end && (seen & needed) === needed;
    }
    return false;
  }

  #takeValue(field: number): boolean {
    const cursor = this.#cursor;
    switch (field) {
      case TYPE:
        return this.#type.take(cursor) === this.#format.type;
      case CONDITION_ID:
        this.#conditionIdRead = this.#conditionId.take(cursor);
        return this.#conditionIdRead !== undefined;
      case OUTCOME:
        this.#outcomeRead = this.#outcome.take(cursor);
        return this.#outcomeRead !== undefined;
      case TIMESTAMP:
        this.#timestampMs = this.#takeInstant();
        return this.#timestampMs !== NOT_PLAIN;
      case RECEIVED_AT:
        this.#receivedMs = this.#takeInstant();
        return this.#receivedMs !== NOT_PLAIN;
      case BIDS:
        return this.#takeSide('bids', -1);
      case ASKS:
        return this.#takeSide('asks', 1);
      case ID:
        this.#id = cursor.integer();
        return this.#id >= 1;
      case ASSET_ID:
        this.#assetIdRead = this.#assetId.take(cursor);
        return this.#assetIdRead !== undefined;
      case MIRRORED:
        this.#mirrored = cursor.takeAll(TRUE);
        return this.#mirrored || cursor.takeAll(FALSE);
      case HASH:
        this.#hash = this.#takeText();
        return this.#hash !== undefined;
      case TICK_SIZE:
        this.#tickSize = this.#takeText();
        return this.#tickSize !== undefined;
      case LAST_TRADE_PRICE:
        this.#lastTradePrice = this.#takeText();
        return this.#lastTradePrice !== undefined;
      default:
        return (cursor.bytes[cursor.at] === QUOTE ? cursor.text() : cursor.digits()) !== NOT_PLAIN;
    }
  }

  #takeSide(name: 'bids' | 'asks', away: -1 | 1): boolean {
    const cursor = this.#cursor;
    const place = this.#sides[name];
    const before = this.#before();
    place.start = cursor.at + 1;
    const isTaken = this.#next[name].take(cursor, before[name], before.text, away);
    place.end = cursor.at - 1;
    return isTaken;
  }

  #takeText(): string | undefined {
    const cursor = this.#cursor;
    const start = cursor.at + 1;
    const end = cursor.text();
    return end === NOT_PLAIN ? undefined : decoder.decode(cursor.bytes.subarray(start, end));
  }

  #takeInstant(): number {
    const cursor = this.#cursor;
    if (cursor.bytes[cursor.at] !== QUOTE) {
      const value = cursor.integer();
      return value === NOT_PLAIN ? NOT_PLAIN : instantOf(value);
    }
    const start = cursor.at + 1;
    const end = cursor.text();
    if (end === NOT_PLAIN) return NOT_PLAIN;
    const after = cursor.at;
    const withinMinuteMs =
      end - start === MINUTE_CHARS + SECONDS_CHARS ? millisecondsAt(cursor.bytes, start + MINUTE_CHARS) : NOT_PLAIN;
    if (withinMinuteMs === NOT_PLAIN) return instantOf(decoder.decode(cursor.bytes.subarray(start, end)));
    cursor.at = start;
    const minuteMs = this.#minute.takeBytes(cursor, MINUTE_CHARS);
    cursor.at = after;
    return minuteMs + withinMinuteMs;
  }

  /** The last book of the same outcome if the market is known by now, else the line before. */
  #before(): ScannedBook {
    const series = this.#seriesRead();
    if (series === undefined || this.#outcomeRead === undefined) return this.#latest;
    return this.#marketOf(series)[this.#outcomeRead];
  }

  /** The market of a record, or the asset of a message. */
  #seriesRead(): string | undefined {
    return this.#format === MESSAGES ? this.#assetIdRead : this.#conditionIdRead;
  }

  #marketOf(series: string): Record<Outcome, ScannedBook> {
    const known = this.#markets.get(series);
    if (known !== undefined) return known;
    const [oldest] = this.#markets.keys();
    if (this.#markets.size >= MARKETS_MAX) this.#markets.delete(oldest!);
    const market = { up: new ScannedBook(), down: new ScannedBook() };
    this.#markets.set(series, market);
    return market;
  }

  #snapshot(): SnapshotItem {
    const conditionId = this.#conditionIdRead!;
    const outcome = this.#outcomeRead!;
    const scanned = this.#next;
    scanned.keepText(this.#cursor);
    const market = this.#marketOf(this.#seriesRead()!);
    this.#next = market[outcome];
    market[outcome] = scanned;
    this.#latest = scanned;
    return {
      type: 'snapshot',
      conditionId,
      outcome,
      timestampMs: this.#timestampMs,
      receivedMs: this.#receivedMs,
      id: this.#id,
      assetId: this.#assetIdRead,
      book: scanned.book(),
      droppedLevels: 0,
      mirrored: this.#mirrored,
    };
  }
}

function instantOf(timestamp: string | number): number {
  return instantField({ timestamp }, 'timestamp');
}

/** `04.123Z` as milliseconds, or NOT_PLAIN. */
function millisecondsAt(bytes: Uint8Array, at: number): number {
  const digit = (offset: number) => bytes[at + offset]! - ZERO;
  for (const offset of [0, 1, 3, 4, 5]) if (!(digit(offset) >= 0 && digit(offset) <= 9)) return NOT_PLAIN;
  if (digit(0) > 5 || bytes[at + 2] !== POINT || bytes[at + 6] !== UPPER_Z) return NOT_PLAIN;
  return digit(0) * 10_000 + digit(1) * 1000 + digit(3) * 100 + digit(4) * 10 + digit(5);
}
