import { isFields } from '../../record/fields.ts';
import { type FieldTally, LIST_OF_OBJECTS, tallyFields } from './field-tally.ts';
import type { InspectedTable } from './inspected-table.ts';
import { timeLines } from './suggested-time.ts';
import { type Lines, quoted } from './toml-lines.ts';

const ELEMENTS_MAX = 200;

/** The elements of a list in each row, which are records of their own. */
export interface Elements {
  /** The name of the list. */
  readonly list: string;
  /** The elements as the rows of a table: the first ones, at most ELEMENTS_MAX. */
  readonly table: InspectedTable;
}

/** The lists of objects in the first rows of a table, in the order of their fields. */
export function elementsIn(table: InspectedTable): readonly Elements[] {
  const lists = table.fields.filter(({ types, isJson }) => types[0] === LIST_OF_OBJECTS && !isJson);
  return lists.map(({ name }) => {
    const elements = table.firstRows.flatMap(({ number, fields }) => {
      const list = name.split('.').reduce<unknown>((value, key) => (isFields(value) ? value[key] : undefined), fields);
      return (Array.isArray(list) ? list : []).filter(isFields).map((element) => ({ number, fields: element }));
    });
    const firstRows = elements.slice(0, ELEMENTS_MAX);
    const tallies = new Map<string, FieldTally>();
    for (const { fields } of firstRows) tallyFields(tallies, fields);
    const fields = [...tallies.values()].map((tally) => tally.summary());
    return { list: name, table: { ...table, fields, firstRows, inspected: firstRows.length } };
  });
}

/** The keys `each` and `time` of a table of records, with comments that say what to state; a trial assumes that. */
export function elementLines({ list, table }: Elements, isTrial: boolean): Lines {
  const lines = timeLines(table);
  const stated = lines.filter((line) => !line.startsWith('#'));
  const open = lines.filter((line) => /^# (?:unit|zone) = /.test(line)).map((line) => line.slice(2));
  if (isTrial || open.length === 0) return [`each = ${quoted(list)}`, `time = { ${[...stated, ...open].join(', ')} }`];
  const notes = lines.filter((line) => line.startsWith('#') && !open.includes(line.slice(2)));
  return [
    `each = ${quoted(list)}`,
    ...(stated.length === 0 ? [] : [`time = { ${stated.join(', ')} }`]),
    ...notes,
    `# time = { ${[...stated, ...open].join(', ')} }`,
  ];
}

/** Returns true if the time of a list's elements is in one field. */
export function haveTime({ table }: Elements): boolean {
  return timeLines(table)[0]!.startsWith('field = ');
}
