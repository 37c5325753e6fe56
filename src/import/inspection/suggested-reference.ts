import { isFields } from '../../record/fields.ts';
import type { FieldSummary } from './field-tally.ts';
import type { InspectedTable } from './inspected-table.ts';
import { type Lines, quoted } from './toml-lines.ts';

type Row = Readonly<Record<string, unknown>>;

/**
 * The lines of `[refer]`, where rows of some kinds name the market and those of others never do; none otherwise. `key` is a field of the former
 * whose values the latter repeat.
 */
export function referLines(
  { firstRows }: Pick<InspectedTable, 'firstRows'>,
  { ids, slugs }: Readonly<Record<'ids' | 'slugs', readonly FieldSummary[]>>,
): Lines {
  const [named] = [...slugs, ...ids];
  const rows = firstRows.map(({ fields }) => fields).filter(isFields);
  const stating = rows.filter((row) => named !== undefined && isScalar(row[named.name]));
  const others = rows.filter((row) => !stating.includes(row));
  if (named === undefined || stating.length === 0 || others.length === 0) return [];
  const kind = Object.keys(stating[0]!).find((name) => {
    const [own, rest] = [valuesOf(stating, name), valuesOf(others, name)];
    // Times do not repeat, as kinds do.
    const areKinds = own.size <= 3 && (rest.size === 1 || rest.size <= others.length / 2);
    return name !== named.name && areKinds && areDisjoint(own, rest) && isIn(name, rows);
  });
  if (kind === undefined) return [];
  const pairs = Object.keys(stating[0]!).flatMap((key) => Object.keys(others[0]!).map((by) => [key, by] as const));
  const shared = pairs.find(([key, by]) => {
    const [own, rest] = [valuesOf(stating, key), valuesOf(others, by)];
    return key !== kind && by !== kind && isIn(by, others) && own.size === stating.length && rest.isSubsetOf(own);
  });
  const [key, by] = shared ?? [];
  return [
    '[refer]',
    `field = ${quoted(kind)}`,
    `is = [${[...valuesOf(stating, kind)].map((text) => quoted(text)).join(', ')}]`,
    ...(key === undefined ? [] : [`key = ${quoted(key)}`]),
    ...(by === undefined || by === key ? [] : [`by = ${quoted(by)}`]),
  ];
}

function valuesOf(rows: readonly Row[], name: string): Set<string> {
  return new Set(rows.map((row) => row[name]).flatMap((value) => (isScalar(value) ? [String(value)] : [])));
}

function isIn(name: string, rows: readonly Row[]): boolean {
  return rows.every((row) => isScalar(row[name]));
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number';
}

function areDisjoint(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return [...one].every((value) => !other.has(value));
}
