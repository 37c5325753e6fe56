import { DECIMAL_PLACES_MAX, powerOfTen, SIGNIFICANT_DIGITS_MAX } from '../../domain/decimal.ts';

const TAB = 9;
const CARRIAGE_RETURN = 13;
const SPACE = 32;
export const QUOTE = 34;
const POINT = 46;
const ZERO = 48;
const BACKSLASH = 92;
const TILDE = 126;

/** Result of `digits`, `integer` and `text` if there is anything else. Their other results are never negative. */
export const NOT_PLAIN = -1;

/**
 * Reads the bytes of one line of JSON from left to right, if its values are plain: numbers of digits with at most a point, texts of
 * printable ASCII without escapes. For anything else its methods return false or NOT_PLAIN, and its position is undefined.
 */
export class LineCursor {
  bytes: Uint8Array = new Uint8Array();
  start = 0;
  end = 0;
  at = 0;
  /** True if any line so far had white space between its values. */
  hadSpace = false;
  #view: DataView = new DataView(new ArrayBuffer(0));

  /** Starts reading the line bytes[start] … bytes[end - 1]. Only a newline or nothing may follow it. */
  open(bytes: Uint8Array, start: number, end: number): void {
    if (bytes !== this.bytes) {
      this.bytes = bytes;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    this.start = start;
    this.end = end;
    this.at = start;
  }

  skipSpace(): void {
    const { bytes } = this;
    let byte = bytes[this.at];
    while (byte === SPACE || byte === TAB || byte === CARRIAGE_RETURN) {
      this.hadSpace = true;
      this.at += 1;
      byte = bytes[this.at];
    }
  }

  /** Takes `byte` and the white space around it; false if there is another byte. */
  take(byte: number): boolean {
    this.skipSpace();
    if (this.bytes[this.at] !== byte) return false;
    this.at += 1;
    this.skipSpace();
    return true;
  }

  /** Takes exactly these bytes; false if there are others. */
  takeAll(word: Uint8Array): boolean {
    const { bytes, at } = this;
    for (let i = 0; i < word.length; i += 1) if (bytes[at + i] !== word[i]) return false;
    this.at = at + word.length;
    return true;
  }

  /** Takes a text in quotes. Returns the position of its closing quote. */
  text(): number {
    const { bytes } = this;
    if (bytes[this.at] !== QUOTE) return NOT_PLAIN;
    let at = this.at + 1;
    for (let byte = bytes[at]!; byte !== QUOTE; byte = bytes[at]!) {
      // A byte beyond the end is undefined, which fails every comparison.
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
   * Takes a decimal: digits, optionally a point and digits; at most 15 digits and 12 decimals. Both the integer of all digits and
   * the power of ten are exact, so their quotient is the double nearest to the decimal.
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
    // JSON allows no number that begins with a point or a superfluous zero.
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

  /** Takes an integer of up to 15 digits, with or without quotes. */
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
   * Returns true if the line has the bytes start … end - 1 of `text`, shifted by `shift`. `text` must be ASCII without zero bytes:
   * any eight such bytes, read as a double, are a finite number other than 0, so equal doubles mean equal bytes.
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
