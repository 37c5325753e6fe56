import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../../domain/outcome.ts';
import type { PageQuery } from '../../domain/page.ts';
import { parameters } from '../parameters/parameter.ts';
import { ARRIVAL_QUERY, CURSOR_REFUSAL, QUERY } from '../parameters/query.ts';
import { decodeCursor } from './cursor.ts';

const { from, to, limit, cursor, order, interval, asOf, outcome } = QUERY;
export const SERIES_QUERY = parameters({ from, to, limit, cursor, order, interval, asOf });
/** The query of a time series of a market: of one outcome, or of both. */
export const OUTCOME_SERIES_QUERY = parameters({ ...SERIES_QUERY.properties, outcome, ...ARRIVAL_QUERY });
export type SeriesQuery = typeof SERIES_QUERY.static & Partial<typeof OUTCOME_SERIES_QUERY.static>;

/** Both inclusive. */
export interface Window {
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
}

/** A requested page of a time series. `pageOf` checks its cursor once the series is known. */
export interface SeriesPage {
  /** Ends at the latest instant that the answer may show, or before. */
  readonly range: Omit<PageQuery, 'after'>;
  /** As requested. A cursor is bound to it and not to the range: a running clock moves the end of the range. */
  readonly window: Window;
  readonly outcomes: readonly Outcome[];
  readonly cursor: string | undefined;
}

/** The window from `from` to `to`, unlimited if they are left out. */
export function windowOf({ from, to }: Pick<SeriesQuery, 'from' | 'to'>): Window {
  return { fromMs: from ?? 0, toMs: to ?? Number.MAX_SAFE_INTEGER };
}

export function outcomesOf(outcome: Outcome | undefined): readonly Outcome[] {
  return outcome === undefined ? OUTCOMES : [outcome];
}

export function seriesPageOf(requested: SeriesQuery, asOfMs: InstantMs | undefined): SeriesPage {
  const window = windowOf(requested);
  const { fromMs } = window;
  const { order, limit, interval: intervalMs, asOfReceived: receivedByMs, include } = requested;
  const toMs = Math.min(window.toMs, asOfMs ?? window.toMs);
  const range = { fromMs, toMs, order, limit, intervalMs, receivedByMs, withoutArrivals: include === undefined };
  return { range, window, outcomes: outcomesOf(requested.outcome), cursor: requested.cursor };
}

/**
 * The page of one series. `series` is the canonical name of the series: a slug and its conditionId are the same market. Cursors
 * of the page are bound to `scope`. Throws 'invalid-parameter' if the cursor was altered or is of another scope.
 */
export function pageOf(
  { range, window, outcomes, cursor }: SeriesPage,
  series: string,
): { query: PageQuery; scope: string } {
  const { order, intervalMs } = range;
  const interval = intervalMs === undefined ? [] : [intervalMs];
  const scope = [series, order, outcomes.join(), window.fromMs, window.toMs, ...interval].join(' ');
  const after = cursor === undefined ? undefined : decodeCursor(cursor, scope);
  if (cursor !== undefined && after === undefined) throw refused('cursor', CURSOR_REFUSAL);
  return { query: { ...range, after }, scope };
}

/** The refusal of a query parameter because of the rest of the request. */
export function refused(name: string, message: string): DomainError {
  return new DomainError('invalid-parameter', `${name} ${message}`, { issues: [{ in: 'query', name, message }] });
}
