import { t } from 'elysia';
import { createType } from 'elysia/type-system/utils';
import { Kind } from 'typebox';

/** Key of a schema's type. A symbol: the API document, which is JSON, does not show it. */
const TYPE = Symbol('type');

/** The value of an invalid parameter. */
export class Refused {
  /** Completes the sentence `NAME …`; undefined if the query repeats the parameter. */
  readonly message: string | undefined;
  readonly place: 'path' | 'query';

  constructor(message: string | undefined, place: 'path' | 'query' = 'query') {
    this.message = message;
    this.place = place;
  }
}

/** The rules by which the texts of a parameter are read, refused and described. */
export interface ParameterType<T> {
  /** The value of a text; undefined if the text is invalid. */
  readonly read: (text: string) => T | undefined;
  /** Completes the sentence `NAME …` about an invalid text. */
  readonly refusal: string | ((text: string) => string);
  /** JSON Schema for the API document. */
  readonly schema: Readonly<Record<string, unknown>>;
}

/** Any text is read: the route refuses what it does not know. `pattern`: for the API document. */
export function anyText(pattern: string): ParameterType<string> {
  return { read: (text) => text, refusal: '', schema: { type: 'string', pattern } };
}

interface Annotations {
  /** Used if the parameter is left out: a text, or its value. */
  readonly default?: string | number;
  /** For a parameter that no example request has. */
  readonly example?: string | number;
}

/**
 * For schemas with messages of our own. Without it the framework also writes every refused schema as JSON, which takes 0.25 ms for
 * 30 parameters. The API document, which is JSON, does not show a function.
 */
const NO_FRAMEWORK_MESSAGE = { error: () => '' };

function typeOf(schema: object | undefined): ParameterType<unknown> | undefined {
  return (schema as { readonly [TYPE]?: ParameterType<unknown> } | undefined)?.[TYPE];
}

// Registers the kind in the copy of TypeBox that the framework uses.
createType('Parameter', (_, value) => value !== undefined && !(value instanceof Refused));

/**
 * The schema of one parameter. It has a kind of its own: TypeBox's integers accept `0x10` and ` 5`, its decoded texts are
 * described as strings, and decoding with them takes 10 µs per request.
 */
export function parameter<T>(type: ParameterType<T>, description: string, { example, ...rest }: Annotations = {}) {
  const shown = { ...type.schema, description, ...rest, ...(example === undefined ? {} : { examples: [example] }) };
  return t.Unsafe<T>({ ...shown, ...NO_FRAMEWORK_MESSAGE, [Kind]: 'Parameter', [TYPE]: type });
}

export function optional<T>(type: ParameterType<T>, description: string, example?: string | number) {
  return t.Optional(parameter(type, description, example === undefined ? {} : { example }));
}

/** The parameters of a path's query. All others are refused. */
export function parameters<T extends Parameters<typeof t.Object>[0]>(properties: T) {
  return t.Object(properties, { additionalProperties: false, ...NO_FRAMEWORK_MESSAGE });
}

/** The value of a parameter's text, or Refused if it is invalid. Without a schema it is the text. */
export function parameterValue(text: string, schema: object | undefined, place: 'path' | 'query' = 'query'): unknown {
  const type = typeOf(schema);
  return type === undefined ? text : (type.read(text) ?? new Refused(messageOf(type, text), place));
}

function messageOf({ refusal }: ParameterType<unknown>, text: string): string {
  return typeof refusal === 'string' ? refusal : refusal(text);
}

/**
 * The values of a query by name, read by the schemas of these names. Text is literal: `+` is a plus sign, and nothing is trimmed.
 * The framework's parser reads form data, in which `+` is a space. `search` has no question mark; its escapes are well formed.
 */
export function queryIn(search: string, schemas: Readonly<Record<string, object>>): Record<string, unknown> {
  const query: Record<string, unknown> = Object.create(null);
  for (const [name, text] of pairsIn(search)) {
    query[name] = name in query ? new Refused(undefined) : parameterValue(text, schemas[name]);
  }
  return query;
}

/** Name and text of each parameter of a query, with repetitions. */
export function pairsIn(search: string): readonly (readonly [name: string, text: string])[] {
  const pairs: (readonly [name: string, text: string])[] = [];
  for (let start = 0, end = 0; start < search.length; start = end + 1) {
    const ampersand = search.indexOf('&', start);
    end = ampersand < 0 ? search.length : ampersand;
    if (end > start) pairs.push(pairOf(search.slice(start, end)));
  }
  return pairs;
}

function pairOf(pair: string): readonly [name: string, text: string] {
  const equals = pair.indexOf('=');
  return equals < 0 ? [unescaped(pair), ''] : [unescaped(pair.slice(0, equals)), unescaped(pair.slice(equals + 1))];
}

function unescaped(text: string): string {
  return text.includes('%') ? decodeURIComponent(text) : text;
}

/** Why a value of a query or a path is invalid: the end of a sentence that begins with its name. `names`: all allowed names. */
export function refusalOf(schema: object, value: unknown, names: readonly string[]): string {
  if (value instanceof Refused && value.place === 'path') return value.message!;
  const allowed = `the path takes ${names.length === 0 ? 'none' : names.join(', ')}`;
  const type = typeOf(schema);
  if (type === undefined) return `is not a parameter of this path: ${allowed}`;
  if (!(value instanceof Refused)) return messageOf(type, '');
  return value.message ?? `is given more than once: give it once (${allowed})`;
}
