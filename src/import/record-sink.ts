import type { RecordedItem } from '../record/record.ts';
import type { KnownMarkets } from './known-markets.ts';
import type { AssetEvent, AssetTarget } from './rebuild/asset-event.ts';
import type { SourceItem } from './source-item.ts';

/**
 * Receives the records that codecs read. Every item is counted once, by its kind, and ends as stored (at least one of its records
 * is new in the archive), duplicate (the archive already had all its records), contradicted (by hashes) or rejected (with a reason).
 *
 * Every call may commit a batch. It throws if the import was stopped or the database failed; codecs must not catch that.
 */
export interface RecordSink {
  readonly markets: KnownMarkets;

  /** Counts an item as read. It ends after `parts` calls of `add`, `reject` and `finish`. */
  item(kind: string, line: number, parts?: number): SourceItem;

  /** Adds a record made from a part of each item. Ends the parts, or throws 'rejected-record': no market fits. */
  add(record: RecordedItem, items: readonly SourceItem[]): void;

  /**
   * Adds the record that `parse` returns, made from one part of each item, and ends these parts. If `parse` or adding throws
   * DomainError 'rejected-record', the parts are rejected with its message.
   */
  addFrom(items: readonly SourceItem[], parse: () => RecordedItem): void;

  /** Ends one part: it cannot be stored. */
  reject(item: SourceItem, reason: string): void;

  /** Ends one part that gives no record. */
  finish(item: SourceItem): void;

  /** Ends one part: a record of it is new in the archive. */
  store(item: SourceItem): void;

  /** Ends one part: hashes contradict the book that it would make, so it is not stored. */
  contradict(item: SourceItem): void;

  /** Counts an item that never has a record (`PONG`, `subscriptions`): neither as read nor as rejected. */
  ignore(kind: string): void;

  /**
   * Counts an item and adds the records that `parse` returns. If `parse`, one of them, or adding throws DomainError 'rejected-record',
   * the item is rejected with its message; the records before it are kept. An item without records is a duplicate.
   */
  take(kind: string, line: number, parse: () => Iterable<RecordedItem>): void;

  /** Merges a message about the book of an asset with all other recordings of it, which ends one part of its item. */
  state(target: AssetTarget, event: AssetEvent): void;
}
