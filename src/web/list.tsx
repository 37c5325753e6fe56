import type { ComponentChildren } from 'preact';
import { parseIso } from '../domain/instant.ts';
import { Choice, DayField, Field, Form } from './form.tsx';
import { linkTo } from './link-to.ts';
import { Table, type TableContent } from './table.tsx';
import { dayText } from './time.tsx';

export const SIZE = 50;

/** A parameter of the query that chooses rows. */
export interface Filter {
  readonly name: string;
  readonly label: string;
  /** The values that the parameter may have; undefined: any text. */
  readonly options?: readonly (string | readonly [value: string, text: string])[];
  /** True: a day. */
  readonly isDay?: boolean;
}

/** Choose rows by their days, for `chosenDays`. */
export const DAY_FILTERS: readonly Filter[] = [
  { name: 'from', label: 'From', isDay: true },
  { name: 'to', label: 'To (UTC)', isDay: true },
];

interface ListContent<Row> extends Omit<TableContent<Row>, 'rows' | 'sortHref'> {
  /** The page that has the list. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly filters?: readonly Filter[];
  /** Between the filters and the table. */
  readonly above?: ComponentChildren;
  /** The parameter with the id of the last row of the page before, or `cursorOf` it: in the order of the list, its rows are after this one. */
  readonly cursor: 'after' | 'before';
  readonly cursorOf?: (row: Row) => string | number;
  /** The number of rows of a page; undefined: SIZE. */
  readonly size?: number;
  /** Returns at most `limit` rows: the first ones, or those after the row of `cursor`. */
  readonly find: (limit: number, cursor: string | undefined) => readonly Row[];
}

/** A list in pages: a form with its filters, a table, and links to the first and the next page. */
export function List<Row extends { readonly id: string | number }>(content: ListContent<Row>) {
  const { path, query, filters = [], above, cursor, cursorOf = ({ id }) => id, size = SIZE, find, ...table } = content;
  const filtered = Object.fromEntries(filters.map(({ name }) => [name, query.get(name)?.trim()]));
  const chosen = { ...filtered, sort: table.columns.some(({ sort }) => sort) ? query.get('sort')?.trim() : undefined };
  const position = query.get(cursor) || undefined;
  // One more row shows that there is a next page.
  const found = find(size + 1, position);
  const rows = found.slice(0, size);
  const next = found.length > size ? linkTo(path, { ...chosen, [cursor]: cursorOf(rows.at(-1)!) }) : undefined;
  return (
    <>
      {filters.length > 0 && <Filters path={path} filters={filters} chosen={chosen} />}
      <ChosenDays from={filtered.from} to={filtered.to} />
      {above}
      <Table {...table} rows={rows} sortHref={(sort) => linkTo(path, { ...filtered, sort })} />
      {(position !== undefined || next !== undefined) && (
        <nav class="row spread" aria-label="Pages">
          {position === undefined ? <span /> : <a href={linkTo(path, chosen)}>First page</a>}
          {next !== undefined && (
            <a class="button small" href={next}>
              Next page
            </a>
          )}
        </nav>
      )}
    </>
  );
}

interface ChosenDaysContent {
  /** Days, as the parameters of DAY_FILTERS have them. */
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** The days that were chosen, in words: a phone folds the fields. */
function ChosenDays({ from, to }: ChosenDaysContent) {
  const [first, last] = [from, to].map((day) => day && dayText(parseIso(day)!));
  if (!first && !last) return null;
  const days = [first && `from ${first}`, last && `up to ${last}`].filter(Boolean).join(' ');
  return <p class="small">{`Only ${days}, in UTC.`}</p>;
}

interface FiltersContent {
  readonly path: string;
  readonly filters: readonly Filter[];
  readonly chosen: Readonly<Record<string, string | undefined>>;
}

function Filters({ path, filters, chosen }: FiltersContent) {
  const count = filters.filter(({ name }) => chosen[name]).length;
  return (
    <details class="filter wide">
      <summary class="button">{count === 0 ? 'Filter' : `Filter (${count})`}</summary>
      <Form
        method="get"
        action={path}
        hidden={chosen.sort === undefined ? {} : { sort: chosen.sort }}
        button="Search"
        link={count > 0 ? <a href={path}>Show all</a> : undefined}
      >
        {filters.map(({ name, label, options, isDay = false }) =>
          isDay ? (
            <DayField key={name} label={label} name={name} value={chosen[name]} />
          ) : options === undefined ? (
            <Field key={name} label={label} name={name} value={chosen[name]} />
          ) : (
            <Choice
              key={name}
              label={label}
              name={name}
              options={[['', 'Any'], ...options.map((one) => (typeof one === 'string' ? ([one, one] as const) : one))]}
              chosen={chosen[name]}
            />
          ),
        )}
      </Form>
    </details>
  );
}
