import { DECIMAL_PLACES_MAX, decimalPlaces, powerOfTen } from '../domain/decimal.ts';
import { damaged, type VarintReader } from './varint.ts';

/**
 * A column of decimals is written as integers value · 10^scale with one scale for the whole segment. When no scale makes
 * every value an exact integer (10^14 next to 10^-12), the scale is DOUBLES and the values are written as doubles.
 */
export const DOUBLES = 31;

/** A midpoint may have one decimal more than the two prices that it is computed from. */
const SCALE_MAX = DECIMAL_PLACES_MAX + 1;
/**
 * Below this, `value · 10^scale` rounds to the right integer: the double and the product are each off by up to 2^-53 of
 * it, which is half a unit from 2^51 on. (A difference of two such integers fits 53 bits as well.)
 */
const SCALED_MAX = 2 ** 51;

/** The result of `placesAtLeast` for a value that no scale makes an integer: its column is written as doubles. */
const NO_SCALE = 22;

/** The larger of `places` and the number of decimals of `value`; NO_SCALE when no scale fits. */
export function placesAtLeast(places: number, value: number): number {
  if (places === NO_SCALE) return NO_SCALE;
  const power = powerOfTen(places);
  // Most values fit the scale so far: one multiplication shows it.
  if (Math.round(value * power) / power === value) return places;
  const own = decimalPlaces(value);
  if (own !== undefined) return Math.max(places, own);
  const finest = powerOfTen(SCALE_MAX);
  return Math.round(value * finest) / finest === value && value * finest < SCALED_MAX ? SCALE_MAX : NO_SCALE;
}

/** The scale for a column whose values have up to `places` decimals and are at most `largest`. */
export function columnScale(places: number, largest: number): number {
  return places !== NO_SCALE && largest * powerOfTen(places) < SCALED_MAX ? places : DOUBLES;
}

export function scaleOf(values: readonly number[]): number {
  let places = 0;
  let largest = 0;
  for (const value of values) {
    places = placesAtLeast(places, value);
    if (value > largest) largest = value;
  }
  return columnScale(places, largest);
}

/** A value in units of 10^-scale: divided by `divisorOf(scale)` it is the decimal. */
export function readScaled(reader: VarintReader, scale: number): number {
  return scale === DOUBLES ? reader.double() : reader.unsigned();
}

/** The units of a scale in one whole. */
export function divisorOf(scale: number): number {
  return scale === DOUBLES ? 1 : powerOfTen(scale);
}

export function readScale(reader: VarintReader): number {
  const scale = reader.unsigned();
  if (scale > SCALE_MAX && scale !== DOUBLES) throw damaged();
  return scale;
}
