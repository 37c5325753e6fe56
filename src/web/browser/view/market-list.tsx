import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { InstantMs } from '../../../domain/instant.ts';
import type { MarketSort } from '../../../domain/market-sort.ts';
import type { marketState } from '../../../domain/market-state.ts';
import { numberText } from '../../texts.ts';
import { windowText } from './date-texts.ts';
import type { PagedRows } from './paged-rows.ts';
import { priceText } from './price-text.ts';
import type { ListedMarket, Midpoints, Recordings } from './recordings.ts';
import { contentPx, type ListSize, type RowWindow, rowWindow, scrolledTo, seenRows } from './row-window.ts';
import { openView } from './shown-page.ts';
import { Sparkline, shownMidpoints } from './sparkline.tsx';
import { ToolButton } from './tool-button.tsx';
import { countText } from './view-texts.ts';

/** Rows in the document above and below those that are visible. */
const AROUND = 6;
/** Rows of a page where the window scrolls: on a phone. */
const PAGE_ROWS_SHOWN = 50;

/** The content of a row, once it is loaded. */
interface ShownRow extends Pick<MarketListContent, 'href' | 'stateOf' | 'nowMs'> {
  readonly market: ListedMarket;
  readonly midpoints: Midpoints | undefined;
  /** The searched text. */
  readonly search: string;
  /** The title of the list has the day of all rows. */
  readonly isOfOneDay: boolean;
}

type SortedBy = 'window' | 'winner' | 'strike' | 'final' | 'snapshots' | 'recorded' | 'volume';

interface Column {
  /** Its classes. */
  readonly name: string;
  readonly heading: string;
  /** The value that rows are sorted by. A picture has no order. */
  readonly sort?: SortedBy;
  /** Says whether the column is shown with these rows; undefined: it always is. */
  readonly isSeen?: (markets: readonly ListedMarket[], content: MarketListContent) => boolean;
  readonly cell: (row: ShownRow) => ComponentChildren;
}

const COLUMNS: readonly Column[] = [
  {
    name: 'name',
    heading: 'Market (UTC)',
    sort: 'window',
    cell: ({ market, search, href, isOfOneDay }) => {
      const { day, times } = windowText(market.startTime, market.endTime);
      const short = search === '' ? `${market.symbol.toUpperCase()} ${market.timeframe}` : undefined;
      return (
        <a href={href(market)} tabIndex={-1} title={market.slug}>
          {!isOfOneDay && day} <strong>{times}</strong>{' '}
          <span class="slug quiet" data-short={short}>
            {marked(market.slug, search.toLowerCase())}
          </span>
        </a>
      );
    },
  },
  {
    name: 'coin',
    heading: 'Coin',
    isSeen: (_, { recordings: { found } }) => found !== undefined && found.coins > 1,
    cell: ({ market }) => market.symbol.toUpperCase(),
  },
  {
    name: 'length',
    heading: 'Length',
    isSeen: (markets, { recordings: { query } }) =>
      query.value.search !== '' && new Set(markets.map(({ timeframe }) => timeframe)).size > 1,
    cell: ({ market }) => market.timeframe,
  },
  {
    name: 'mid',
    heading: 'Up midpoint',
    isSeen: (markets) => markets.some(isRecorded),
    cell: ({ market, midpoints, nowMs }) =>
      market.recordedSeconds === 0 ? (
        <NotRecorded />
      ) : (
        midpoints && <Sparkline values={shownMidpoints(midpoints, market, nowMs())} />
      ),
  },
  {
    name: 'winner',
    heading: 'Winner',
    sort: 'winner',
    // In a replay a winner is unknown if the time of its resolution was not recorded.
    isSeen: (markets, { stateOf }) => hasOften(markets, (market) => (stateOf(market) === 'over' ? null : market)),
    cell: ({ market, stateOf }) => <State state={stateOf(market)} />,
  },
  {
    name: 'number coin-price strike',
    heading: 'Strike',
    sort: 'strike',
    isSeen: (markets) => hasOften(markets, ({ priceStart }) => priceStart),
    cell: ({ market: { priceStart } }) => (priceStart === null ? <NotRecorded /> : priceText(priceStart)),
  },
  {
    name: 'number coin-price final',
    heading: 'Final',
    sort: 'final',
    isSeen: (markets) => hasOften(markets, ({ priceEnd }) => priceEnd),
    cell: ({ market: { priceEnd } }) => (priceEnd === null ? <NotRecorded /> : priceText(priceEnd)),
  },
  {
    name: 'number count',
    heading: 'Snapshots',
    sort: 'snapshots',
    cell: ({ market }) => (isRecorded(market) ? numberText(market.snapshotCount) : <span class="quiet">no book</span>),
  },
  {
    name: 'number part',
    heading: 'Recorded (s)',
    sort: 'recorded',
    isSeen: (markets) => markets.some(isRecorded),
    cell: ({ market }) => (isRecorded(market) ? <Recorded market={market} /> : <NotRecorded />),
  },
  {
    name: 'number volume',
    heading: 'Volume ($)',
    sort: 'volume',
    isSeen: (markets) => hasOften(markets, ({ volume }) => volume),
    cell: ({ market: { volume } }) => (volume === null ? <NotRecorded /> : numberText(Math.round(volume))),
  },
];

