import { DomainError } from '../../domain/errors.ts';
import { type Fields, isFields } from '../../record/fields.ts';
import { mappingOrProblem } from '../mapping/checked-mapping.ts';
import { fieldsOfSide } from '../mapping/mapped-side.ts';
import { type Mapping, RECORD_SCHEMAS } from '../mapping/mapping-schema.ts';
import { SHIPPED_MAPPINGS } from '../mapping/shipped-mappings.ts';
import type { FieldSummary } from './field-tally.ts';
import type { InspectedTable } from './inspected-table.ts';

const OUTCOMES = ['up', 'down'];
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

type Columns = Pick<InspectedTable, 'name' | 'fields'>;

/** The names of the shipped mappings whose fields a table has. They may have keys that are still to be stated. */
export function fittingMappings(format: Mapping['format'], table: Columns): readonly string[] {
  return Object.entries(SHIPPED_MAPPINGS).flatMap(([name, text]) => {
    const mapping: Readonly<Record<string, unknown>> = { ...Bun.TOML.parse(text) };
    const fits = mapping.format === format && isTableOf(mapping.rows, table) && hasFields(mapping, table);
    return fits ? [name] : [];
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

function isTableOf(rows: unknown, { name }: Columns): boolean {
  return name === undefined || (isFields(rows) && rows.table === name);
}

function hasFields(mapping: Readonly<Record<string, unknown>>, { fields }: Columns): boolean {
  const has = new Set(fields.map(({ name }) => name));
  const named = Object.entries(mapping).flatMap(([key, table]) => fieldsNamed(key, table));
  return named.length > 0 && named.every((field) => has.has(field));
}

/** The fields of the row itself, without the members of lists. */
function fieldsNamed(key: string, table: unknown): readonly string[] {
  if (key in RECORD_SCHEMAS) return (Array.isArray(table) ? table : [table]).flatMap(fieldsOfSection);
  if (key === 'market' && isFields(table)) return Object.values(table).flatMap(fieldsOfPlace);
  return key === 'time' || key === 'outcome' ? fieldsOfPlace(table) : [];
}

function fieldsOfSection(section: unknown): readonly string[] {
  if (!isFields(section)) return [];
  const { each, ...keys } = section;
  const outcomes = OUTCOMES.filter((outcome) => isFields(keys[outcome]));
  const lists = outcomes.map((outcome) => keys[outcome]).filter((table) => isFields(table) && table.each !== undefined);
  if (typeof each === 'string') return [each];
  if (lists.length > 0) return lists.flatMap(fieldsOfSection);
  return Object.entries(keys).flatMap(([key, value]) => {
    if (outcomes.includes(key)) return fieldsOfSection(value);
    if ((key === 'bids' || key === 'asks') && isFields(value)) return fieldsOfSide(value);
    return fieldsOfPlace(value);
  });
}

/** A place is the name of a field, or a table that may name one. */
function fieldsOfPlace(place: unknown): readonly string[] {
  if (typeof place === 'string') return [place];
  return isFields(place) && typeof place.field === 'string' ? [place.field] : [];
}
