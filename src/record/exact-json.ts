import { parseFigure } from '../domain/decimal.ts';
import { rejected } from './fields.ts';

/**
 * JSON as recordings are read. Values take many times the memory of their text, so they are counted before they are parsed; and a
 * double does not tell how its number was written, so digits are checked in the text.
 */

/** Ten times as many as a book of LEVELS_MAX levels on both sides has; lists of markets are longer than that. */
export const JSON_VALUES_MAX = 700_000;
/** Texts that are parsed with a reviver, which takes several times as much: a thousand markets, ten thousand levels. */
const REVIVED_VALUES_MAX = 200_000;
/** Every name makes another shape of objects, and those stay: a list of markets by their slugs has as many as it has markets. */
const NAMES_MAX = 50_000;
/** What is shorter cannot hold enough of them to matter. */
const SMALL_CHARS = 128 * 1024;
/** A number of JSON that is long enough, or written so, that a double may differ from it. */
const PERHAPS_INEXACT = /[:,[\s]-?(?:\d[\d.]{15,}|\d[\d.]*[eE])/;
/** The same of frames, whose integers are ids and times: a number with a point and so many digits. */
const PERHAPS_ROUNDED = /[:,[\s]-?(?=\d+\.)[\d.]{18,}/;
/** Digits that any double carries unchanged, with a sign and a point. */
const SHORT_NUMBER_CHARS = 15;
const SHOWN_CHARS = 40;

const BLANK = 32;
const QUOTE = 34;
const PLUS = 43;
const COMMA = 44;
const MINUS = 45;
const POINT = 46;
const [ZERO, NINE] = [48, 57];
const COLON = 58;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const OPEN_OBJECT = 123;

/** Makes a value of a number and the text it was written as. */
type NumberReader = (value: number, source: string) => unknown;

/**
 * JSON whose numbers are exact: one that a double would round is refused, not rounded. How many digits a price or size of a book
 * may have is checked where it is read. Throws DomainError 'rejected-record' for what is not JSON.
 */
export function parseJsonExactly(text: string): unknown {
  refuseTooManyValues(text, JSON_VALUES_MAX);
  if (PERHAPS_INEXACT.test(text)) refuseInexactNumbers(text);
  return parsedLine(text);
}

/**
 * JSON in which a number that a double does not carry unchanged is NaN, so that one that nobody asks for does no harm. Throws
 * DomainError 'rejected-record' for what is not JSON.
 */
export function parseJsonFigures(text: string): unknown {
  refuseTooManyValues(text, REVIVED_VALUES_MAX);
  return parsedLine(text, (_value, source) => parseFigure(source) ?? Number.NaN);
}

/**
 * JSON in which a number that a double would round stays the text it was: it is refused where it is read as a decimal, and a
 * recorder's own clock in nanoseconds does no harm. Throws SyntaxError for what is not JSON, and DomainError
 * 'rejected-record' for what is too much of it.
 */
export function parseFrameJson(text: string): unknown {
  refuseTooManyValues(text, REVIVED_VALUES_MAX);
  if (!PERHAPS_ROUNDED.test(text)) return parsed(text);
  return parsed(text, (value, source) => (parseFigure(source) === value ? value : source));
}

function parsedLine(text: string, read?: NumberReader): unknown {
  try {
    return parsed(text, read);
  } catch (error) {
    if (error instanceof SyntaxError) throw rejected('the line is not JSON');
    throw error;
  }
}

function parsed(text: string, read?: NumberReader): unknown {
  try {
    if (read === undefined) return JSON.parse(text);
    return JSON.parse(text, (_name, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' ? read(value, context?.source ?? '') : value,
    );
  } catch (error) {
    // What recursion has no room for.
    if (error instanceof RangeError) throw rejected('the JSON is nested too deeply');
    throw error;
  }
}

/** Throws DomainError 'rejected-record' for a text of more than `valuesMax` values, or of more than NAMES_MAX different names. */
export function refuseTooManyValues(text: string, valuesMax: number = JSON_VALUES_MAX): void {
  if (text.length <= SMALL_CHARS) return;
  const names = new Set<string>();
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfText(text, at);
      if (isName(text, end)) names.add(text.slice(at + 1, end));
      if (names.size > NAMES_MAX) throw rejected(`the JSON holds more than ${NAMES_MAX} different names`);
      at = end;
    } else if (code === COMMA || code === OPEN_ARRAY || code === OPEN_OBJECT) values += 1;
  }
  if (values > valuesMax) throw rejected(`the JSON holds more than ${valuesMax} values`);
}

/** Throws DomainError 'rejected-record' for a text with a number that a double would round. */
function refuseInexactNumbers(text: string): void {
  let name = '';
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfText(text, at);
      if (isName(text, end)) name = text.slice(at + 1, Math.min(end, at + 1 + SHOWN_CHARS));
      at = end;
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      const end = endOfNumber(text, at);
      refuseInexact(name, text.slice(at, end));
      at = end - 1;
    }
  }
}

function refuseInexact(name: string, number: string): void {
  if (number.length <= SHORT_NUMBER_CHARS && !/[eE]/.test(number)) return;
  // Ids and times are integers of up to 16 digits.
  if (/^\d+$/.test(number) && Number.isSafeInteger(Number(number))) return;
  if (parseFigure(number) !== undefined) return;
  throw rejected(`${name} ${number.slice(0, SHOWN_CHARS)} has more digits than can be kept exactly`.trimStart());
}

/** Whether the text that is closed at `end` is followed by a colon. */
function isName(text: string, end: number): boolean {
  let at = end + 1;
  while (at < text.length && text.charCodeAt(at) <= BLANK) at += 1;
  return text.charCodeAt(at) === COLON;
}

/** The index of the quote that closes the text which begins at `start`; the text's end when there is none. */
function endOfText(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}

function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && isOfNumber(text.charCodeAt(at))) at += 1;
  return at;
}

function isOfNumber(code: number): boolean {
  return (code >= ZERO && code <= NINE) || code === POINT || code === PLUS || code === MINUS || (code | 32) === 101;
}
