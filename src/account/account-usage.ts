import type { InstantMs } from '../domain/instant.ts';
import { addedUsage, DAY_MS, HOUR_MS, NO_USAGE, type UsageCounts } from '../domain/usage.ts';
import { USAGE_KEPT_MS, type Usage, type UsageRow } from '../store/usage.ts';

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

/** Sums of the same requests, each list in its order: of the intervals with requests, of the keys, and of the routes. */
export interface AccountUsage {
  /** Start of the first interval. */
  readonly fromMs: InstantMs;
  /** Latest start of an hour that is counted. */
  readonly toMs: InstantMs;
  readonly intervals: readonly (UsageCounts & { readonly startMs: InstantMs })[];
  readonly keys: readonly (UsageCounts & { readonly keyId: string })[];
  readonly routes: readonly (UsageCounts & { readonly route: string })[];
}

/** The usage of keys, requests that are not stored yet too. An earlier `fromMs` is moved to 31 days before `toMs` by hour, 400 by day. */
export function usageOf(usage: Usage, keyIds: readonly string[], range: UsageRange, nowMs: InstantMs): AccountUsage {
  const { lengthMs, defaultMs, rangeMsMax } = INTERVALS[range.interval];
  const toMs = Math.min(range.toMs ?? Infinity, nowMs);
  const from = Math.max(Math.min(range.fromMs ?? toMs - defaultMs, toMs), toMs - rangeMsMax, 0);
  const fromMs = from - (from % lengthMs);
  const rows = usage.list(keyIds, fromMs, toMs, lengthMs);
  return {
    fromMs,
    toMs,
    intervals: sums(rows, ({ startMs }) => startMs).map(([startMs, counts]) => ({ startMs, ...counts })),
    keys: sums(rows, ({ keyId }) => keyId).map(([keyId, counts]) => ({ keyId, ...counts })),
    routes: sums(rows, ({ route }) => route).map(([route, counts]) => ({ route, ...counts })),
  };
}

/** The sums of rows by a field, in the order of its values. */
function sums<T extends string | number>(rows: readonly UsageRow[], fieldOf: (row: UsageRow) => T): [T, UsageCounts][] {
  const byField = new Map<T, UsageCounts>();
  for (const row of rows) {
    const field = fieldOf(row);
    byField.set(field, addedUsage(byField.get(field) ?? NO_USAGE, row));
  }
  return [...byField].sort(([a], [b]) => (a < b ? -1 : 1));
}
