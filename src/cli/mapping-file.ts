import { InvalidArgumentError } from '@commander-js/extra-typings';
import { DomainError } from '../domain/errors.ts';
import { nearestWord } from '../domain/nearest-word.ts';
import { checkedMapping } from '../import/mapping/checked-mapping.ts';
import type { Mapping } from '../import/mapping/mapping-schema.ts';
import { SHIPPED_MAPPINGS } from '../import/mapping/shipped-mappings.ts';
import { type Fields, isFields } from '../record/fields.ts';
import { parsedToml, tomlOf } from './toml-file.ts';

/** A key of a mapping and the text that it gets; an empty text removes the key. */
export interface MappingChange {
  readonly path: readonly string[];
  readonly text: string;
}

/** Parses the value of `--set`, for commander. */
export function mappingChange(option: string, before: readonly MappingChange[] = []): MappingChange[] {
  const [, key, text] = /^([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*)=(.*)$/s.exec(option) ?? [];
  if (key === undefined)
    throw new InvalidArgumentError(
      'It must be a key, = and a text, like time.zone=UTC; without a text the key is removed.',
    );
  return [...before, { path: key.split('.'), text: text! }];
}

/**
 * Reads a mapping from a file, or the shipped one of this name. A name with a point or a slash is a path. Throws
 * 'invalid-parameter' as `parsedToml` and `checkedMapping` do.
 */
export function readMapping(name: string, changes: readonly MappingChange[]): Mapping {
  return checkedMapping(changes.reduce(changed, tomlOfMapping(name)), name);
}

function tomlOfMapping(name: string): Fields {
  if (/[./\\]/.test(name)) return parsedToml(name);
  const names = Object.keys(SHIPPED_MAPPINGS);
  if (names.includes(name)) return tomlOf(SHIPPED_MAPPINGS[name]!, name);
  const nearest = nearestWord(name, names);
  const advice = nearest === undefined ? `the names are ${names.join(', ')}` : `did you mean ${nearest}?`;
  throw new DomainError(
    'invalid-parameter',
    `there is no mapping '${name}': ${advice} (a file needs its extension or ./)`,
  );
}

/** The tables with one text set or removed. A field's name in place of a table becomes a table with that field. */
function changed(toml: Fields, { path, text }: MappingChange): Fields {
  const [key = '', ...below] = path;
  const { [key]: removed, ...others } = toml;
  if (text === '' && removed === undefined) {
    throw new DomainError(
      'invalid-parameter',
      `--set is to remove ${key}, which the mapping does not have: check the name of the key`,
    );
  }
  if (below.length === 0) return text === '' ? others : { ...others, [key]: text };
  const table = toml[key];
  const inner = isFields(table) ? table : typeof table === 'string' ? { field: table } : {};
  return { ...others, [key]: changed(inner, { path: below, text }) };
}
