import { powerOfTen } from '../domain/decimal.ts';
import { DOUBLES } from './scale.ts';

/** Decimal digits as ASCII, written straight into a buffer. Every function returns the position after the written text. */
const ZERO = 48;
const POINT = 46;
const INT32_MAX = 2 ** 31 - 1;
/** The pairs of digits "00" … "99": one division gives two digits. */
const PAIRS = Uint8Array.from({ length: 200 }, (_, i) => ZERO + (i % 2 === 0 ? Math.floor(i / 20) : (i >> 1) % 10));
const POWERS_INT32 = Int32Array.from({ length: 10 }, (_, exponent) => powerOfTen(exponent));

/** Maximum length of the text of a scaled value or a double. */
export const DECIMAL_TEXT_MAX = 24;

/** Writes value / 10^scale without trailing zeros; with the scale DOUBLES the value itself. `value` ≥ 0. */
export function writeDecimal(bytes: Uint8Array, position: number, value: number, scale: number): number {
  if (scale === 2 && value <= INT32_MAX) return writeHundredths(bytes, position, value | 0);
  if (scale === DOUBLES) return writeText(bytes, position, String(value));
  const unit = powerOfTen(scale);
  const whole = Math.floor(value / unit);
  const at = writeInteger(bytes, position, whole);
  let fraction = value - whole * unit;
  if (fraction === 0) return at;
  let digits = scale;
  while (fraction % 10 === 0) {
    fraction /= 10;
    digits -= 1;
  }
  bytes[at] = POINT;
  for (let i = at + digits; i > at; i -= 1) {
    const rest = Math.floor(fraction / 10);
    bytes[i] = ZERO + (fraction - rest * 10);
    fraction = rest;
  }
  return at + digits + 1;
}

/** Writes value / 100 in 32-bit arithmetic: hundredths are the scale of nearly every recorded size. */
function writeHundredths(bytes: Uint8Array, position: number, value: number): number {
  const whole = (value / 100) | 0;
  const fraction = (value - whole * 100) | 0;
  const at = writeInt32(bytes, position, whole);
  if (fraction === 0) return at;
  bytes[at] = POINT;
  bytes[at + 1] = PAIRS[fraction * 2]!;
  const hundredths = PAIRS[fraction * 2 + 1]!;
  if (hundredths === ZERO) return at + 2;
  bytes[at + 2] = hundredths;
  return at + 3;
}

/** A non-negative integer below 2^53. */
export function writeInteger(bytes: Uint8Array, position: number, value: number): number {
  return value <= INT32_MAX ? writeInt32(bytes, position, value | 0) : writeText(bytes, position, String(value));
}

function writeInt32(bytes: Uint8Array, position: number, value: number): number {
  if (value < 10) {
    bytes[position] = ZERO + value;
    return position + 1;
  }
  let digits = 2;
  while (digits < 10 && value >= POWERS_INT32[digits]!) digits += 1;
  let rest = value;
  let at = position + digits;
  while (rest >= 100) {
    const next = (rest / 100) | 0;
    const pair = (rest - next * 100) * 2;
    bytes[--at] = PAIRS[pair + 1]!;
    bytes[--at] = PAIRS[pair]!;
    rest = next;
  }
  bytes[--at] = PAIRS[rest * 2 + 1]!;
  if (rest >= 10) bytes[--at] = PAIRS[rest * 2]!;
  return position + digits;
}

/** `value` with a leading zero, 0 … 99. */
export function writeTwoDigits(bytes: Uint8Array, position: number, value: number): number {
  bytes[position] = PAIRS[2 * value]!;
  bytes[position + 1] = PAIRS[2 * value + 1]!;
  return position + 2;
}

/** `value` with leading zeros, 0 … 999. */
export function writeThreeDigits(bytes: Uint8Array, position: number, value: number): number {
  const hundreds = (value / 100) | 0;
  bytes[position] = ZERO + hundreds;
  return writeTwoDigits(bytes, position + 1, value - hundreds * 100);
}

/** `text` must be ASCII. */
export function writeText(bytes: Uint8Array, position: number, text: string): number {
  for (let i = 0; i < text.length; i += 1) bytes[position + i] = text.charCodeAt(i);
  return position + text.length;
}
