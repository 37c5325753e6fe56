import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { DomainError } from '../../domain/errors.ts';
import { nearestWord } from '../../domain/nearest-word.ts';
import { type Fields, isFields } from '../../record/fields.ts';

/** The error for a mapping. `problem` names the key. */
export function refusedMapping(mapping: string, problem: string): DomainError {
  return new DomainError('invalid-parameter', `in the mapping '${mapping}' ${problem}`);
}

/**
 * A value of a mapping, checked by its schema; a text where a table with `mayBeField` belongs becomes `{ field: text }`. Throws
 * 'invalid-parameter' with the name of the first wrong key. `key` is the key of the value.
 */
export function checkedTable<S extends TSchema>(schema: S, value: unknown, key: string, mapping: string): Static<S> {
  const written = withFields(schema, value);
  const problem = problemOf(schema, written, key);
  if (problem !== undefined) throw refusedMapping(mapping, problem);
  if (Value.Check(schema, written)) return written;
  throw refusedMapping(mapping, `${key} is malformed: see 'bookreel manual mappings'`);
}

function withFields(schema: TSchema, value: unknown): unknown {
  if (schema.mayBeField === true && typeof value === 'string') return { field: value };
  if (schema.type !== 'object' || !isFields(value)) return value;
  const entries = Object.entries(value).map(([name, inner]) => {
    const below = propertiesOf(schema)[name];
    return [name, below === undefined ? inner : withFields(below, inner)] as const;
  });
  return Object.fromEntries(entries);
}

function problemOf(schema: TSchema, value: unknown, key: string): string | undefined {
  if (schema.type !== 'object') return Value.Check(schema, value) ? undefined : `${key} must be ${expected(schema)}`;
  if (!isFields(value)) return `${key} must be ${expected(schema)}`;
  const properties = propertiesOf(schema);
  for (const name of Object.keys(value)) {
    if (!(name in properties)) return unknownKey(`${key}.${name}`, name, Object.keys(properties), `${key}.`);
  }
  const missing = missingOf(schema).find((name) => !(name in value));
  if (missing !== undefined) return `${key}.${missing} is not stated: add it`;
  for (const [name, inner] of Object.entries(value)) {
    const problem = problemOf(properties[name]!, inner, `${key}.${name}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The problem of an unknown key. `names` are the keys that are known in its place, whose full names begin with `prefix`. */
export function unknownKey(key: string, name: string, names: readonly string[], prefix: string): string {
  const nearest = nearestWord(name, names);
  const advice = nearest === undefined ? `the keys are ${names.join(', ')}` : `did you mean ${prefix}${nearest}?`;
  return `${key} is not a key: ${advice}`;
}

function propertiesOf(schema: TSchema): Readonly<Record<string, TSchema>> {
  return schema.properties ?? {};
}

function missingOf(schema: TSchema): readonly string[] {
  return schema.required ?? [];
}

/** The end of "KEY must be …". */
function expected(schema: TSchema): string {
  if (schema.mayBeField === true) return 'the name of a field in quotes, or a table';
  if (schema.type === 'object') return 'a table';
  if (schema.type === 'number') return `a number from ${schema.minimum} to ${schema.maximum}`;
  if (schema.type === 'boolean') return 'true or false';
  if (schema.type === 'integer') return `a whole number from ${schema.minimum} to ${schema.maximum}`;
  if (schema.type === 'array') return 'a list of texts in quotes';
  const words: unknown[] = (schema.anyOf ?? [schema]).map((one: Fields) => one.const);
  if (words.every((word) => word !== undefined)) return words.map((word) => `"${word}"`).join(' or ');
  if (schema.anyOf !== undefined) return 'the name of a member in quotes, or an index from 0 to 99';
  return schema.maxLength === 2 ? 'one or two characters in quotes' : 'a text in quotes that is not empty';
}
