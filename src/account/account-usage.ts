import { setImmediate } from 'node:timers/promises';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { DAY_MS, HOUR_MS } from '../domain/usage.ts';
import { USAGE_KEPT_MS, type Usage, type UsageRow } from '../store/usage.ts';
import { type NamedUsage, UsageByName, UsageSeries } from './usage-series.ts';

/** `rangeMsMax`: a longer range would delay other requests. A year of ten keys with five routes takes 7 ms by day, a month 18 ms by hour. */
const INTERVALS = {
  hour: { lengthMs: HOUR_MS, defaultMs: DAY_MS, rangeMsMax: 31 * DAY_MS },
  day: { lengthMs: DAY_MS, defaultMs: 30 * DAY_MS, rangeMsMax: USAGE_KEPT_MS },
} as const;

export interface UsageRange {
  readonly interval: keyof typeof INTERVALS;
  /** Undefined: a day before `toMs` by hour, 30 days by day. */
  readonly fromMs?: InstantMs | undefined;
  /** Undefined: now. */
  readonly toMs?: InstantMs | undefined;
}

export interface SummedTime {
  /** Start of the first interval. */
  readonly fromMs: InstantMs;
  /** Latest start of an hour that is counted. */
  readonly toMs: InstantMs;
  readonly intervalMs: number;
}

/** Sums of the same requests. The keys and the routes with most requests are first. */
export interface AccountUsage extends SummedTime {
  readonly total: UsageSeries;
  readonly keys: readonly NamedUsage[];
  readonly routes: readonly NamedUsage[];
}

/** Keys that are read in one turn of the event loop: a year of them takes about 5 ms. */
const KEYS_A_TURN = 4;

/** The time that is summed. `fromMs` is rounded down to an interval; an earlier one is moved to 31 days before `toMs` by hour, 400 by day. */
export function summedTime(range: UsageRange, nowMs: InstantMs): SummedTime {
  const { lengthMs, defaultMs, rangeMsMax } = INTERVALS[range.interval];
  // A range that begins after the present interval is empty.
  const latestMs = Math.max(nowMs, Math.min(range.fromMs ?? 0, INSTANT_MAX_MS));
  const toMs = Math.min(range.toMs ?? Infinity, latestMs);
  const from = Math.max(Math.min(range.fromMs ?? toMs - defaultMs, toMs), toMs - rangeMsMax, 0);
  return { fromMs: from - (from % lengthMs), toMs, intervalMs: lengthMs };
}

/** As much time right before; undefined: usage is not kept for all of it. */
export function timeBefore({ fromMs, toMs, intervalMs }: SummedTime, nowMs: InstantMs): UsageRange | undefined {
  const lengthMs = Math.floor((toMs - fromMs) / intervalMs + 1) * intervalMs;
  if (fromMs - lengthMs < nowMs - USAGE_KEPT_MS) return undefined;
  return { interval: intervalMs === HOUR_MS ? 'hour' : 'day', fromMs: fromMs - lengthMs, toMs: toMs - lengthMs };
}

/** The rows of a few keys at a time: an account may have had thousands. Other requests are answered in between. */
export async function* usageRows(
  usage: Usage,
  keyIds: readonly string[],
  { fromMs, toMs, intervalMs }: SummedTime,
): AsyncGenerator<UsageRow[]> {
  for await (const ids of inTurns(usage, keyIds)) yield usage.list(ids, fromMs, toMs, intervalMs);
}

/** A few keys at a time; other requests are answered in between. */
async function* inTurns(usage: Usage, keyIds: readonly string[]): AsyncGenerator<readonly string[]> {
  await usage.gather();
  for (let at = 0; at < keyIds.length; at += KEYS_A_TURN) {
    yield keyIds.slice(at, at + KEYS_A_TURN);
    await setImmediate();
  }
}

/** The requests of keys, including those that are not stored yet. The database sums them, so no row becomes an object as in `usageOf`. */
export async function requestsOf(
  usage: Usage,
  keyIds: readonly string[],
  range: UsageRange,
  nowMs: InstantMs,
): Promise<number> {
  const { fromMs, toMs, intervalMs } = summedTime(range, nowMs);
  let requests = 0;
  for await (const ids of inTurns(usage, keyIds)) requests += usage.requests(ids, fromMs, toMs, intervalMs);
  return requests;
}

/** The usage of keys, including requests that are not stored yet. */
export async function usageOf(
  usage: Usage,
  keyIds: readonly string[],
  range: UsageRange,
  nowMs: InstantMs,
): Promise<AccountUsage> {
  const time = summedTime(range, nowMs);
  const total = new UsageSeries();
  const keys = new UsageByName<string>();
  const routes = new UsageByName<string>();
  for await (const rows of usageRows(usage, keyIds, time)) {
    for (const row of rows) {
      total.add(row.startMs, row);
      keys.add(row.keyId, row.startMs, row);
      routes.add(row.route, row.startMs, row);
    }
  }
  return { ...time, total, keys: keys.list(), routes: routes.list() };
}
