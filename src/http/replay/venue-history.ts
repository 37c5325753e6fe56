import type { HistoryWindow } from '../../replay/clob/price-history.ts';
import { clobRefusal, type VenueQuestion, type VenueRefusal } from './venue-answer.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** The venue refuses longer windows between two times. */
const WINDOW_MS_MAX = 15 * DAY_MS;

/** The length of each interval, and the minimum minutes between its points. `1m` is a month. */
const INTERVALS: ReadonlyMap<string, { readonly reachMs: number; readonly fidelityMin: number }> = new Map([
  ['1h', { reachMs: HOUR_MS, fidelityMin: 1 }],
  ['6h', { reachMs: 6 * HOUR_MS, fidelityMin: 1 }],
  ['1d', { reachMs: DAY_MS, fidelityMin: 1 }],
  ['1w', { reachMs: 7 * DAY_MS, fidelityMin: 5 }],
  ['1m', { reachMs: 30 * DAY_MS, fidelityMin: 10 }],
  ['max', { reachMs: 31 * DAY_MS, fidelityMin: 1 }],
  ['all', { reachMs: 31 * DAY_MS, fidelityMin: 1 }],
]);
const INTERVAL_NAMES = [...INTERVALS.keys()].join(', ');
const WHOLE = /^[1-9]\d{0,5}$/;
const SECONDS = /^\d{1,12}(?:\.\d{1,9})?$/;

/**
 * The requested window of `/prices-history`: `startTs`, `endTs` (Unix seconds) or an `interval` that ends now; `fidelity` in
 * minutes, 1 by default. Times are in shifted time, see Replay.shiftMs. Rules and refusals are the venue's.
 */
export function historyWindow({ query, replay, nowMs }: VenueQuestion): HistoryWindow {
  const fidelity = query.get('fidelity') ?? '1';
  if (!WHOLE.test(fidelity)) throw invalid("'fidelity' must be a whole number of minutes");
  const name = query.get('interval') ?? undefined;
  const interval = name === undefined ? undefined : INTERVALS.get(name);
  if (name !== undefined && interval === undefined) throw invalid(`'interval' must be one of ${INTERVAL_NAMES}`);
  if (interval !== undefined && Number(fidelity) < interval.fidelityMin) {
    throw invalid(`minimum 'fidelity' for '${name}' range is ${interval.fidelityMin}`);
  }
  const stepMs = Number(fidelity) * MINUTE_MS;
  const startMs = secondsIn(query, 'startTs', replay.shiftMs);
  const endMs = secondsIn(query, 'endTs', replay.shiftMs);
  if (startMs === undefined) {
    if (endMs !== undefined || interval === undefined) throw invalid("'startTs' or 'interval' is missing");
    return { fromMs: Math.max(0, nowMs - interval.reachMs), toMs: nowMs, stepMs };
  }
  const toMs = endMs ?? nowMs;
  if (toMs < startMs) throw invalid("'startTs' must not be later than 'endTs'");
  if (toMs - startMs > WINDOW_MS_MAX) throw invalid("'startTs' and 'endTs' interval is too long");
  return { fromMs: Math.max(0, startMs), toMs, stepMs };
}

/** Undefined if it is missing. */
function secondsIn(query: URLSearchParams, name: string, shiftMs: number): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!SECONDS.test(text)) throw invalid(`'${name}' must be a Unix time in seconds`);
  return Math.floor(Number(text) * 1000) - shiftMs;
}

function invalid(what: string): VenueRefusal {
  return clobRefusal(400, `invalid filters: ${what}`);
}
