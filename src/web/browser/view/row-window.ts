/** The rows of a list that a scrolled element shows: only these are in the document. */
export interface RowWindow {
  readonly first: number;
  /** Index after the last row. */
  readonly end: number;
  /** The place of the first row in the scrolled content, in pixels. */
  readonly topPx: number;
}

/** The sizes of a list whose rows are equally high, in pixels of CSS. */
export interface ListSize {
  readonly count: number;
  readonly rowPx: number;
  /** The height of the element that scrolls. */
  readonly viewPx: number;
}

/** Firefox draws nothing below 17.9 million pixels. */
export const CONTENT_PX_MAX = 15_000_000;

/** The height of the scrolled content. A list that is higher than browsers draw is scrolled in larger steps. */
export function contentPx({ count, rowPx }: ListSize): number {
  return Math.min(count * rowPx, CONTENT_PX_MAX);
}

/** The rows that are at least partly visible at a scroll position, and up to `around` more on both sides. */
export function rowWindow(scrollTop: number, size: ListSize, around: number): RowWindow {
  const { count, rowPx, viewPx } = size;
  const positionPx = scrollTop * stepOf(size);
  const first = clamped(Math.floor(positionPx / rowPx) - around, 0, count);
  const end = clamped(Math.ceil((positionPx + viewPx) / rowPx) + around, first, count);
  return { first, end, topPx: scrollTop - positionPx + first * rowPx };
}

/** The rows of which at least a half is visible. */
export function seenRows(scrollTop: number, size: ListSize): Pick<RowWindow, 'first' | 'end'> {
  const { count, rowPx, viewPx } = size;
  const positionPx = scrollTop * stepOf(size);
  const first = clamped(Math.round(positionPx / rowPx), 0, count);
  return { first, end: clamped(Math.round((positionPx + viewPx) / rowPx), first, count) };
}

/** The scroll position that is nearest to `scrollTop` and shows all of the row `index`. */
export function scrolledTo(index: number, scrollTop: number, size: ListSize): number {
  const { rowPx, viewPx } = size;
  const step = stepOf(size);
  const topPx = index * rowPx;
  const positionPx = scrollTop * step;
  if (topPx < positionPx) return topPx / step;
  return topPx + rowPx > positionPx + viewPx ? Math.max(0, topPx + rowPx - viewPx) / step : scrollTop;
}

/** The pixels of rows that one pixel of scrolling passes: 1 unless the list is higher than its content may be. */
function stepOf(size: ListSize): number {
  const { count, rowPx, viewPx } = size;
  const scrolledPx = contentPx(size) - viewPx;
  return scrolledPx <= 0 || count * rowPx <= CONTENT_PX_MAX ? 1 : (count * rowPx - viewPx) / scrolledPx;
}

function clamped(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
