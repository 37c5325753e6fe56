import type { InstantMs } from './instant.ts';

/** A record's position in its time series. Series ascend by (timestampMs, id); ids are unique, so positions are too. */
export interface Position {
  readonly timestampMs: InstantMs;
  readonly id: number;
}

export type Order = 'asc' | 'desc';

/** Which record a look-up by time finds: the nearest of all, of those not later, or of those not earlier. */
export type NearestMode = (typeof NEAREST_MODES)[number];
export const NEAREST_MODES = ['nearest', 'before', 'after'] as const;

/** Which records of a time series a page takes. */
export interface PageQuery {
  /** Both inclusive. */
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  readonly order: Order;
  /** The page starts after this position, in the direction of `order`. */
  readonly after: Position | undefined;
  /** 1 … PAGE_LIMIT_MAX. */
  readonly limit: number;
  /**
   * Only the last record of each bucket of so many milliseconds, of each series by itself. Buckets begin at multiples of it
   * (Unix time); the first and the last one are cut off by `fromMs` and `toMs`. Undefined: every record.
   */
  readonly intervalMs?: number | undefined;
}

export const PAGE_LIMIT_DEFAULT = 100;
export const PAGE_LIMIT_MAX = 1000;

/** Negative when `a` comes before `b`. */
export function comparePositions(a: Position, b: Position): number {
  return a.timestampMs - b.timestampMs || a.id - b.id;
}