export interface MarketListContent {
  readonly recordings: Recordings;
  readonly list: PagedRows<ListedMarket>;
  /** The address of a market's page. */
  readonly href: (market: ListedMarket) => string;
  /** Called while a row is drawn: the row is drawn again when a signal changes that this reads. */
  readonly stateOf: (market: ListedMarket) => ReturnType<typeof marketState>;
  /** The instant of the page, called as `stateOf`. */
  readonly nowMs: () => InstantMs;
}

/**
 * A list of markets of any length: only the rows that are visible are in the document. Where the window scrolls, long lists have pages. It is one stop of the key Tab; arrows, Page Up,
 * Page Down, Home and End move in it, and Enter opens a market.
 */
export function MarketList(content: MarketListContent) {
  const { recordings, list, href, stateOf, nowMs } = content;
  // Read, so that rows are drawn when they are loaded.
  recordings.changes.value;
  const scroller = useRef<HTMLTableElement>(null);
  const head = useRef<HTMLTableSectionElement>(null);
  const ruler = useRef<HTMLDivElement>(null);
  const scrollTop = useSignal(0);
  const sizes = useSignal({ rowPx: 1, viewPx: 0 });
  /** True where the page scrolls, not the list. */
  const isAll = useSignal(true);
  /** The row that the keyboard is at. */
  const at = useSignal(0);
  /** The first row of the page, where the list has pages. */
  const start = useSignal(0);
  /** Columns that were shown: only more of them while the list is scrolled. */
  const filled = useRef(new Set<Column>());
  const count = list.count ?? 0;
  const isPaged = isAll.value && count > PAGE_ROWS_SHOWN;
  const base = isPaged ? start.value : 0;
  const size: ListSize = { count: isPaged ? Math.min(PAGE_ROWS_SHOWN, count - base) : count, ...sizes.value };
  const shown = rowWindow(scrollTop.value, size, AROUND);
  const [first, end] = [base + shown.first, base + shown.end];
  const { rowPx, viewPx } = size;
  const { sort, search } = recordings.query.value;
  const indexes = Array.from({ length: end - first }, (_, i) => first + i);
  const markets = indexes.flatMap((index) => list.row(index) ?? []);
  const columns = COLUMNS.filter((column) => {
    if (filled.current.has(column)) return true;
    const isShown = column.isSeen?.(markets, content) ?? true;
    // The first rows are drawn before their number is known.
    if (isShown && viewPx > 0) filled.current.add(column);
    return isShown;
  });
  /** At least as many as are in the document at once. */
  const pool = Math.ceil(viewPx / rowPx) + 1 + 2 * AROUND;

  useEffect(() => {
    const [list, heading, row] = [scroller.current!, head.current!, ruler.current!];
    const observer = new ResizeObserver(() => {
      const viewPx = Math.min(list.clientHeight, innerHeight) - heading.offsetHeight;
      sizes.value = { viewPx, rowPx: row.offsetHeight };
      look();
    });
    for (const element of [list, heading, row]) observer.observe(element);
    const look = () => {
      scrollTop.value = isWhole(list) ? Math.max(0, -list.getBoundingClientRect().top) : list.scrollTop;
    };
    // Events of the list or of the page.
    addEventListener('scroll', look, { capture: true, passive: true });
    return () => {
      observer.disconnect();
      removeEventListener('scroll', look, { capture: true });
    };
  }, []);
  useEffect(() => {
    scroller.current!.scrollTop = 0;
    at.value = 0;
    start.value = 0;
    filled.current = new Set();
  }, [list]);
  useEffect(() => {
    isAll.value = isWhole(scroller.current!);
  }, [size.count, rowPx, viewPx]);
  useEffect(() => {
    // A list has no height before its rows are counted.
    if (list.count === undefined) recordings.show(0, 1);
    else if (viewPx > 0) recordings.show(first, end);
  });

  const moveTo = (index: number) => {
    at.value = Math.min(Math.max(index, 0), count - 1);
    if (isPaged) start.value = at.value - (at.value % PAGE_ROWS_SHOWN);
    const list = scroller.current!;
    const to = scrolledTo(at.value - (isPaged ? start.value : 0), scrollTop.value, size);
    if (isWhole(list)) scrollBy(0, to + list.getBoundingClientRect().top);
    else list.scrollTop = to;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.metaKey || count === 0) return;
    const page = Math.max(1, Math.floor(viewPx / rowPx) - 1);
    const moves: Readonly<Record<string, number>> = {
      ArrowUp: at.value - 1,
      ArrowDown: at.value + 1,
      PageUp: at.value - page,
      PageDown: at.value + page,
      Home: 0,
      End: count - 1,
    };
    const to = moves[event.key];
    const market = list.row(at.value);
    if (to !== undefined) moveTo(to);
    else if (event.key === 'Enter' && market !== undefined) openView(href(market));
    else return;
    event.preventDefault();
  };

  const has = (column: string) => columns.some(({ name }) => name === column);
  const isShown = at.value >= first && at.value < end;
  const seen = isPaged
    ? { first: base, end: base + size.count }
    : isAll.value
      ? undefined
      : seenRows(scrollTop.value, size);
  const turn = (direction: -1 | 1) => {
    if (!isPaged) return scroller.current!.scrollBy({ top: direction * (viewPx - rowPx) });
    start.value += direction * PAGE_ROWS_SHOWN;
    at.value = start.value;
    scroller.current!.scrollIntoView();
  };
  return (
    <div
      class={`card flush ${has('mid') ? '' : 'plain'} ${has('number volume') || has('number coin-price strike') ? 'priced' : ''}`}
    >
      <div ref={ruler} class="market ruler" aria-hidden="true" />
      <table
        ref={scroller}
        class="markets"
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the grid pattern of WAI-ARIA: keys move in it
        role="grid"
        aria-label="Markets"
        aria-rowcount={list.count === undefined ? -1 : list.count + 1}
        aria-readonly="true"
        aria-activedescendant={isShown ? rowId(at.value) : undefined}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        <thead ref={head}>
          <tr class="market" aria-rowindex={1}>
            {columns.map(({ name, heading, sort: by }) => (
              <th key={heading} scope="col" class={name} aria-sort={orderBy(sort, by)}>
                {by === undefined ? (
                  heading
                ) : (
                  // The filters have the same choice for the keyboard.
                  <button type="button" tabIndex={-1} onClick={() => recordings.choose({ sort: nextSort(sort, by) })}>
                    {heading}
                    {sort.endsWith(by) && <span aria-hidden="true">{sort.startsWith('-') ? ' ↓' : ' ↑'}</span>}
                  </button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody style={{ height: `${contentPx(size)}px` }}>
          {indexes.map((index) => (
            <MarketRow
              // The element of a row that leaves is used for one that enters: changing it is faster than creating another.
              key={index % pool}
              index={index}
              topPx={shown.topPx + (index - first) * rowPx}
              isAt={index === at.value}
              columns={columns}
              market={list.row(index)}
              midpoints={list.row(index) && recordings.midpoints(list.row(index)!)}
              {...{ search, href, stateOf, nowMs, isOfOneDay: recordings.onlyDay !== undefined }}
            />
          ))}
        </tbody>
      </table>
      <div class="row spread list-foot">
        <p class="quiet small list-end">{placeText(recordings, count, seen)}</p>
        {seen !== undefined && (
          <div class="row">
            <ToolButton isDisabled={seen.first === 0} onClick={() => turn(-1)}>
              Previous
            </ToolButton>
            <ToolButton isDisabled={seen.end === count} onClick={() => turn(1)}>
              Next
            </ToolButton>
          </div>
        )}
      </div>
    </div>
  );
}

interface MarketRowContent extends Omit<ShownRow, 'market'> {
  readonly index: number;
  /** In the scrolled content, in pixels. */
  readonly topPx: number;
  readonly isAt: boolean;
  readonly columns: readonly Column[];
  /** Undefined until it is loaded. */
  readonly market: ListedMarket | undefined;
}

function MarketRow({ index, topPx, isAt, columns, market, ...shown }: MarketRowContent) {
  return (
    <tr
      id={rowId(index)}
      class={market === undefined ? 'market missing' : 'market'}
      aria-rowindex={index + 2}
      aria-selected={isAt}
      aria-busy={market === undefined}
      style={{ transform: `translateY(${topPx}px)` }}
    >
      {market === undefined ? (
        <td>Loading …</td>
      ) : (
        columns.map(({ name, heading, cell }) => (
          <td key={heading} class={name}>
            {cell({ market, ...shown })}
          </td>
        ))
      )}
    </tr>
  );
}

/** How many rows there are, after those that are visible where the list scrolls, unless all are: `21–32 of 1,000 recorded markets`. */
function placeText(
  { recorded }: Recordings,
  count: number,
  seen: Pick<RowWindow, 'first' | 'end'> | undefined,
): string {
  const counted = countText(count, { yes: 'recorded market', no: 'unrecorded market', all: 'market' }[recorded]);
  return seen === undefined || seen.end - seen.first === count
    ? counted
    : `${numberText(seen.first + 1)}–${numberText(seen.end)} of ${counted}`;
}

function isRecorded({ snapshotCount }: ListedMarket): boolean {
  return snapshotCount > 0;
}

/** Returns true if a tenth of the rows or more have a value: a column of dashes takes the place of others. */
function hasOften(markets: readonly ListedMarket[], read: (market: ListedMarket) => unknown): boolean {
  const having = markets.filter((market) => read(market) !== null).length;
  return having > 0 && having * 10 >= markets.length;
}

/** A slug in which the searched text is marked. */
function marked(slug: string, text: string): ComponentChildren {
  const at = text === '' ? -1 : slug.indexOf(text);
  if (at < 0) return slug;
  return [slug.slice(0, at), <mark key={at}>{text}</mark>, slug.slice(at + text.length)];
}

/** `10 of 300`; with the reason of a zero. */
function Recorded({ market: { recordedSeconds, windowSeconds } }: { readonly market: ListedMarket }) {
  const text = `${numberText(Math.floor(recordedSeconds))} of ${numberText(windowSeconds)}`;
  if (recordedSeconds > 0) return <>{text}</>;
  return <abbr title="Its books are outside of its window, or more than 60 seconds apart">{text}</abbr>;
}

/** The list is as high as its rows: the page scrolls, as on narrow screens. */
function isWhole({ scrollHeight, clientHeight }: HTMLElement): boolean {
  return scrollHeight <= clientHeight;
}

function orderBy(sort: MarketSort, by: SortedBy | undefined): 'ascending' | 'descending' | undefined {
  if (by === undefined || !sort.endsWith(by)) return undefined;
  return sort.startsWith('-') ? 'descending' : 'ascending';
}

/** The largest and the latest first, at the second press the other way round. */
function nextSort(sort: MarketSort, by: SortedBy): MarketSort {
  return sort === `-${by}` ? by : `-${by}`;
}

/** A winner is an arrow and a word: colour is not needed to read it. */
function State({ state }: { readonly state: ReturnType<MarketListContent['stateOf']> }) {
  if (state === 'over') return <NotRecorded />;
  if (state === 'open') return <span class="quiet">open</span>;
  return <span class={`outcome ${state}`}>{state === 'up' ? '▲ up' : '▼ down'}</span>;
}

function NotRecorded() {
  return <abbr title="not recorded">—</abbr>;
}

function rowId(index: number): string {
  return `market-${index}`;
}
