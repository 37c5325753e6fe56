import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../../domain/outcome.ts';
import type { Order, PageQuery } from '../../domain/page.ts';
import { CURSOR_REFUSAL, QUERY } from '../parameters/query.ts';
import { decodeCursor } from './cursor.ts';

const { from, to, limit, cursor, order, interval, asOf, outcome } = QUERY;
/** The query of a time series. */
export const SERIES_QUERY = { from, to, limit, cursor, order, interval, asOf };
/** The same for a market, of which one outcome may be asked for. */
export const OUTCOME_SERIES_QUERY = { ...SERIES_QUERY, outcome };

/** What a request asks of a time series: a query of OUTCOME_SERIES_QUERY or SERIES_QUERY. */
interface AskedSeries {
  readonly from?: InstantMs | undefined;
  readonly to?: InstantMs | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly order: Order;
  readonly interval?: number | undefined;
  readonly outcome?: Outcome | undefined;
}

/** Both inclusive. */
export interface Window {
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
}

/** A page of a time series as asked for; `pageOf` checks its cursor once the series is known. */
export interface SeriesPage {
  /** Its end is never later than what may be known. */
  readonly range: Omit<PageQuery, 'after'>;
  /** As it was asked for. A cursor is bound to it and not to the range, whose end a running clock moves. */
  readonly window: Window;
  /** The outcomes asked for: one, or both. */
  readonly outcomes: readonly Outcome[];
  readonly cursor: string | undefined;
}

/** The window from `from` to `to`, each without an end where it is left out. */
export function windowOf({ from, to }: Pick<AskedSeries, 'from' | 'to'>): Window {
  return { fromMs: from ?? 0, toMs: to ?? Number.MAX_SAFE_INTEGER };
}

export function outcomesOf(outcome: Outcome | undefined): readonly Outcome[] {
  return outcome === undefined ? OUTCOMES : [outcome];
}

export function seriesPageOf(asked: AskedSeries, asOfMs: InstantMs | undefined): SeriesPage {
  const window = windowOf(asked);
  const { fromMs } = window;
  const { order, limit, interval: intervalMs } = asked;
  const toMs = Math.min(window.toMs, asOfMs ?? window.toMs);
  const range = { fromMs, toMs, order, limit, intervalMs };
  return { range, window, outcomes: outcomesOf(asked.outcome), cursor: asked.cursor };
}

/**
 * The page of one series. `series` names the kind of record and its market or coin, in canonical words: a slug and its
 * conditionId are the same market. `scope` is what a cursor of the page is bound to. Throws 'invalid-parameter' when the cursor
 * was altered or given for something else.
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

/** A refusal of a query parameter that only the whole request shows. */
export function refused(name: string, message: string): DomainError {
  return new DomainError('invalid-parameter', `${name} ${message}`, { issues: [{ in: 'query', name, message }] });
}
