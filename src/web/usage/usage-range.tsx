import type { ComponentChildren } from 'preact';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant, type InstantMs, parseIso, timeText } from '../../domain/instant.ts';
import { DAY_MS, HOUR_MS } from '../../domain/usage.ts';
import { DayField, Form } from '../form.tsx';
import { linkTo } from '../link-to.ts';

const SPANS = [
  { last: '24h', name: '24 hours', spanMs: DAY_MS },
  { last: '7d', name: '7 days', spanMs: 7 * DAY_MS },
  { last: '30d', name: '30 days', spanMs: 30 * DAY_MS },
  { last: '90d', name: '90 days', spanMs: 90 * DAY_MS },
  { last: '1y', name: 'Year', spanMs: 365 * DAY_MS },
] as const;
const DEFAULT_LAST = '30d';
/** Shorter ranges are shown by hour, unless the person chooses. */
const BY_HOUR_MS_MAX = 7 * DAY_MS;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** The range that a person chose. */
export interface ChosenRange {
  /** The name of one of SPANS; undefined: the person chose days. */
  readonly last: string | undefined;
  readonly interval: 'hour' | 'day';
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
}

/** Reads a range from `last`, or from `from` and `to` (dates in UTC, both inclusive) and `by`. Throws 'malformed-request'. */
export function chosenRange(query: URLSearchParams, nowMs: InstantMs, onlyDays = false): ChosenRange {
  const spans = spansOf(onlyDays);
  const [from, to] = [dateOf(query, 'from'), dateOf(query, 'to')];
  const isCustom = from !== undefined || to !== undefined;
  const last = isCustom ? undefined : query.get('last') || DEFAULT_LAST;
  const span = spans.find((one) => one.last === last);
  if (span === undefined && !isCustom) {
    throw new DomainError('malformed-request', `last must be one of ${spans.map((one) => one.last).join(', ')}`);
  }
  const toMs = Math.min(to === undefined ? nowMs : to + DAY_MS - 1, nowMs);
  const spanMs = span?.spanMs ?? (from === undefined ? 30 * DAY_MS : toMs - from);
  if (spanMs < 0) throw new DomainError('malformed-request', 'the first day is after the last one or after today');
  const by = query.get('by') || (spanMs <= BY_HOUR_MS_MAX ? 'hour' : 'day');
  const interval = by === 'hour' && !onlyDays ? 'hour' : 'day';
  // The interval that is not over yet counts.
  const fromMs = Math.max(from ?? toMs - spanMs + (interval === 'hour' ? HOUR_MS : DAY_MS), 0);
  return { last, interval, fromMs, toMs };
}

/** The last 24 hours or 30 days of every page: the hour or the day that is not over yet is the last of them. */
export function lastRange(last: '24h' | '30d', nowMs: InstantMs): ChosenRange {
  return chosenRange(new URLSearchParams({ last }), nowMs);
}

/** Returns the spans to choose from. By day, the last 24 hours would be today. */
function spansOf(onlyDays: boolean) {
  return onlyDays ? SPANS.slice(1) : SPANS;
}

/** Reads `from` and `to`, dates in UTC and both inclusive. Throws 'malformed-request'. */
export function chosenDays(query: URLSearchParams): { readonly fromMs?: InstantMs; readonly untilMs?: InstantMs } {
  const [fromMs, to] = [dateOf(query, 'from'), dateOf(query, 'to')];
  if (to !== undefined && to < (fromMs ?? 0)) {
    throw new DomainError('malformed-request', 'the first day is after the last one');
  }
  return { ...(fromMs !== undefined && { fromMs }), ...(to !== undefined && { untilMs: to + DAY_MS }) };
}

function dateOf(query: URLSearchParams, name: string): InstantMs | undefined {
  const text = query.get(name)?.trim() ?? '';
  const ms = DATE.test(text) ? parseIso(text) : undefined;
  if (ms === undefined && text !== '') throw new DomainError('malformed-request', `${name} must be like 2026-11-22`);
  return ms;
}

interface RangeContent {
  readonly path: string;
  readonly range: ChosenRange;
  /** The only key that is shown: the links to other ranges keep it. */
  readonly only?: { readonly id: string; readonly name: string } | undefined;
  readonly onlyDays?: boolean;
  /** More fields. */
  readonly children?: ComponentChildren;
}

/** Links to the last hours and days, and the range that is shown, which opens to a form for others. */
export function RangeForm({ path, range, only, onlyDays = false, children }: RangeContent) {
  const date = (ms: InstantMs) => formatInstant(ms).slice(0, 10);
  const text = range.interval === 'hour' ? (ms: InstantMs) => timeText(ms).slice(0, 16) : date;
  return (
    <div class="toolbar">
      <nav class="tabs" aria-label="Range">
        {spansOf(onlyDays).map(({ last, name }) => (
          <a
            key={last}
            href={linkTo(path, { last, key: only?.id })}
            aria-current={last === range.last ? 'true' : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      <details class="filter">
        <summary class="button">
          {[`${text(range.fromMs)} – ${text(range.toMs)} UTC`, ...(only ? [only.name] : [])].join(' · ')}
        </summary>
        <Form method="get" action={path} button="Show">
          <DayField label="From" name="from" required value={date(range.fromMs)} />
          <DayField label="To (UTC)" name="to" required value={date(range.toMs)} />
          {children}
        </Form>
      </details>
    </div>
  );
}
