import type { ComponentChildren } from 'preact';

/** Values of `aria-sort`. */
const DIRECTIONS = ['descending', 'ascending'] as const;

/** A column of a table: a heading, and the cell that each row has under it. */
export interface Column<Row> {
  /** Different from the others of the table. Empty for a column of buttons: readers of the page hear 'Actions'. */
  readonly heading: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** The order of the rows by this column, and the present one with a minus if it goes down; for `sortHref`. */
  readonly sort?: string;
  /** Classes of the style sheet, for the heading and the cells. */
  readonly class?: string;
  /** The cell is the heading of its row. */
  readonly isRowHeading?: boolean;
  /** The cell is clear without its heading: a phone does not show the heading. */
  readonly isPlain?: boolean;
}

export interface TableContent<Row> {
  /** The name of the table for readers of the page. */
  readonly label: string;
  /** True: the name is also a heading above the table. */
  readonly isTitled?: boolean;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** The sentence that is shown when there are no rows, and what helps. */
  readonly empty: ComponentChildren;
  /** Chooses the rows that are less important. */
  readonly isQuiet?: (row: Row) => boolean;
  /** The heading above the rows that follow each other and have the same one. */
  readonly groupOf?: (row: Row) => string;
  /** The order of the rows: that of a column, with a minus if it goes down. */
  readonly sorted?: string;
  /** The address of the table in another order. */
  readonly sortHref?: (sort: string) => string;
}

/** A table in a card. On a phone each row is a list of its cells with their headings. */
export function Table<Row>({ isTitled = false, ...content }: TableContent<Row>) {
  return (
    <>
      {isTitled && <h2>{content.label}</h2>}
      <Rows {...content} />
    </>
  );
}

function Rows<Row>(content: Omit<TableContent<Row>, 'isTitled'>) {
  const { label, columns, rows, empty, isQuiet, groupOf, sorted, sortHref } = content;
  if (rows.length === 0) return <div class="card empty">{empty}</div>;
  const groups: { readonly name: string | undefined; readonly rows: Row[] }[] = [];
  for (const row of rows) {
    const name = groupOf?.(row);
    const last = groups.at(-1);
    if (last?.name === name && last !== undefined) last.rows.push(row);
    else groups.push({ name, rows: [row] });
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
    <section class="card flush scroll stacked" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ heading, sort, class: classes }) => (
              <th
                key={heading}
                scope="col"
                class={classes}
                aria-sort={sort === undefined ? sort : DIRECTIONS[[`-${sort}`, sort].indexOf(sorted ?? '')]}
              >
                {sort !== undefined && sortHref !== undefined ? (
                  <a href={sortHref(sort === sorted ? `-${sort}` : sort)}>{heading}</a>
                ) : (
                  heading || <span class="hidden">Actions</span>
                )}
              </th>
            ))}
          </tr>
        </thead>
        {groups.map(({ name, rows: ofGroup }) => (
          <tbody key={name}>
            {name !== undefined && (
              <tr class="group">
                <th scope="rowgroup" colSpan={columns.length}>
                  {name}
                </th>
              </tr>
            )}
            {ofGroup.map((row) => (
              <tr class={isQuiet?.(row) ? 'quiet' : undefined}>
                {columns.map(({ heading, cell, class: classes, isRowHeading = false, isPlain = false }) =>
                  isRowHeading ? (
                    <th key={heading} scope="row" class={classes}>
                      {cell(row)}
                    </th>
                  ) : (
                    <td key={heading} class={classes} data-heading={isPlain ? '' : heading}>
                      {cell(row)}
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </section>
  );
}
