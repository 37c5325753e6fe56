import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { InstantMs } from '../../../domain/instant.ts';
import type { MarketSort } from '../../../domain/market-sort.ts';
import type { marketState } from '../../../domain/market-state.ts';
import { numberText } from '../../texts.ts';
import { windowText } from './date-texts.ts';
import type { PagedRows } from './paged-rows.ts';
import type { ListedMarket, Midpoints, Recordings } from './recordings.ts';
import { contentPx, type ListSize, rowWindow, scrolledTo } from './row-window.ts';
import { openView } from './shown-page.ts';
import { Sparkline, shownMidpoints } from './sparkline.tsx';
import { axisText } from './view-texts.ts';

const CENTS = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
/** Rows in the document above and below those that are visible. */
const AROUND = 6;
/** The classes and the headings of columns, and the value that each is sorted by. A picture has no order. */
const COLUMNS = [
  ['window', 'Window (UTC)', 'window'],
  ['slug', 'Market', 'slug'],
  ['mid', 'Up mid', undefined],
  ['winner', 'Winner', 'winner'],
  ['number coin-price', 'Strike', 'strike'],
  ['number coin-price', 'Final', 'final'],
  ['number', 'Snapshots', 'snapshots'],
  ['number part', 'Recorded (s)', 'recorded'],
  ['number volume', 'Volume ($)', 'volume'],
] as const;

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
 * A list of markets of any length: only the rows that are visible are in the document. It is one stop of the key Tab; arrows, Page Up,
 * Page Down, Home and End move in it, and Enter opens a market.
 */
