import { isFields } from '../../record/fields.ts';
import { fieldsOfSide } from './mapped-side.ts';
import { fieldsOfPlace } from './mapped-value.ts';
import type { Mapping } from './mapping-schema.ts';

/** The keys of tables whose texts are names of fields, other than `field`: those of sides are found by `fieldsOfSide`. */
const SIDES = ['bids', 'asks'];

/**
 * The columns that a mapping reads, each once. For a member of JSON in a column, or of a list, it is the column itself. For JSON the names
 * of members may have points.
 */
export function columnsOfMapping({
  rows = {},
  refer,
  frames,
  time,
  received,
  market,
  outcome,
  sections,
}: Mapping): readonly string[] {
  const json = rows.json ?? [];
  const ofSections = sections.flatMap((section) => {
    const { kind: _kind, name: _name, each, ...keys } = section;
    return each === undefined ? fieldsIn(keys) : [each];
  });
  // A section with a list may still use the row's own time.
  const names = [
    ...Object.values({ ...frames, venue: undefined }).filter((name) => name !== undefined),
    ...fieldsIn({ time, received, market, outcome }),
    ...ofSections,
    ...[rows.only?.field, refer?.field, refer?.key, refer?.by].filter((name) => name !== undefined),
  ];
  const columns = names.map((name) => json.find((column) => name.startsWith(`${column}.`)) ?? name);
  return [...new Set(columns)];
}

/** The fields that rows take from those that they refer to: what names the market and the outcome. */
export function referredFields({ market, outcome, sections }: Mapping): readonly string[] {
  const ofSections = sections.map((section) => ({ outcome: 'outcome' in section ? section.outcome : undefined }));
  return fieldsIn({ market, outcome, ...ofSections });
}

/** The names of the fields that tables of a mapping name. */
function fieldsIn(tables: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(tables).flatMap(([key, table]) => {
    if (!isFields(table)) return [];
    if (SIDES.includes(key)) return fieldsOfSide(table);
    const own = fieldsOfPlace(table);
    return own.length > 0 ? own : fieldsIn(table);
  });
}
