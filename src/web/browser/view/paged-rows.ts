import { ShownValues, type ShownValuesOptions } from './shown-values.ts';

export const PAGE_ROWS = 100;
/** 4 MB of markets. */
const PAGES_MAX = 40;
const LOADS_MAX = 2;

export interface RowPage<Row> {
  /** PAGE_ROWS at most. */
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
  /** The number of rows of the list, where the page states it. */
  readonly count?: number;
}

export interface PagedRowsOptions<Row> extends Pick<ShownValuesOptions<number, RowPage<Row>>, 'later' | 'onChange'> {
  /** Loads the page that begins with the row of index `skip`. Rejects if `signal` is aborted. */
  loadPage(skip: number, signal: AbortSignal): Promise<RowPage<Row>>;
  /** The number of rows; undefined if only the first page states it. */
  readonly count: number | undefined;
}

/** The rows of a long list, of which only some pages are in memory. */
export class PagedRows<Row> {
  readonly #pages: ShownValues<number, RowPage<Row>>;
  #count: number | undefined;

  constructor({ loadPage, count, later, onChange }: PagedRowsOptions<Row>) {
    this.#count = count;
    this.#pages = new ShownValues<number, RowPage<Row>>({
      valuesMax: PAGES_MAX,
      batchMax: 1,
      loadsMax: LOADS_MAX,
      later,
      onChange,
      load: async ([number], signal) => {
        const page = await loadPage(number! * PAGE_ROWS, signal);
        if (!signal.aborted) this.#countWith(number!, page);
        return new Map([[number!, page]]);
      },
    });
  }

  /** The number of rows; undefined before it is known. A page that shows that the list became shorter or longer corrects it. */
  get count(): number | undefined {
    return this.#count;
  }

  /** Why the last load failed; undefined if it did not. Nothing is loaded until `retry`. */
  get failure(): unknown {
    return this.#pages.failure;
  }

  /** The row at an index; undefined if it is not loaded. */
  row(index: number): Row | undefined {
    return this.#pages.value(Math.floor(index / PAGE_ROWS))?.rows[index % PAGE_ROWS];
  }

  /** Says which rows are shown, from `first` to before `end`. The first ones of all are loaded at once. */
  show(first: number, end: number): void {
    const from = Math.floor(first / PAGE_ROWS);
    const to = Math.floor(Math.max(first, end - 1) / PAGE_ROWS);
    this.#pages.show(Array.from({ length: to - from + 1 }, (_, i) => from + i));
  }

  /** Loads again after a failure. */
  retry(): void {
    this.#pages.retry();
  }

  /** Aborts all loads, and forgets the rows. */
  close(): void {
    this.#pages.clear();
  }

  #countWith(number: number, { rows, hasMore, count }: RowPage<Row>): void {
    const end = number * PAGE_ROWS + rows.length;
    this.#count = count ?? this.#count;
    if (hasMore) this.#count = Math.max(this.#count ?? 0, end + 1);
    else this.#count = rows.length > 0 ? end : Math.min(this.#count ?? 0, end);
  }
}
