import type { InstantMs } from '../../domain/instant.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { BestPrices } from '../../venue/best-prices.ts';
import type { BookMessage, Change } from '../../venue/book-message-parser.ts';
import type { SourceItem } from '../source-item.ts';

/** The series that an asset's book is stored in. */
export interface AssetTarget {
  readonly conditionId: string;
  readonly outcome: Outcome;
  readonly assetId: string;
}

/** A message, or part of one, about one asset: it ends one part of its item. */
export type AssetEvent = {
  readonly timestampMs: number;
  /** Its arrival; undefined if the recording does not state it. */
  readonly receivedMs?: InstantMs | undefined;
  readonly item: SourceItem;
} & (
  | { readonly kind: 'change'; readonly change: Change }
  | { readonly kind: 'book'; readonly message: BookMessage }
  | { readonly kind: 'tick'; readonly tickSize: string }
  | { readonly kind: 'best'; readonly best: BestPrices }
);
export type BookEvent = Extract<AssetEvent, { kind: 'book' }>;
export type ChangeEvent = Extract<AssetEvent, { kind: 'change' }>;
