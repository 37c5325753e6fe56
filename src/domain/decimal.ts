/**
 * Exact decimals in doubles. A decimal of at most 15 significant digits is unchanged after conversion to a double and back to
 * the shortest text (IEEE 754 binary64 guarantees DBL_DIG = 15). So a number that passed `parseDecimal` or `isExactDecimal`
 * *is* the written decimal; this program never rounds one.
 */
export const DECIMAL_PLACES_MAX = 12;
export const SIGNIFICANT_DIGITS_MAX = 15;

/** Longer texts are refused: no publisher writes them, and reading them takes time. */
const DECIMAL_CHARS_MAX = 400;
const DECIMAL_TEXT = /^(-?)(\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;
const POINT = 46;
const ZERO = 48;
const NINE = 57;
const POWERS_OF_TEN = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));

/** 10^exponent, exact for 0 ≤ exponent ≤ 22. */
export function powerOfTen(exponent: number): number {
  return POWERS_OF_TEN[exponent]!;
}

/**
 * Reads a decimal as JSON or a venue writes it (`0.48`, `.48`, `-3`, `1e3`).
 * Undefined when it is not a decimal, or needs more than 12 decimals or 15 significant digits: it is refused rather than
 * rounded. Trailing zeros (`0.4800`) do not count.
 */
export function parseDecimal(text: string): number | undefined {
  return isPlainDecimal(text) ? Number(text) : parseAnyDecimal(text);
}

/** `123`, `0.48`: digits with at most one point among them, within the limits. Most numbers in recordings are of this form. */
function isPlainDecimal(text: string): boolean {
  const length = text.length;
  if (length === 0 || length > SIGNIFICANT_DIGITS_MAX) return false;
  let point = -1;
  for (let i = 0; i < length; i += 1) {
    const code = text.charCodeAt(i);
    if (code === POINT && point < 0 && i > 0) point = i;
    else if (code < ZERO || code > NINE) return false;
  }
  if (point === length - 1) return false;
  if (text.charCodeAt(0) === ZERO && length > 1 && point !== 1) return false;
  return point < 0 || length - 1 - point <= DECIMAL_PLACES_MAX;
}

function parseAnyDecimal(text: string): number | undefined {
  if (text.length > DECIMAL_CHARS_MAX) return undefined;
  const match = DECIMAL_TEXT.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponentText = '0'] = match;
  if (whole === '' && fraction === '') return undefined;
  if (whole.length > 1 && whole.startsWith('0')) return undefined;
  const exponent = Number(exponentText);
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return 0;
  const decimals = fraction.length - exponent - (digits.length - significant.length);
  if (decimals > DECIMAL_PLACES_MAX) return undefined;
  // Trailing zeros of an integer, or of a positive exponent, count as digits: a double must keep them too.
  if (significant.length + Math.max(0, -decimals) > SIGNIFICANT_DIGITS_MAX) return undefined;
  const value = Number(`${significant}e${-decimals}`);
  return sign === '-' ? -value : value;
}

/** The number of decimals of `value` (0…12); undefined when it needs more than 12, or more than 15 significant digits. */
export function decimalPlaces(value: number): number | undefined {
  const magnitude = Math.abs(value);
  if (!(magnitude < 1e15)) return undefined;
  for (let places = 0; places <= DECIMAL_PLACES_MAX; places += 1) {
    const scaled = Math.round(magnitude * POWERS_OF_TEN[places]!);
    if (scaled >= 1e15) return undefined;
    // An exact integer divided by an exact power of ten is the double nearest to that decimal.
    if (scaled / POWERS_OF_TEN[places]! === magnitude) return places;
  }
  return undefined;
}

/** Returns true if a parsed JSON number is an exact decimal within the limits, see `decimalPlaces`. */
export function isExactDecimal(value: number): boolean {
  return decimalPlaces(value) !== undefined;
}

/**
 * Reads a number that its publisher computed in binary floating point: a reference price, a volume, a liquidity. It is
 * accepted when the shortest text of its double is the written decimal: always with 15 significant digits, often with 16 or
 * 17. Undefined when a double would round it, or it is not a decimal.
 */
export function parseFigure(text: string): number | undefined {
  const decimal = parseDecimal(text);
  if (decimal !== undefined || text.length > DECIMAL_CHARS_MAX) return decimal;
  const match = DECIMAL_TEXT.exec(text);
  if (match === null || (match[2] === '' && match[3] === undefined) || /^-?0\d/.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) && significantOf(text) === significantOf(String(value)) ? value : undefined;
}

/** Sign, significant digits and their power of ten: equal texts are equal decimals. */
function significantOf(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = DECIMAL_TEXT.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  const power = Number(exponent) - fraction.length + (digits.length - significant.length);
  return significant === '' ? '0' : `${sign}${significant}e${power}`;
}

