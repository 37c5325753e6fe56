import { DomainError } from '../../domain/errors.ts';
import { type Fields, isFields } from '../../record/fields.ts';
import { checkedMapping, mappingOrProblem } from '../mapping/checked-mapping.ts';
import { columnsOfMapping } from '../mapping/mapping-columns.ts';
import type { Mapping } from '../mapping/mapping-schema.ts';
import { SHIPPED_MAPPINGS } from '../mapping/shipped-mappings.ts';
import type { FieldSummary } from './field-tally.ts';
import type { InspectedTable } from './inspected-table.ts';

const OPEN_KEYS_MAX = 20;
const OPEN_KEY = / ([a-z_.]+) is not stated/;
const ANY_SLUG = 'btc-updown-5m-1776323400';
/** The values that a trial assumes for keys that only the user knows. */
const STAND_INS: Readonly<Record<string, unknown>> = {
  unit: 'ms',
  zone: 'UTC',
  coin: { value: 'btc' },
  market: { slug: { value: ANY_SLUG } },
  outcome: { value: 'up' },
};

/** The names of the shipped mappings whose fields a table has. They may have keys that are still to be stated. */
export function fittingMappings(
  format: Mapping['format'],
  { name: table, fields }: Pick<InspectedTable, 'name' | 'fields'>,
): readonly string[] {
  const has = new Set(fields.map(({ name }) => name));
  return Object.keys(SHIPPED_MAPPINGS).filter((name) => {
    const mapping = checkedMapping(statedMapping(name, []).toml, name);
    const isOfTable = table === undefined || mapping.rows?.table === table;
    return mapping.format === format && isOfTable && columnsOfMapping(mapping).every((column) => has.has(column));
  });
}

/** A shipped mapping for a table. */
export interface StatedMapping {
  readonly toml: Fields;
  /** The keys that it leaves open and that the values show, as `--set` takes them: `time.unit=ms`. */
  readonly shown: readonly string[];
  /** The keys that it leaves open and that only the user knows. */
  readonly open: readonly string[];
}

/** States the units and formats that a shipped mapping leaves open: a number is a time in one unit only. */
export function statedMapping(name: string, fields: readonly FieldSummary[]): StatedMapping {
  let toml: Fields = { ...Bun.TOML.parse(SHIPPED_MAPPINGS[name]!) };
  const shown: string[] = [];
  const open: string[] = [];
  // Each round states one key of at most as many as the schemas have.
  for (let round = 0; round < OPEN_KEYS_MAX; round += 1) {
    const problem = mappingOrProblem(toml, name);
    if (!(problem instanceof DomainError)) break;
    const [, key = 'market.slug'] = OPEN_KEY.exec(problem.message) ?? [];
    const [path, last] = [key.split('.').slice(0, -1), key.split('.').at(-1)!];
    const place = path.reduce<unknown>((table, part) => (isFields(table) ? table[part] : undefined), toml);
    const field = typeof place === 'string' ? place : isFields(place) ? place.field : undefined;
    const times = last === 'unit' ? fields.find((one) => one.name === field)?.times : undefined;
    const isText = times !== undefined && times.unit === undefined;
    if (isText) toml = withKey(toml, [...path, 'format'], 'iso');
    else toml = withKey(toml, key.split('.'), times?.unit ?? STAND_INS[last] ?? { value: ANY_SLUG });
    if (times === undefined) open.push(key);
    else shown.push(isText ? `${path.join('.')}.format=iso` : `${key}=${times.unit}`);
    if (times?.hasZone === false) open.push([...path, 'zone'].join('.'));
  }
  return { toml, shown, open };
}

function withKey(toml: Fields, [key = '', ...below]: readonly string[], value: unknown): Fields {
  if (below.length === 0) return { ...toml, [key]: value };
  const table = toml[key];
  const inner = isFields(table) ? table : typeof table === 'string' ? { field: table } : {};
  return { ...toml, [key]: withKey(inner, below, value) };
}
