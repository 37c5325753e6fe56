import { parseFigure } from '../../domain/decimal.ts';
import { rejected } from './fields.ts';

/**
 * What a text of JSON may hold, asked before it is parsed: what many values become takes many times the memory of their text,
 * and once it is a double a number no longer says how it was written. Whether a text is JSON is not asked here.
 */

/** Ten times as many as a book of LEVELS_MAX levels on both sides has; lists of markets are longer than that. */
export const JSON_VALUES_MAX = 700_000;
/** Texts that are parsed with a reviver, which takes several times as much: a thousand markets, ten thousand levels. */
export const REVIVED_VALUES_MAX = 200_000;
/** Every name makes another shape of objects, and those stay: a list of markets by their slugs has as many as it has markets. */
const NAMES_MAX = 50_000;
/** What is shorter cannot hold enough of them to matter. */
const SMALL_CHARS = 128 * 1024;
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
export function refuseInexactNumbers(text: string): void {
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

/** Where the quote stands that closes the text which begins at `start`; the text's end when there is none. */
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
