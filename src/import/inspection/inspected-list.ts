import { DomainError } from '../../domain/errors.ts';
import { elementsOf } from '../mapping/text-rows.ts';
import { type FieldTally, LIST_OF_OBJECTS, tallyFields } from './field-tally.ts';
import type { InspectedTable } from './inspected-table.ts';

const ELEMENTS_MAX = 200;

/** The lists of objects in the first rows of a table, in the order of their fields, with their elements as rows: at most ELEMENTS_MAX. */
export function inspectedLists(table: InspectedTable): readonly InspectedTable[] {
  const lists = table.fields.filter(({ types, isJson }) => types[0] === LIST_OF_OBJECTS && !isJson);
  return lists.map(({ name }) => {
    const elements = table.firstRows.flatMap(({ number, fields }) =>
      elementsOf(fields, name).flatMap((element) =>
        element instanceof DomainError ? [] : [{ number, fields: element }],
      ),
    );
    const firstRows = elements.slice(0, ELEMENTS_MAX);
    const tallies = new Map<string, FieldTally>();
    for (const { fields } of firstRows) tallyFields(tallies, fields);
    const fields = [...tallies.values()].map((tally) => tally.summary());
    const rows = elements.length > ELEMENTS_MAX ? undefined : elements.length;
    return { ...table, list: name, fields, firstRows, rows, inspected: firstRows.length, unreadable: 0 };
  });
}
