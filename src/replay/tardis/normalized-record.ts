import { formatInstant, type InstantMs } from '../../domain/instant.ts';
import type { BarType, EXCHANGE, SnapshotType } from './data-type.ts';

/** A level in tardis' format. */
export interface RecordLevel {
  readonly price: number;
  readonly amount: number;
}
/** A level, or an empty object if the book has fewer levels. */
export type OptionalLevel = RecordLevel | Record<string, never>;

interface OfAsset {
  /** The asset id. */
  readonly symbol: string;
  readonly exchange: typeof EXCHANGE;
  /** The venue's time. */
  readonly timestamp: Date;
  /** The time at which it is sent: the recorded time of its message. */
  readonly localTimestamp: Date;
}

/** New sizes at prices, where 0 removes the level; or with `isSnapshot` the whole book. */
export interface BookChange extends OfAsset {
  readonly type: 'book_change';
  readonly isSnapshot: boolean;
  readonly bids: readonly RecordLevel[];
  readonly asks: readonly RecordLevel[];
}

export interface Trade extends OfAsset {
  readonly type: 'trade';
  /** The venue's transaction; if it is not recorded, the price record's id in this archive, a number. */
  readonly id: string;
  readonly price: number;
  /** Shares; 0 if no size is recorded, as in tardis' record of a message without a size. */
  readonly amount: number;
  /** The side of the taker. */
  readonly side: 'buy' | 'sell' | 'unknown';
}

/** The best prices, when one of them changes. The venue's message has no amounts. */
export interface BookTicker extends OfAsset {
  readonly type: 'book_ticker';
  /** Undefined without bids. */
  readonly bidPrice: number | undefined;
  readonly bidAmount: undefined;
  /** 1 without asks, as at the venue. */
  readonly askPrice: number | undefined;
  readonly askAmount: undefined;
}

export interface BookSnapshot extends OfAsset, Omit<SnapshotType, 'kind'> {
  readonly type: 'book_snapshot';
  /** As many as `depth`, the best one first. */
  readonly bids: readonly OptionalLevel[];
  readonly asks: readonly OptionalLevel[];
}

type BarFigure = 'open' | 'high' | 'low' | 'close' | 'volume' | 'buyVolume' | 'sellVolume' | 'trades' | 'vwap';

/** `vwap` is NaN, in JSON null, if no trade has a size. */
export interface TradeBar extends OfAsset, Readonly<Record<BarFigure, number>> {
  readonly type: 'trade_bar';
  readonly name: string;
  readonly interval: number;
  readonly kind: BarType['barKind'];
  readonly openTimestamp: Date;
  readonly closeTimestamp: Date;
}

interface Disconnect {
  readonly type: 'disconnect';
  readonly exchange: typeof EXCHANGE;
  /** The time at which the last record before it was sent. */
  readonly localTimestamp: Date;
  /** The symbols of the options; undefined if the options are for all symbols. */
  readonly symbols: readonly string[] | undefined;
}

/** The records from which snapshots and bars are computed. */
export type SourceRecord = BookChange | Trade | BookTicker;
export type ComputedRecord = BookSnapshot | TradeBar;
/** tardis' normalized records (tardis-node, src/types.ts) with its order of fields, sent by `localTimestamp`. */
export type TardisRecord = SourceRecord | ComputedRecord | Disconnect;

/** Writes records as JSON.stringify does. Most are book changes: their text is put together here in half the time. */
export class RecordTexts {
  /** The last instant that was written: many records share one. */
  #ms: InstantMs = -1;
  #instant = '';

  text(record: TardisRecord): string {
    if (record.type !== 'book_change') return JSON.stringify(record);
    const { symbol, exchange, isSnapshot, bids, asks, timestamp, localTimestamp } = record;
    return `{"type":"book_change","symbol":"${symbol}","exchange":"${exchange}","isSnapshot":${isSnapshot},"bids":[${levelsText(bids)}],"asks":[${levelsText(asks)}],"timestamp":"${this.#instantText(timestamp)}","localTimestamp":"${this.#instantText(localTimestamp)}"}`;
  }

  #instantText(date: Date): string {
    const ms = date.getTime();
    if (ms !== this.#ms) this.#instant = formatInstant(ms);
    this.#ms = ms;
    return this.#instant;
  }
}

function levelsText(levels: readonly RecordLevel[]): string {
  let text = '';
  for (const { price, amount } of levels) text += `${text === '' ? '' : ','}{"price":${price},"amount":${amount}}`;
  return text;
}
