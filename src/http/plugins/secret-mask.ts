import { UNPRINTABLE } from '../../domain/unprintable.ts';
import { QUERY } from '../parameters/query.ts';

const MASK = '…';
const TARGET_CHARS_MAX = 400;
const PARAMETERS_MAX = 16;
/** Words of slugs and names of programs are shorter; bookreel's keys have 47 characters in a row. */
const LONG_RUN = /\w{20,}/g;
const LONG_RUN_CHARS = 20;
/** Public ids: a conditionId in hex, an asset id in decimals. */
const PUBLIC_ID = /^(?:0x[0-9a-f]+|\d+)$/i;
const KEY_PREFIX = /br_(?:live|view)_\w*/gi;
const PRINTABLE_ASCII = /^[ -~]*$/;
/** Values of bookreel's parameters: integers, instants, names and lists of them. Cursors look like secrets, and are masked. */
const PLAIN_VALUE = /^[\w.:+-]{0,40}(?:,[\w.:+-]{0,40})*$/;
const SHOWN: ReadonlySet<string> = new Set(Object.keys(QUERY).filter((name) => name !== 'cursor'));
/** Short words between separators, as in slugs and instants. */
const WORDS = '(?:[A-Za-z0-9]{1,19}[.:-])*[A-Za-z0-9]{0,19}';
const PARAMETER = `(?:${[...SHOWN].join('|')})=(?=[^&]{0,40}(?:&|$))${WORDS}`;
/** Targets in which nothing is masked: nearly all. Recognising one takes a fifth of the time of masking it. */
const ORDINARY = new RegExp(
  `^(?:/(?:0x[0-9a-f]{64}|${WORDS}))+(?:\\?${PARAMETER}(?:&${PARAMETER}){0,${PARAMETERS_MAX - 1}})?$`,
);

/**
 * Path and query of a URL for the log. Possible keys are masked: texts that look like a key, plain or percent-encoded, and values of
 * unknown parameters. At most TARGET_CHARS_MAX characters and PARAMETERS_MAX parameters; no control characters.
 */
export function maskedTarget(url: string): string {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('//') + 2);
  const whole = start < 0 ? '/' : start === 0 ? url : url.slice(start);
  if (whole.length <= TARGET_CHARS_MAX && ORDINARY.test(whole)) return whole;
  const target = whole.length > TARGET_CHARS_MAX ? whole.slice(0, TARGET_CHARS_MAX) : whole;
  const question = target.indexOf('?');
  const path = maskedPath(question < 0 ? target : target.slice(0, question));
  const query = question < 0 ? '' : `?${maskedQuery(target.slice(question + 1))}`;
  const cut = target.length < whole.length ? MASK : '';
  return printableAscii(`${path}${query}${cut}`);
}

/** Any other text of a client for the log: possible keys masked, no control characters, cut to `charsMax`. */
export function maskedText(text: string, charsMax: number): string {
  const shown = printableAscii(maskedEscapes(text.slice(0, charsMax)));
  return text.length > charsMax && !shown.endsWith(MASK) ? `${shown}${MASK}` : shown;
}

/** Returns true if a text contains the prefix of a key. */
export function looksLikeKey(text: string): boolean {
  return text.search(KEY_PREFIX) >= 0;
}

/** A slash ends a word, so a path without escapes is masked as a whole. */
function maskedPath(path: string): string {
  return path.includes('%') ? path.split('/').map(maskedEscapes).join('/') : masked(path);
}

function maskedQuery(query: string): string {
  const parameters = query.split('&', PARAMETERS_MAX + 1);
  const shown = parameters.slice(0, PARAMETERS_MAX).map((parameter) => {
    const equals = parameter.indexOf('=');
    if (equals < 0) return maskedEscapes(parameter);
    const name = parameter.slice(0, equals);
    const value = parameter.slice(equals + 1);
    return SHOWN.has(name) && isPlainValue(value) ? parameter : `${maskedEscapes(name)}=${MASK}`;
  });
  if (parameters.length > PARAMETERS_MAX) shown.push(MASK);
  return shown.join('&');
}

function isPlainValue(value: string): boolean {
  const decoded = decode(value);
  return decoded !== undefined && PLAIN_VALUE.test(decoded) && masked(decoded) === decoded;
}

/** The piece if it contains no key when decoded, else the mask. */
function maskedEscapes(piece: string): string {
  if (!piece.includes('%')) return masked(piece);
  const decoded = decode(piece);
  // Ordinary requests have no nested escapes.
  if (decoded === undefined || decoded.includes('%') || masked(decoded) !== decoded) return MASK;
  return piece;
}

function masked(text: string): string {
  const shown =
    text.length < LONG_RUN_CHARS ? text : text.replace(LONG_RUN, (run) => (PUBLIC_ID.test(run) ? run : MASK));
  // Nearly all texts have none, and to look for the prefix in any case takes longer.
  return shown.includes('_') ? shown.replace(KEY_PREFIX, MASK) : shown;
}

/** The decoded text; undefined if its escapes are malformed. */
function decode(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    // URIError.
    return undefined;
  }
}

function printableAscii(text: string): string {
  if (PRINTABLE_ASCII.test(text)) return text;
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}
