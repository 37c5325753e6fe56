import type { InstantMs } from './instant.ts';

/** A record's position in its time series. Series ascend by (timestampMs, id); ids are unique, so positions are too. */
export interface Position {
  readonly timestampMs: InstantMs;
  readonly id: number;
}

export type Order = 'asc' | 'desc';

/** The record that a look-up by time finds: the nearest, the last one not later, or the first one not earlier. */
export type NearestMode = (typeof NEAREST_MODES)[number];
export const NEAREST_MODES = ['nearest', 'before', 'after'] as const;

export interface PageQuery {
  /** Both inclusive. */
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  readonly order: Order;
  /** The page starts after this position, in the direction of `order`. */
  readonly after: Position | undefined;
  /** 1 … PAGE_LIMIT_MAX. */
  readonly limit: number;
  /** A page has only the last record of each bucket of this length, per series, see domain/interval.ts. Undefined: every record. */
  readonly intervalMs?: number | undefined;
  /** Only records that had arrived at this instant; one without an arrival counts as arrived at its timestamp. */
  readonly receivedByMs?: InstantMs | undefined;
  /** True if the page need not have the arrivals of its records. */
  readonly withoutArrivals?: boolean | undefined;
}

/** A recorder's clock is at most this much behind the venue's: a record has not arrived more than this before its timestamp. */
export const ARRIVAL_EARLY_MAX_MS = 60_000;

export const PAGE_LIMIT_DEFAULT = 100;
export const PAGE_LIMIT_MAX = 1000;

/** Negative when `a` comes before `b`. */
export function comparePositions(a: Position, b: Position): number {
  return a.timestampMs - b.timestampMs || a.id - b.id;
}
