/** A path with a query; fields without a value are left out. */
export function linkTo(path: string, fields: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value = ''] of Object.entries(fields)) if (value !== '') query.set(name, String(value));
  return query.size === 0 ? path : `${path}?${query}`;
}

interface PagingContent {
  /** Undefined on the first page. */
  readonly first: string | undefined;
  /** Undefined on the last page. */
  readonly next: string | undefined;
}

/** The links below a page of a list. */
export function Paging({ first, next }: PagingContent) {
  if (first === undefined && next === undefined) return null;
  return (
    <nav class="row spread" aria-label="Pages">
      {first === undefined ? <span /> : <a href={first}>First page</a>}
      {next !== undefined && (
        <a class="button small" href={next}>
          Next page
        </a>
      )}
    </nav>
  );
}
