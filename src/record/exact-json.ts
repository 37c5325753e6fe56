import { parseFigure } from '../domain/decimal.ts';
import { rejected } from './fields.ts';

/**
 * Parses the JSON of recordings. Values take many times the memory of their text, so they are counted before they are parsed. A
 * double does not keep the digits of its number, so digits are checked in the text.
 */

/** Ten times the values of a book with LEVELS_MAX levels on both sides: lists of markets are longer than a book. */
export const JSON_VALUES_MAX = 700_000;
/** The same limit for parsing with a reviver, which takes several times the memory: a thousand markets, ten thousand levels. */
const REVIVED_VALUES_MAX = 200_000;
/** The engine never frees the shape that each new name makes; an object of markets by slug has a name per market. */
const NAMES_MAX = 50_000;
/** A shorter text cannot have too many values. */
const SMALL_CHARS = 128 * 1024;
/** A JSON number whose length or exponent means that a double may differ from it. */
const PERHAPS_INEXACT = /[:,[\s]-?(?:\d[\d.]{15,}|\d[\d.]*[eE])/;
/** The same for frames, whose integers are ids and times: only numbers with a decimal point are checked. */
const PERHAPS_ROUNDED = /[:,[\s]-?(?=\d+\.)[\d.]{18,}/;
/** A double keeps any number of up to this length, sign and point included. */
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

const STRING_OR_NAN = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g;

type NumberReader = (value: number, source: string) => unknown;

/**
 * Parses JSON, and refuses a number that a double would round. The limits for digits of prices and sizes are checked where
 * those fields are read. Throws DomainError 'rejected-record', even when the text is not JSON.
 */
export function parseJsonExactly(text: string): unknown {
  refuseTooManyValues(text, JSON_VALUES_MAX);
  if (PERHAPS_INEXACT.test(text)) refuseInexactNumbers(text);
  return parsedLine(text, undefined, parsedStrictly);
}

/**
 * Parses JSON; a number that a double would round becomes NaN, so that it is refused only if its field is read. Throws
 * DomainError 'rejected-record' when the text is not JSON.
 */
export function parseJsonFigures(text: string): unknown {
  refuseTooManyValues(text, REVIVED_VALUES_MAX);
  return parsedLine(text, (_value, source) => parseFigure(source) ?? Number.NaN);
}

/**
 * Parses JSON; a number that a double would round is its text, an id of any length for example. Throws DomainError 'rejected-record'
 * when the text is not JSON.
 */
export function parseJsonTexts(text: string): unknown {
  const isExact = !PERHAPS_INEXACT.test(text);
  refuseTooManyValues(text, isExact ? JSON_VALUES_MAX : REVIVED_VALUES_MAX);
  if (isExact) return parsedLine(text);
  return parsedLine(text, (value, source) => (parseFigure(source) === value ? value : source));
}

/**
 * Parses JSON; a number that a double would round stays a string. Decimal fields refuse it when they are read; a recorder's
 * own clock in nanoseconds is not read. Throws SyntaxError when the text is not JSON, DomainError 'rejected-record' when it has
 * too many values.
 */
export function parseFrameJson(text: string): unknown {
  refuseTooManyValues(text, REVIVED_VALUES_MAX);
  if (!PERHAPS_ROUNDED.test(text)) return parsed(text);
  return parsed(text, (value, source) => (parseFigure(source) === value ? value : source));
}

function parsedLine(text: string, read?: NumberReader, parse = parsed): unknown {
  try {
    return parse(text, read);
  } catch (error) {
    if (error instanceof SyntaxError) throw rejected('the line is not JSON');
    throw error;
  }
}

/** Parses JSON; where that fails, with null for the NaN and Infinity that Python's json writes, which are no JSON. */
function parsed(text: string, read?: NumberReader): unknown {
  try {
    return parsedStrictly(text, read);
  } catch (error) {
    const isPerhapsPython = error instanceof SyntaxError && /NaN|Infinity/.test(text);
    if (!isPerhapsPython) throw error;
    return parsedStrictly(withoutNaN(text), read);
  }
}

/** A text with null for each NaN, Infinity and -Infinity outside of its strings. */
export function withoutNaN(text: string): string {
  return text.replace(STRING_OR_NAN, (found) => (found.startsWith('"') ? found : 'null'));
}

function parsedStrictly(text: string, read?: NumberReader): unknown {
  try {
    if (read === undefined) return JSON.parse(text);
    return JSON.parse(text, (_name, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' ? read(value, context?.source ?? '') : value,
    );
  } catch (error) {
    // The nesting is deeper than the stack.
    if (error instanceof RangeError) throw rejected('the JSON is nested too deeply');
    throw error;
  }
}

/** Throws DomainError 'rejected-record' for a text with more than `valuesMax` values or NAMES_MAX different names. */
export function refuseTooManyValues(text: string, valuesMax: number = JSON_VALUES_MAX): void {
  if (text.length <= SMALL_CHARS) return;
  const names = new Set<string>();
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfText(text, at);
      if (isName(text, end)) names.add(text.slice(at + 1, end));
      if (names.size > NAMES_MAX) throw rejected(`the JSON has more than ${NAMES_MAX} different names`);
      at = end;
    } else if (code === COMMA || code === OPEN_ARRAY || code === OPEN_OBJECT) values += 1;
  }
  if (values > valuesMax) throw rejected(`the JSON has more than ${valuesMax} values`);
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

/** Returns true if a colon follows the string that ends at `end`. */
function isName(text: string, end: number): boolean {
  let at = end + 1;
  while (at < text.length && text.charCodeAt(at) <= BLANK) at += 1;
  return text.charCodeAt(at) === COLON;
}

/** The index of the quote that closes the string at `start`; the text's end when there is none. */
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
