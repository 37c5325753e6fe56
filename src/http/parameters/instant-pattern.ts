import { INSTANT_MAX_MS } from '../../domain/instant.ts';
import { integersBetween } from './integer-pattern.ts';

/**
 * A portable regular expression for the texts that `parseIso` reads. It knows which days exist. It cannot express that an offset
 * moves the first hours of 1970 and the last hours of 9999 out of the range.
 */
export const ISO_PATTERN = `^${isoTime()}$`;
/** The same for `parseInstant`. */
export const INSTANT_PATTERN = `^(${integersBetween(0, Number.MAX_SAFE_INTEGER)}|${isoTime()})$`;
/** The same for instants that `formatInstant` can write. */
export const WRITABLE_INSTANT_PATTERN = `^(${integersBetween(0, INSTANT_MAX_MS)}|${isoTime()})$`;

/** A day or a month that exists. */
export const DATE_PATTERN = `^(${isoDay()}|${year()}-(0[1-9]|1[0-2]))$`;

function isoDay(): string {
  const leapYear = '(19(7[26]|8[048]|9[26])|[2-9][0-9](0[48]|[2468][048]|[13579][26])|([2468][048]|[3579][26])00)';
  const day = '((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)';
  return `(${year()}-${day}|${leapYear}-02-29)`;
}

function isoTime(): string {
  const hoursAndMinutes = '([01][0-9]|2[0-3]):[0-5][0-9]';
  const clock = `T${hoursAndMinutes}(:[0-5][0-9]([.][0-9]{1,9})?)?(Z|[+-]${hoursAndMinutes})`;
  return `${isoDay()}(${clock})?`;
}

/** From 1970 to 9999. */
function year(): string {
  return '(19[7-9][0-9]|[2-9][0-9]{3})';
}
