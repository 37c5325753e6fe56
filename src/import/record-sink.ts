import type { RecordedItem } from '../record/record.ts';
import type { KnownMarkets } from './known-markets.ts';

/** One thing that an input holds: a line, a row, a message of a frame. Made by `RecordSink.item`. */
export interface SourceItem {
  /** Line, or row of a Parquet file; counted from 1. */
  readonly line: number;
}

/**
 * Where codecs put what they read. Every item is counted once, by its kind, and ends as one of: stored (a record made of
 * it is new in the archive), duplicate (it says nothing that is not there already), rejected (with a reason).
 *
 * Every call may commit a batch, and throws when the import was told to stop or the database failed: codecs let that pass.
 */
export interface RecordSink {
  readonly markets: KnownMarkets;

  /** Counts an item as read. `parts`: how many calls of `add`, `reject` and `finish` it takes part in. */
  item(kind: string, line: number, parts?: number): SourceItem;

  /** Adds a record made of a part of each item. Throws 'rejected-record', the parts still open, if it fits no market. */
  add(record: RecordedItem, items: readonly SourceItem[]): void;

  /** Ends one part: it cannot be kept. */
  reject(item: SourceItem, reason: string): void;

  /** Ends one part: it says nothing that other records do not say. */
  finish(item: SourceItem): void;

  /** Counts something that holds no record by what it is (`PONG`, `subscriptions`): neither read nor rejected. */
  ignore(kind: string): void;

  /**
   * The short way for an item that becomes records at once: counts it, adds what `parse` returns, and rejects it with the
   * reason of the DomainError 'rejected-record' that `parse`, or adding, throws. An item without records says nothing new.
   */
  take(kind: string, line: number, parse: () => readonly RecordedItem[]): void;
}