export function MarketList({ recordings, list, href, stateOf, nowMs }: MarketListContent) {
  // Read, so that rows are drawn when they are loaded.
  recordings.changes.value;
  const scroller = useRef<HTMLTableElement>(null);
  const head = useRef<HTMLTableSectionElement>(null);
  const ruler = useRef<HTMLDivElement>(null);
  const scrollTop = useSignal(0);
  const sizes = useSignal({ rowPx: 1, viewPx: 0 });
  /** The row that the keyboard is at. */
  const at = useSignal(0);
  const size: ListSize = { count: list.count ?? 0, ...sizes.value };
  const { first, end, topPx } = rowWindow(scrollTop.value, size, AROUND);
  const { rowPx, viewPx } = size;
  const { sort } = recordings.query.value;
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
  }, [list]);
  useEffect(() => {
    // A list has no height before its rows are counted.
    if (list.count === undefined) recordings.show(0, 1);
    else if (viewPx > 0) recordings.show(first, end);
  });

  const moveTo = (index: number) => {
    at.value = Math.min(Math.max(index, 0), size.count - 1);
    const list = scroller.current!;
    const to = scrolledTo(at.value, scrollTop.value, size);
    if (isWhole(list)) scrollBy(0, to + list.getBoundingClientRect().top);
    else list.scrollTop = to;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.metaKey || size.count === 0) return;
    const page = Math.max(1, Math.floor(viewPx / rowPx) - 1);
    const moves: Readonly<Record<string, number>> = {
      ArrowUp: at.value - 1,
      ArrowDown: at.value + 1,
      PageUp: at.value - page,
      PageDown: at.value + page,
      Home: 0,
      End: size.count - 1,
    };
    const to = moves[event.key];
    const market = list.row(at.value);
    if (to !== undefined) moveTo(to);
    else if (event.key === 'Enter' && market !== undefined) openView(href(market));
    else return;
    event.preventDefault();
  };

  const isShown = at.value >= first && at.value < end;
  return (
    <div class="card flush">
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
            {COLUMNS.map(([name, text, by]) => (
              <th key={text} scope="col" class={name} aria-sort={orderBy(sort, by)}>
                {by === undefined ? (
                  text
                ) : (
                  // The filters have the same choice for the keyboard.
                  <button type="button" tabIndex={-1} onClick={() => recordings.choose({ sort: nextSort(sort, by) })}>
                    {text}
                    {sort.endsWith(by) && <span aria-hidden="true">{sort.startsWith('-') ? ' ↓' : ' ↑'}</span>}
                  </button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody style={{ height: `${contentPx(size)}px` }}>
          {Array.from({ length: end - first }, (_, i) => first + i).map((index) => (
            <MarketRow
              // The element of a row that leaves is used for one that enters: changing it is faster than creating another.
              key={index % pool}
              index={index}
              topPx={topPx + (index - first) * rowPx}
              isAt={index === at.value}
              market={list.row(index)}
              midpoints={list.row(index) && recordings.midpoints(list.row(index)!)}
              href={href}
              stateOf={stateOf}
              nowMs={nowMs}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface MarketRowContent extends Pick<MarketListContent, 'href' | 'stateOf' | 'nowMs'> {
  readonly index: number;
  /** In the scrolled content, in pixels. */
  readonly topPx: number;
  readonly isAt: boolean;
  /** Undefined until it is loaded. */
  readonly market: ListedMarket | undefined;
  readonly midpoints: Midpoints | undefined;
}

function MarketRow({ index, topPx, isAt, market, midpoints, href, stateOf, nowMs }: MarketRowContent) {
  const row = {
    id: rowId(index),
    'aria-rowindex': index + 2,
    'aria-selected': isAt,
    style: { transform: `translateY(${topPx}px)` },
  } as const;
  if (market === undefined) {
    return (
      <tr {...row} class="market missing" aria-busy="true">
        <td>Loading …</td>
      </tr>
    );
  }
  const { day, times } = windowText(market.startTime, market.endTime);
  return (
    <tr {...row} class="market">
      <td class="window">
        <span class="quiet">{day}</span> {times}
      </td>
      <td class="slug">
        <a href={href(market)} tabIndex={-1}>
          {market.slug}
        </a>
      </td>
      <td class="mid">{midpoints && <Sparkline values={shownMidpoints(midpoints, market, nowMs())} />}</td>
      <td class="winner">
        <State state={stateOf(market)} />
      </td>
      {[market.priceStart, market.priceEnd].map((price, nth) => (
        <td key={nth} class="number coin-price">
          {price === null ? '' : axisText(price)}
        </td>
      ))}
      <td class="number">{numberText(market.snapshotCount)}</td>
      <td class="number part">{market.snapshotCount > 0 && <Recorded market={market} />}</td>
      <td class="number volume">{market.volume === null ? <NotRecorded /> : CENTS.format(market.volume)}</td>
    </tr>
  );
}

/** `10 of 300`; with the reason of a zero. */
function Recorded({ market: { recordedSeconds, windowSeconds } }: { readonly market: ListedMarket }) {
  const text = `${numberText(Math.floor(recordedSeconds))} of ${numberText(windowSeconds)}`;
  if (recordedSeconds > 0) return <>{text}</>;
  return <abbr title="Its books are before or after its window, or more than 60 seconds apart">{text}</abbr>;
}

/** The list is as high as its rows: the page scrolls, as on narrow screens. */
function isWhole({ scrollHeight, clientHeight }: HTMLElement): boolean {
  return scrollHeight <= clientHeight;
}

type Column = Exclude<(typeof COLUMNS)[number][2], undefined>;

function orderBy(sort: MarketSort, by: Column | undefined): 'ascending' | 'descending' | undefined {
  if (by === undefined || !sort.endsWith(by)) return undefined;
  return sort.startsWith('-') ? 'descending' : 'ascending';
}

/** The largest and the latest first, at the second press the other way round. */
function nextSort(sort: MarketSort, by: Column): MarketSort {
  return sort === `-${by}` ? by : `-${by}`;
}

/** A winner is an arrow and a word: colour is not needed to read it. */
function State({ state }: { readonly state: ReturnType<MarketListContent['stateOf']> }) {
  if (state === 'over') return <NotRecorded />;
  if (state === 'open') return <span class="quiet">open</span>;
  return <span class={`outcome ${state}`}>{state === 'up' ? '▲ up' : '▼ down'}</span>;
}

function NotRecorded() {
  return (
    <span class="quiet" role="img" aria-label="not recorded" title="not recorded">
      —
    </span>
  );
}

function rowId(index: number): string {
  return `market-${index}`;
}
