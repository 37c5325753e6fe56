import type { InstantMs } from './instant.ts';

/** A record's place in its time series. Series ascend by (timestampMs, id); ids are unique, so places are too. */
export interface Place {
  readonly timestampMs: InstantMs;
  readonly id: number;
}

export type Order = 'asc' | 'desc';

/** Which records of a time series a page takes. */
export interface PageQuery {
  /** Both inclusive. */
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  readonly order: Order;
  /** The page starts behind this place, in the direction of `order`. */
  readonly after: Place | undefined;
  /** 1 … PAGE_LIMIT_MAX. */
  readonly limit: number;
}

export const PAGE_LIMIT_DEFAULT = 100;
export const PAGE_LIMIT_MAX = 1000;

/** Negative when `a` stands before `b`. */
export function comparePlaces(a: Place, b: Place): number {
  return a.timestampMs - b.timestampMs || a.id - b.id;
}
