import { type LineCursor, NOT_PLAIN } from './line-cursor.ts';
import { RememberedBytes } from './remembered-bytes.ts';

const COMMA = 44;
const COLON = 58;
const BRACE_OPENS = 123;
const BRACE_CLOSES = 125;
const encoder = new TextEncoder();
const PRICE = encoder.encode('"price"');
const SIZE = encoder.encode('"size"');

/**
 * How levels are written, `{"price":0.51,"size":120.5}` or with spaces or quotes: whoever wrote one level wrote the others
 * likewise, so what stands around the numbers is remembered from the last one.
 */
export class LevelForm {
  /** Of the level that `take` took last. */
  price = 0;
  size = 0;
  readonly #opening = new RememberedBytes();
  readonly #middle = new RememberedBytes();
  readonly #closing = new RememberedBytes();

  /** Takes a level of a plain price and a plain size; false where none stands. */
  take(cursor: LineCursor): boolean {
    const start = cursor.at;
    if (this.#opening.take(cursor)) {
      this.price = cursor.digits();
      if (this.price !== NOT_PLAIN && this.#middle.take(cursor)) {
        this.size = cursor.digits();
        if (this.size !== NOT_PLAIN && this.#closing.take(cursor)) return true;
      }
    }
    cursor.at = start;
    return this.#learn(cursor);
  }

  #learn(cursor: LineCursor): boolean {
    const start = cursor.at;
    if (!cursor.take(BRACE_OPENS) || !cursor.takeAll(PRICE) || !cursor.take(COLON)) return false;
    const priceQuoted = cursor.takeQuote();
    const priceStart = cursor.at;
    this.price = cursor.digits();
    const priceEnd = cursor.at;
    if (this.price === NOT_PLAIN || cursor.takeQuote() !== priceQuoted) return false;
    if (!cursor.take(COMMA) || !cursor.takeAll(SIZE) || !cursor.take(COLON)) return false;
    const sizeQuoted = cursor.takeQuote();
    const sizeStart = cursor.at;
    this.size = cursor.digits();
    const sizeEnd = cursor.at;
    if (this.size === NOT_PLAIN || cursor.takeQuote() !== sizeQuoted) return false;
    cursor.space();
    if (cursor.bytes[cursor.at] !== BRACE_CLOSES) return false;
    cursor.at += 1;
    this.#opening.keep(cursor, start, priceStart);
    this.#middle.keep(cursor, priceEnd, sizeStart);
    this.#closing.keep(cursor, sizeEnd, cursor.at);
    return true;
  }
}
