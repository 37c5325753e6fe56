import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { DayResource } from '../../../domain/recorded-day.ts';
import { numberText } from '../../texts.ts';
import {
  type DayTotals,
  dayByKey,
  dayIn,
  isIn,
  LEVELS,
  levelOf,
  MONTHS_IN_ROW,
  monthByKey,
  monthOf,
  monthsOf,
  mostRecorded,
  movedByMonths,
  NOTHING,
  totalsOf,
  weeksOf,
  yearOf,
} from './calendar.ts';
import { dateText, shortMonthText } from './date-texts.ts';
import { ToolButton } from './tool-button.tsx';
import { countText } from './view-texts.ts';

const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

type Grid = 'months' | 'days';

interface CalendarContent {
  /** Ascending, at least one. */
  readonly days: readonly DayResource[];
  /** The month or the day that the list shows; '' for all. */
  readonly chosen: string;
  readonly choose: (date: string) => void;
}

/**
 * The months of a year and the days of a month, coloured by the number of recorded markets. Each is a grid: arrows, Home, End, Page Up and
 * Page Down move in it, and Enter chooses.
 */
export function CalendarView({ days, chosen, choose }: CalendarContent) {
  const [first, last] = [days[0]!.day, days.at(-1)!.day];
  /** The day that the keyboard is at. */
  const [at, setAt] = useState(() => dayIn(days, chosen));
  /** The grid that the keyboard has moved in. */
  const moved = useRef<Grid | undefined>(undefined);
  const element = useRef<HTMLDivElement>(null);
  const totals = useMemo(() => new Map(days.map((day) => [day.day, day])), [days]);
  const [month, year] = [monthOf(at), yearOf(at)];

  useEffect(() => {
    if (!isIn(at, chosen)) setAt(dayIn(days, chosen));
  }, [chosen]);
  useEffect(() => {
    if (moved.current !== undefined) {
      element.current?.querySelector<HTMLElement>(`.${moved.current} [tabindex="0"]`)?.focus();
    }
    moved.current = undefined;
  }, [at]);

  const moveTo = (day: string, grid?: Grid) => {
    moved.current = grid;
    setAt(day < first ? first : day > last ? last : day);
  };
  const onKey = (event: KeyboardEvent, grid: Grid) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const to = grid === 'days' ? dayByKey(at, event.key, event.shiftKey) : monthByKey(at, event.key);
    if (to === undefined) return;
    event.preventDefault();
    moveTo(to, grid);
  };

  /** `name` begins with what the cell shows. */
  const cell = (grid: Grid, date: string, name: string, sums: DayTotals, most: number) => {
    const isWithin = date >= first.slice(0, date.length) && date <= last.slice(0, date.length);
    const isChosen = date === chosen;
    return (
      <td key={date}>
        <button
          type="button"
          class={`day ${isWithin ? `level-${levelOf(sums.recordedMarkets, most)}` : ''} ${sums.marketsWithGaps > 0 ? 'gaps' : ''}`}
          tabIndex={isIn(at, date) ? 0 : -1}
          aria-label={`${name}: ${sumsText(sums)}`}
          aria-disabled={sums.markets === 0}
          aria-pressed={isChosen}
          title={`${name}: ${sumsText(sums)}`}
          onClick={() => {
            if (isWithin) moveTo(isIn(at, date) ? at : dayIn(days, date, date), grid);
            if (sums.markets > 0) choose(isChosen ? '' : date);
          }}
        >
          {name.split(' ', 1)}
        </button>
      </td>
    );
  };

  const months = monthsOf(year).map((name) => [name, totalsOf(days, name)] as const);
  const mostOfMonth = mostRecorded(months.map(([, sums]) => sums));
  const mostOfDay = mostRecorded(days);
  return (
    <div ref={element} class="calendar">
      <div class="row spread">
        <ToolButton
          name="Earlier year"
          isDisabled={year <= yearOf(first)}
          onClick={() => moveTo(movedByMonths(at, -12))}
        >
          ‹
        </ToolButton>
        <h2 id="calendar-year">{year}</h2>
        <ToolButton name="Later year" isDisabled={year >= yearOf(last)} onClick={() => moveTo(movedByMonths(at, 12))}>
          ›
        </ToolButton>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the grid pattern of WAI-ARIA; cells have buttons */}
      <table class="months" role="grid" aria-labelledby="calendar-year" onKeyDown={(event) => onKey(event, 'months')}>
        <tbody>
          {rowsOf(months, MONTHS_IN_ROW).map((row) => (
            <tr key={row[0]![0]}>
              {row.map(([name, sums]) => cell('months', name, shortMonthText(name), sums, mostOfMonth))}
            </tr>
          ))}
        </tbody>
      </table>
      <h3 id="calendar-month">{dateText(month)}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the same */}
      <table class="days" role="grid" aria-labelledby="calendar-month" onKeyDown={(event) => onKey(event, 'days')}>
        <thead>
          <tr>
            {WEEKDAYS.map((name) => (
              <th key={name} scope="col" abbr={name}>
                {name.slice(0, 2)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeksOf(month).map((week) => (
            <tr key={week.find((day) => day !== undefined)}>
              {week.map((day, weekday) =>
                day === undefined ? (
                  <td key={weekday} />
                ) : (
                  cell('days', day, dateText(day), totals.get(day) ?? NOTHING, mostOfDay)
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="levels small quiet">
        <span>
          <i class="day level-0" /> no books
        </span>
        <span>
          1{' '}
          {Array.from({ length: LEVELS }, (_, level) => (
            <i key={level} class={`day level-${level + 1}`} />
          ))}{' '}
          {countText(mostOfDay, 'market')} a day
        </span>
        {days.some(({ marketsWithGaps }) => marketsWithGaps > 0) && (
          <span>
            <i class="day gaps" /> gaps
          </span>
        )}
      </p>
    </div>
  );
}

function sumsText({ markets, recordedMarkets, marketsWithGaps, snapshots }: DayTotals): string {
  if (markets === 0) return 'no markets';
  const recorded = recordedMarkets === markets ? 'all' : recordedMarkets === 0 ? 'none' : numberText(recordedMarkets);
  const gaps = marketsWithGaps === 0 ? '' : `, ${numberText(marketsWithGaps)} with gaps`;
  return `${countText(markets, 'market')}, ${recorded} recorded${gaps}, ${countText(snapshots, 'snapshot')}`;
}

function rowsOf<Item>(items: readonly Item[], length: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / length) }, (_, i) => items.slice(i * length, (i + 1) * length));
}
