import type { RecordedItem } from '../record/record.ts';
import type { KnownMarkets } from './known-markets.ts';

/** One thing that an input holds: a line, a row, a message of a frame. Made by `RecordSink.unit`. */
export interface SourceItem {
  /** Line, or row of a Parquet file; counted from 1. */
  readonly line: number;
}

/**
 * Where codecs put what they read. Every unit is counted once, by its kind, and ends as one of: stored (a record made of
 * it is new in the archive), duplicate (it says nothing that is not there already), rejected (with a reason).
 *
 * Every call may commit a batch, and throws when the import was told to stop or the database failed: codecs let that pass.
 */
export interface RecordSink {
  readonly markets: KnownMarkets;

  /**
   * Counts a unit as read. `parts`: how many calls of `add`, `reject` and `settle` it will take part in before its fate is
   * known; 1 unless it is split.
   */
  unit(kind: string, line: number, parts?: number): SourceItem;

  /**
   * Adds a record made of `units` (one part of each). Throws DomainError 'rejected-record' when it fits no known market;
   * the parts are still open then.
   */
  add(item: RecordedItem, units: readonly SourceItem[]): void;

  /** Ends one part: it cannot be kept. */
  reject(unit: SourceItem, reason: string): void;

  /** Ends one part: it says nothing that other records do not say. */
  settle(unit: SourceItem): void;

  /** Counts something that holds no record by what it is (`PONG`, `subscriptions`): neither read nor rejected. */
  ignore(kind: string): void;

  /**
   * The short way for a unit of one line that becomes records at once: counts it, adds what `parse` returns, and rejects it with
   * the reason of the DomainError 'rejected-record' that `parse`, or adding, throws. A unit without records says nothing new.
   */
  take(kind: string, line: number, parse: () => readonly RecordedItem[]): void;
}
