import type { InstantMs } from '../../domain/instant.ts';
import type { BarKind, EXCHANGE } from './tardis-data-type.ts';

/** A level as tardis writes it; without price and amount where a book has no such level. */
export interface RecordLevel {
  readonly price: number;
  readonly amount: number;
}
export type OptionalLevel = RecordLevel | Record<string, never>;

interface About {
  /** The asset id. */
  readonly symbol: string;
  readonly exchange: typeof EXCHANGE;
}

interface Timed {
  /** When it was so, by the venue's clock. */
  readonly timestamp: Date;
  /** When it is told: the recording's time of what it is told with. */
  readonly localTimestamp: Date;
}

/** New sizes at prices, 0 takes one away; or with `isSnapshot` all there is. */
export interface BookChange extends About, Timed {
  readonly type: 'book_change';
  readonly isSnapshot: boolean;
  readonly bids: readonly RecordLevel[];
  readonly asks: readonly RecordLevel[];
}

export interface Trade extends About, Timed {
  readonly type: 'trade';
  /** The venue's transaction; where that is not recorded the price record's id in this archive, which is a number. */
  readonly id: string;
  readonly price: number;
  /** Shares; 0 where no size is recorded, as tardis has it where none is told. */
  readonly amount: number;
  /** The taker's. */
  readonly side: 'buy' | 'sell' | 'unknown';
}

/** The best prices, when one of them changes. */
export interface BookTicker extends About, Timed {
  readonly type: 'book_ticker';
  /** Left out without bids. */
  readonly bidPrice: number | undefined;
  /** The venue's message does not say it. */
  readonly bidAmount: undefined;
  /** 1 without asks: so the venue says it. */
  readonly askPrice: number | undefined;
  readonly askAmount: undefined;
}

export interface BookSnapshot extends About, Timed {
  readonly type: 'book_snapshot';
  readonly name: string;
  readonly depth: number;
  readonly interval: number;
  readonly grouping: number | undefined;
  /** As many as `depth`, the best one first. */
  readonly bids: readonly OptionalLevel[];
  readonly asks: readonly OptionalLevel[];
}

export interface TradeBar extends About {
  readonly type: 'trade_bar';
  readonly name: string;
  readonly interval: number;
  readonly kind: BarKind;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  readonly volume: number;
  readonly buyVolume: number;
  readonly sellVolume: number;
  readonly trades: number;
  /** NaN, in JSON null, where no trade has a size. */
  readonly vwap: number;
  readonly openTimestamp: Date;
  readonly closeTimestamp: Date;
  readonly localTimestamp: Date;
  readonly timestamp: Date;
}

interface Disconnect {
  readonly type: 'disconnect';
  readonly exchange: typeof EXCHANGE;
  /** Of what was told last. */
  readonly localTimestamp: Date;
  /** Those that were asked for; left out where all are. */
  readonly symbols: readonly string[] | undefined;
}

/** What records are made of. */
export type SourceRecord = BookChange | Trade | BookTicker;
export type ComputedRecord = BookSnapshot | TradeBar;
/**
 * tardis' normalized records (tardis-node, src/types.ts), their fields in its order. A record is told when its message is:
 * by `localTimestamp`.
 */
export type TardisRecord = SourceRecord | ComputedRecord | Disconnect;

export function dateOf(instantMs: InstantMs): Date {
  return new Date(instantMs);
}
