import { t } from 'elysia';
import { createType } from 'elysia/type-system/utils';
import { Kind } from 'typebox';

/** Key of a schema's rule. A symbol: the API document, which is JSON, does not show it. */
const RULE = Symbol('rule');

/** The value of a parameter that is refused. */
export class Refused {
  /** Completes the sentence `NAME …`; undefined where a query has the parameter more than once. */
  readonly message: string | undefined;
  readonly place: 'path' | 'query';

  constructor(message: string | undefined, place: 'path' | 'query' = 'query') {
    this.message = message;
    this.place = place;
  }
}

interface Rule<T> {
  /** The value of a text; undefined where the text is refused. */
  readonly read: (text: string) => T | undefined;
  /** Completes the sentence `NAME …` about a text that is refused. */
  readonly refusal: string | ((text: string) => string);
}

/** What the API document says of a parameter. */
export interface Description {
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
  /** Read where the parameter is left out: as a text, or as its value. */
  readonly default?: string | number;
  /** Of a parameter that no recorded request has. */
  readonly example?: string | number;
}

/**
 * For a schema whose refusals are worded here: else the framework words them too, as JSON of every schema that refused, which
 * takes 0.25 ms for 30 parameters. The API document, which is JSON, does not show a function.
 */
const UNWORDED = { error: () => '' };

function ruleOf(schema: object | undefined): Rule<unknown> | undefined {
  return (schema as { readonly [RULE]?: Rule<unknown> } | undefined)?.[RULE];
}

// Known to the copy of TypeBox that the framework checks with.
createType('Parameter', (_, value) => value !== undefined && !(value instanceof Refused));

/**
 * The schema of one parameter: `rule` reads it, the rest describes it in the API document. A kind of our own: TypeBox's integers
 * accept `0x10` and ` 5`, its decoded texts are described as strings, and decoding with them takes 10 µs a request.
 */
export function parameter<T>(rule: Rule<T>, { schema, example, ...rest }: Description) {
  const examples = example === undefined ? {} : { examples: [example] };
  return t.Unsafe<T>({ ...schema, ...rest, ...examples, ...UNWORDED, [Kind]: 'Parameter', [RULE]: rule });
}

/** Parameters by name; others are refused. */
export function parameters<T extends Parameters<typeof t.Object>[0]>(properties: T) {
  return t.Object(properties, { additionalProperties: false, ...UNWORDED });
}

/**
 * The value of a parameter's text, or Refused, which its schema refuses. Without a schema: the text, as a parameter that no
 * route has.
 */
export function parameterValue(text: string, schema: object | undefined, place: 'path' | 'query' = 'query'): unknown {
  const rule = ruleOf(schema);
  return rule === undefined ? text : (rule.read(text) ?? new Refused(refusalOfText(rule, text), place));
}

function refusalOfText({ refusal }: Rule<unknown>, text: string): string {
  return typeof refusal === 'string' ? refusal : refusal(text);
}

/**
 * The values of a query by name, by the schemas of these names. Text is literal: `+` is a plus sign, and nothing is trimmed. The
 * framework's parser reads forms, in which `+` is a space. `search` is without its question mark, and its escapes are well formed.
 */
export function queryIn(search: string, schemas: Readonly<Record<string, object>>): Record<string, unknown> {
  const query: Record<string, unknown> = Object.create(null);
  for (const [name, text] of pairsIn(search)) {
    query[name] = name in query ? new Refused(undefined) : parameterValue(text, schemas[name]);
  }
  return query;
}

/** Name and text of each parameter of a query, as often as it is there. */
export function pairsIn(search: string): readonly (readonly [name: string, text: string])[] {
  if (search === '') return [];
  const pairs = search.split('&').filter((pair) => pair !== '');
  return pairs.map((pair) => {
    const equals = pair.indexOf('=');
    return equals < 0 ? [unescaped(pair), ''] : [unescaped(pair.slice(0, equals)), unescaped(pair.slice(equals + 1))];
  });
}

function unescaped(text: string): string {
  return text.includes('%') ? decodeURIComponent(text) : text;
}

/** What is wrong with a value of a query or a path: the end of a sentence that begins with its name. `names`: those it may have. */
export function refusalOf(schema: object, value: unknown, names: readonly string[]): string {
  if (value instanceof Refused && value.place === 'path') return value.message!;
  const allowed = names.length === 0 ? 'there are none' : `allowed are ${names.join(', ')}`;
  const rule = ruleOf(schema);
  if (rule === undefined) return `is not a parameter of this path: ${allowed}`;
  if (!(value instanceof Refused)) return refusalOfText(rule, '');
  return value.message ?? `is given more than once: give it once (${allowed})`;
}
