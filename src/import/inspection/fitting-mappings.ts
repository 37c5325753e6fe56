import { isFields } from '../../record/fields.ts';
import { fieldsOfSide } from '../mapping/mapped-side.ts';
import { type Mapping, RECORD_SCHEMAS } from '../mapping/mapping-schema.ts';
import { SHIPPED_MAPPINGS } from '../mapping/shipped-mappings.ts';
import type { InspectedTable } from './inspected-table.ts';

const OUTCOMES = ['up', 'down'];

type Columns = Pick<InspectedTable, 'name' | 'fields'>;

/** The names of the shipped mappings whose fields a table has. They may have keys that are still to be stated. */
export function fittingMappings(format: Mapping['format'], table: Columns): readonly string[] {
  return Object.entries(SHIPPED_MAPPINGS).flatMap(([name, text]) => {
    const mapping: Readonly<Record<string, unknown>> = { ...Bun.TOML.parse(text) };
    const fits = mapping.format === format && isTableOf(mapping.rows, table) && hasFields(mapping, table);
    return fits ? [name] : [];
  });
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