/** `value · 10^scale` as an integer. `value` must have at most `scale` decimals and the result be below 2^51. */
export function toScaled(value: number, scale: number): number {
  return Math.round(value * POWERS_OF_TEN[scale]!);
}

/** `value · 10^scale` as an integer of any size; undefined if the shortest decimal of `value` has more than `scale` decimals. */
export function scaledInteger(value: number, scale: number): bigint | undefined {
  const scaled = toScaled(value, scale);
  if (Math.abs(scaled) < 2 ** 51 && scaled / POWERS_OF_TEN[scale]! === value) return BigInt(scaled);
  const { units, places } = unitsOf(value);
  return places > scale ? undefined : units * 10n ** BigInt(scale - places);
}

/** A non-negative decimal in digits, never with an exponent. */
export function decimalText(value: number): string {
  if (value >= 1e-6 || value === 0) return String(value);
  return value.toFixed(DECIMAL_PLACES_MAX).replace(/0+$/, '');
}

/** The sum of non-negative decimals, rounded once: exact up to 15 significant digits, else the nearest double. */
export function sumOfDecimals(values: readonly number[]): number {
  const sum = new DecimalSum();
  for (const value of values) sum.add(value);
  return sum.value;
}

/** Adds non-negative decimals one by one. */
export class DecimalSum {
  #units = 0n;

  add(value: number): void {
    this.#units += smallestUnits(value);
  }

  /** The sum so far, rounded as by `sumOfDecimals`. */
  get value(): number {
    return fromSmallestUnits(this.#units);
  }
}

/** For each decimal, the sum of it and all before it, rounded as by `sumOfDecimals`. */
export function runningSums(values: readonly number[]): number[] {
  let sum = 0n;
  return values.map((value) => {
    sum += smallestUnits(value);
    return fromSmallestUnits(sum);
  });
}

function fromSmallestUnits(units: bigint): number {
  return Number(`${units}e-${DECIMAL_PLACES_MAX}`);
}

/** A non-negative decimal in units of its last possible place. */
export function smallestUnits(value: number): bigint {
  const { units, places } = unitsOf(value);
  return units * 10n ** BigInt(DECIMAL_PLACES_MAX - places);
}

/** a - b without rounding, as an integer with an exponent, `-325e-2`: the difference of the shortest decimals of two doubles. */
export function differenceText(a: number, b: number): string {
  const [first, second] = [unitsOf(a), unitsOf(b)];
  const places = Math.max(first.places, second.places);
  const scaled = ({ units, places: own }: typeof first) => units * 10n ** BigInt(places - own);
  return `${scaled(first) - scaled(second)}e${-places}`;
}

function unitsOf(value: number): { readonly units: bigint; readonly places: number } {
  const [mantissa = '', exponent = '0'] = String(value).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { units: BigInt(whole + fraction), places: fraction.length - Number(exponent) };
}

/** At least one digit, on either side of the point. */
const WRITTEN = /^(-?)(?=\.?\d)(\d{0,40})(?:\.(\d{1,60}))?(?:[eE]([+-]?\d{1,2}))?$/;

/** The exact product of two decimals, which may have exponents; undefined for any other texts, and for lengths as in `roundedDecimal`. */
export function productText(a: string, b: string): string | undefined {
  const [first, second] = [WRITTEN.exec(a), WRITTEN.exec(b)];
  if (first === null || second === null) return undefined;
  const of = ([, sign, whole, fraction = '', exponent = '0']: RegExpExecArray) => ({
    units: BigInt(`${sign}${whole}${fraction}`),
    power: Number(exponent) - fraction.length,
  });
  const [x, y] = [of(first), of(second)];
  const [units, power] = [x.units * y.units, x.power + y.power];
  if (power >= 0) return String(units * 10n ** BigInt(power));
  const digits = String(units)
    .replace('-', '')
    .padStart(1 - power, '0');
  return `${units < 0n ? '-' : ''}${digits.slice(0, power)}.${digits.slice(power)}`;
}

/**
 * Rounds a decimal, which may have an exponent, to at most `decimals` decimals, half away from zero, exactly in integers. Undefined for
 * any other text, and for more than 40 digits before the point or 60 after it.
 */
export function roundedDecimal(text: string, decimals: number): string | undefined {
  const [, sign, whole, fraction = '', exponent = '0'] = WRITTEN.exec(text) ?? [];
  if (whole === undefined) return undefined;
  // The value is `digits` of 10^-scale.
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  const cut = scale - decimals;
  const unit = 10n ** BigInt(Math.abs(cut));
  const kept = cut <= 0 ? digits * unit : (digits + unit / 2n) / unit;
  const shown = kept.toString().padStart(decimals + 1, '0');
  const [before, after] = [shown.slice(0, shown.length - decimals), shown.slice(shown.length - decimals)];
  const ending = after.replace(/0+$/, '');
  return `${kept === 0n ? '' : sign}${before}${ending === '' ? '' : `.${ending}`}`;
}
