import { DECIMAL_PLACES_MAX, powerOfTen, SIGNIFICANT_DIGITS_MAX } from '../../domain/decimal.ts';

const TAB = 9;
const CARRIAGE_RETURN = 13;
const SPACE = 32;
export const QUOTE = 34;
const POINT = 46;
const ZERO = 48;
const BACKSLASH = 92;
const TILDE = 126;

/** What `digits`, `integer` and `text` return for something else: none of them is ever negative. */
export const NOT_PLAIN = -1;

/**
 * Reads the bytes of one line of JSON from left to right, as far as they are plain: numbers of digits with at most a point,
 * texts of printable ASCII without escapes. At anything else it says so, and its position then means nothing.
 */
export class LineCursor {
  bytes: Uint8Array = new Uint8Array();
  start = 0;
  end = 0;
  at = 0;
  #view: DataView = new DataView(new ArrayBuffer(0));

  /** Begins with the line bytes[start] … bytes[end - 1]; what follows it is a newline or nothing. */
  open(bytes: Uint8Array, start: number, end: number): void {
    if (bytes !== this.bytes) {
      this.bytes = bytes;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    this.start = start;
    this.end = end;
    this.at = start;
  }

  /** White space may be anywhere between the tokens of JSON. */
  space(): void {
    const { bytes } = this;
    let byte = bytes[this.at];
    while (byte === SPACE || byte === TAB || byte === CARRIAGE_RETURN) {
      this.at += 1;
      byte = bytes[this.at];
    }
  }

  /** Takes `byte` with the white space on both sides of it; false when something else is there. */
  take(byte: number): boolean {
    this.space();
    if (this.bytes[this.at] !== byte) return false;
    this.at += 1;
    this.space();
    return true;
  }

  /** Takes exactly these bytes. */
  takeAll(word: Uint8Array): boolean {
    const { bytes, at } = this;
    for (let i = 0; i < word.length; i += 1) if (bytes[at + i] !== word[i]) return false;
    this.at = at + word.length;
    return true;
  }

  /** Takes a text in quotes, and returns where it ended: after its last byte, before the quote. */
  text(): number {
    const { bytes } = this;
    if (bytes[this.at] !== QUOTE) return NOT_PLAIN;
    let at = this.at + 1;
    for (let byte = bytes[at]!; byte !== QUOTE; byte = bytes[at]!) {
      // Beyond the end a byte is undefined, which no comparison takes for one that is allowed.
      if (!(byte >= SPACE && byte <= TILDE) || byte === BACKSLASH) return NOT_PLAIN;
      at += 1;
    }
    this.at = at + 1;
    return at;
  }

  takeQuote(): boolean {
    if (this.bytes[this.at] !== QUOTE) return false;
    this.at += 1;
    return true;
  }

  /**
   * Takes a decimal of digits, perhaps a point and digits. One of up to 15 digits and 12 decimals is an exact integer over an
   * exact power of ten, and the quotient the double nearest to the decimal.
   */
  digits(): number {
    const { bytes, at: start } = this;
    let at = start;
    let value = 0;
    let digit = bytes[at]! - ZERO;
    while (digit >= 0 && digit <= 9) {
      value = value * 10 + digit;
      at += 1;
      digit = bytes[at]! - ZERO;
    }
    const wholeDigits = at - start;
    // JSON has no number that begins with a point or with a needless zero.
    if (wholeDigits === 0 || (wholeDigits > 1 && bytes[start] === ZERO)) return NOT_PLAIN;
    let places = 0;
    if (bytes[at] === POINT) {
      const point = at;
      at += 1;
      digit = bytes[at]! - ZERO;
      while (digit >= 0 && digit <= 9) {
        value = value * 10 + digit;
        at += 1;
        digit = bytes[at]! - ZERO;
      }
      places = at - point - 1;
      if (places === 0 || places > DECIMAL_PLACES_MAX) return NOT_PLAIN;
    }
    if (wholeDigits + places > SIGNIFICANT_DIGITS_MAX) return NOT_PLAIN;
    this.at = at;
    return places === 0 ? value : value / powerOfTen(places);
  }

  /** Takes an integer of up to 15 digits, also one in quotes. */
  integer(): number {
    const { bytes } = this;
    const quoted = this.takeQuote();
    const start = this.at;
    let value = 0;
    for (let digit = bytes[this.at]! - ZERO; digit >= 0 && digit <= 9; digit = bytes[this.at]! - ZERO) {
      value = value * 10 + digit;
      this.at += 1;
    }
    const digits = this.at - start;
    if (digits === 0 || digits > SIGNIFICANT_DIGITS_MAX || (digits > 1 && bytes[start] === ZERO)) return NOT_PLAIN;
    return this.takeQuote() === quoted ? value : NOT_PLAIN;
  }

  /**
   * Whether the bytes of `text` from `start` to `end` are here as well, each `shift` further on. `text` is ASCII without
   * zeros: of that eight bytes, read as a double, are a finite number other than 0, which only the same eight bytes are too.
   */
  has(text: DataView, start: number, end: number, shift: number): boolean {
    const view = this.#view;
    if (end + shift > this.end) return false;
    const lastWord = end - 8;
    for (let at = start; at < lastWord; at += 8) {
      if (text.getFloat64(at, true) !== view.getFloat64(at + shift, true)) return false;
    }
    if (lastWord >= start) return text.getFloat64(lastWord, true) === view.getFloat64(lastWord + shift, true);
    for (let at = start; at < end; at += 1) if (text.getUint8(at) !== view.getUint8(at + shift)) return false;
    return true;
  }
}
