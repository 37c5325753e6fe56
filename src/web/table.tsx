import type { ComponentChildren } from 'preact';

interface TableContent {
  /** What the rows are. */
  readonly label: string;
  /** A heading that is empty is above buttons. */
  readonly headings: readonly string[];
  /** Headings of columns of numbers. */
  readonly numbers?: readonly string[];
  /** Instead of the table when there are no rows. */
  readonly empty: string;
  /** Rows. */
  readonly children: readonly ComponentChildren[];
}

/** A table in a card. It scrolls on a narrow screen. */
export function Table({ label, headings, numbers = [], empty, children }: TableContent) {
  if (children.length === 0) return <p class="card quiet">{empty}</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
    <section class="card flush scroll" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {headings.map((heading) => (
              <th key={heading} scope="col" class={numbers.includes(heading) ? 'number' : undefined}>
                {heading === '' ? <span class="hidden">Actions</span> : heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}
