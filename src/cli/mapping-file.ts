import { InvalidArgumentError } from 'commander';
import { checkedMapping } from '../import/mapping/checked-mapping.ts';
import type { Mapping } from '../import/mapping/mapping-schema.ts';
import { type Fields, isFields } from '../record/fields.ts';
import { parsedToml } from './toml-file.ts';

/** A key of a mapping and the text that it gets. */
export interface MappingChange {
  readonly path: readonly string[];
  readonly text: string;
}

/** Parses the value of `--set`, for commander. */
export function mappingChange(option: string, before: readonly MappingChange[] = []): MappingChange[] {
  const [, key, text] = /^([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*)=(.+)$/s.exec(option) ?? [];
  if (key === undefined) throw new InvalidArgumentError('It must be a key, = and a text, like time.zone=UTC.');
  return [...before, { path: key.split('.'), text: text! }];
}

/** Reads a mapping. Throws 'unavailable' and 'invalid-parameter' as `parsedToml` and `checkedMapping` do. */
export function readMapping(name: string, changes: readonly MappingChange[]): Mapping {
  return checkedMapping(changes.reduce(changed, parsedToml(name)), name);
}

/** The tables with one text set. A name of a field that stands for a table becomes that table. */
function changed(toml: Fields, { path, text }: MappingChange): Fields {
  const [key = '', ...below] = path;
  if (below.length === 0) return { ...toml, [key]: text };
  const table = toml[key];
  const inner = isFields(table) ? table : typeof table === 'string' ? { field: table } : {};
  return { ...toml, [key]: changed(inner, { path: below, text }) };
}
