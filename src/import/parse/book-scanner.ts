import type { OrderBook } from '../../domain/orderbook.ts';
import type { Outcome } from '../../domain/outcome.ts';
import { conditionIdField, instantField, numericField, outcomeField, refusal } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { LineCursor, NOT_PLAIN, QUOTE } from './line-cursor.ts';
import type { ByteLine } from './lines.ts';
import { RepeatedText } from './repeated-text.ts';
import { WrittenSide } from './written-side.ts';

type SnapshotItem = Extract<RecordedItem, { type: 'snapshot' }>;

/** The fields of a snapshot, as bits of what was seen. */
const TYPE = 1;
const CONDITION_ID = 2;
const OUTCOME = 4;
const TIMESTAMP = 8;
const BIDS = 16;
const ASKS = 32;
const ID = 64;
const ASSET_ID = 128;
const MIRRORED = 256;
/** A field that says nothing about the snapshot. */
const OTHER = 0;
const NEEDED = TYPE | CONDITION_ID | OUTCOME | TIMESTAMP | BIDS | ASKS;
const FIELDS: ReadonlyMap<string, number> = new Map([
  ['type', TYPE],
  ['conditionId', CONDITION_ID],
  ['outcome', OUTCOME],
  ['timestamp', TIMESTAMP],
  ['bids', BIDS],
  ['asks', ASKS],
  ['id', ID],
  ['assetId', ASSET_ID],
  ['mirrored', MIRRORED],
]);

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

/** Longer lines are left alone, so that what is kept of a series stays small. Two hundred levels take some 6 kB. */
const SCANNED_BYTES_MAX = 64 * 1024;
/** A line with more fields than this is left alone as well. */
const FIELDS_MAX = 32;
/** Of so many markets the last lines are kept; the first line of any other is read from its first byte to its last. */
const MARKETS_MAX = 64;
/** `2026-04-16T07:10:`, all that the instants of many lines in a row share; `04.123Z` follows. */
const MINUTE_CHARS = 17;
const SECONDS_CHARS = 7;

/** The last line of one outcome, and the sides of its book. */
class WrittenBook {
  bids = new WrittenSide();
  asks = new WrittenSide();
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
 * Reads snapshots of the own format straight from their bytes: no text, no object a level, and no level twice, because
 * neighbours of one series write most of their levels alike, and those are recognised by their bytes. A line that is not
 * plainly a snapshot that can be kept is left to `parseRecord`, which decides and says why; what is read here is what
 * `parseRecord` would have made of the line.
 */
export class BookScanner {
  readonly #cursor = new LineCursor();
  readonly #keys = Array.from({ length: FIELDS_MAX }, () => new RepeatedText((key) => FIELDS.get(key) ?? OTHER));
  readonly #type = new RepeatedText((type) => type);
  readonly #conditionId = new RepeatedText((conditionId) => conditionIdField({ conditionId }));
  readonly #outcome = new RepeatedText((outcome) => outcomeField({ outcome }));
  readonly #assetId = new RepeatedText((assetId) => numericField({ assetId }, 'assetId'));
  readonly #minute = new RepeatedText((minute) => instantOf(`${minute}00.000Z`));
  readonly #markets = new Map<string, Record<Outcome, WrittenBook>>();
  /** The line before the present one, for a line that names its market after its sides. */
  #latest = new WrittenBook();
  /** Takes the present line; its bytes are kept when all of it was read. */
  #next = new WrittenBook();
  #conditionIdRead: string | undefined;
  #outcomeRead: Outcome | undefined;
  #assetIdRead: string | undefined;
  #timestampMs = NOT_PLAIN;
  #id: number | undefined;
  #mirrored = false;

  /** The snapshot that the line is; undefined when that is for `parseRecord` to say. */
  scan({ bytes, start, end }: ByteLine): SnapshotItem | undefined {
    if (end - start > SCANNED_BYTES_MAX) return undefined;
    this.#cursor.open(bytes, start, end);
    try {
      return this.#takeFields() ? this.#snapshot() : undefined;
    } catch (error) {
      // A field that cannot be kept: in which words the record is refused is said in one place.
      refusal(error);
      return undefined;
    }
  }

  /** Takes the object that the line is; false unless it has what is needed, once, and nothing else that counts. */
  #takeFields(): boolean {
    const cursor = this.#cursor;
    this.#conditionIdRead = undefined;
    this.#outcomeRead = undefined;
    this.#assetIdRead = undefined;
    this.#id = undefined;
    this.#mirrored = false;
    let seen = 0;
    if (!cursor.take(BRACE_OPENS)) return false;
    for (let index = 0; index < FIELDS_MAX; index += 1) {
      const field = this.#keys[index]!.take(cursor);
      // JSON takes the last of two equal fields: not worth knowing here.
      if (field === undefined || (seen & field) !== 0) return false;
      seen |= field;
      if (!cursor.take(COLON) || !this.#takeValue(field)) return false;
      if (cursor.take(COMMA)) continue;
      return cursor.take(BRACE_CLOSES) && cursor.at === cursor.end && (seen & NEEDED) === NEEDED;
    }
    return false;
  }

  #takeValue(field: number): boolean {
    const cursor = this.#cursor;
    switch (field) {
      case TYPE:
        return this.#type.take(cursor) === 'snapshot';
      case CONDITION_ID:
        this.#conditionIdRead = this.#conditionId.take(cursor);
        return this.#conditionIdRead !== undefined;
      case OUTCOME:
        this.#outcomeRead = this.#outcome.take(cursor);
        return this.#outcomeRead !== undefined;
      case TIMESTAMP:
        this.#timestampMs = this.#takeInstant();
        return this.#timestampMs !== NOT_PLAIN;
      case BIDS:
        return this.#next.bids.take(cursor, this.#before().bids, this.#before().text, -1);
      case ASKS:
        return this.#next.asks.take(cursor, this.#before().asks, this.#before().text, 1);
      case ID:
        this.#id = cursor.integer();
        return this.#id >= 1;
      case ASSET_ID:
        this.#assetIdRead = this.#assetId.take(cursor);
        return this.#assetIdRead !== undefined;
      case MIRRORED:
        this.#mirrored = cursor.takeAll(TRUE);
        return this.#mirrored || cursor.takeAll(FALSE);
      default:
        return (cursor.bytes[cursor.at] === QUOTE ? cursor.text() : cursor.digits()) !== NOT_PLAIN;
    }
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

  /** The book that the present one is most likely to resemble. */
  #before(): WrittenBook {
    if (this.#conditionIdRead === undefined || this.#outcomeRead === undefined) return this.#latest;
    return this.#marketOf(this.#conditionIdRead)[this.#outcomeRead];
  }

  #marketOf(conditionId: string): Record<Outcome, WrittenBook> {
    const known = this.#markets.get(conditionId);
    if (known !== undefined) return known;
    const [oldest] = this.#markets.keys();
    if (this.#markets.size >= MARKETS_MAX && oldest !== undefined) this.#markets.delete(oldest);
    const market = { up: new WrittenBook(), down: new WrittenBook() };
    this.#markets.set(conditionId, market);
    return market;
  }

  #snapshot(): SnapshotItem {
    const conditionId = this.#conditionIdRead!;
    const outcome = this.#outcomeRead!;
    const written = this.#next;
    written.keepText(this.#cursor);
    const market = this.#marketOf(conditionId);
    this.#next = market[outcome];
    market[outcome] = written;
    this.#latest = written;
    return {
      type: 'snapshot',
      conditionId,
      outcome,
      timestampMs: this.#timestampMs,
      id: this.#id,
      assetId: this.#assetIdRead,
      book: written.book(),
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
