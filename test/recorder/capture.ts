import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MarketListing } from './venue-market.ts';

interface Level {
  readonly price: string;
  readonly size: string;
}

/** A message of a capture of the market channel. */
export interface CapturedMessage {
  readonly event_type: string;
  readonly market: string;
  readonly timestamp: string;
  readonly asset_id: string;
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
  readonly hash: string;
  readonly price: string;
  readonly price_changes: readonly (Level & {
    readonly asset_id: string;
    readonly side: 'BUY' | 'SELL';
    readonly hash: string;
  })[];
}

type Side = Map<string, string>;

interface ScannedBook {
  readonly bids: Side;
  readonly asks: Side;
  readonly timestamp: string;
  readonly hash: string;
}

const LISTED_AHEAD_MS = 86_000_000;

/**
 * The market of a real capture that was open, and its messages. Its books are found by sorting the messages by the venue's time, books
 * last, and scanning them: an oracle that shares no code with the product.
 */
export class Capture {
  readonly listing: MarketListing;
  /** The messages about the market in the order in which they were captured. */
  readonly messages: readonly CapturedMessage[];
  readonly #sorted: readonly CapturedMessage[];
  readonly #lines: string[][] = [];

  constructor(directory: string) {
    const market = JSON.parse(readFileSync(join(directory, 'markets.json'), 'utf8')).current;
    const [startMs, endMs] = [market.startTs * 1000, market.endTs * 1000] as const;
    this.listing = {
      ...{ slug: market.slug, conditionId: market.conditionId, assetIds: [market.upTokenId, market.downTokenId] },
      ...{ startMs, endMs, listedMs: startMs - LISTED_AHEAD_MS, resolution: undefined },
    };
    this.messages = readFileSync(join(directory, 'market-ws.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .flatMap((line) => JSON.parse(line).payload as CapturedMessage | CapturedMessage[])
      .filter((message) => message.market === market.conditionId);
    const isBook = ({ event_type }: CapturedMessage) => Number(event_type === 'book');
    this.#sorted = this.messages
      .map((message, index) => ({ message, index }))
      .sort(
        (a, b) => timeOf(a.message) - timeOf(b.message) || isBook(a.message) - isBook(b.message) || a.index - b.index,
      )
      .map(({ message }) => message);
  }

  get firstMs(): number {
    return timeOf(this.#sorted[0]!);
  }

  get lastMs(): number {
    return timeOf(this.#sorted.at(-1)!);
  }

  /** The books of an outcome as lines of a BookLedger, one for each time at which the book changed; from the first whole book on. */
  lines(outcomeIndex: number): readonly string[] {
    this.#lines[outcomeIndex] ??= this.#linesOf(this.listing.assetIds[outcomeIndex]!);
    return this.#lines[outcomeIndex];
  }

  #linesOf(assetId: string): string[] {
    const lines: string[] = [];
    let timestamp = '';
    for (const book of this.#scan(assetId)) {
      // The last book of a time is that of the time.
      if (book.timestamp === timestamp) lines.pop();
      lines.push(lineOf(book));
      ({ timestamp } = book);
    }
    // A change to the size that a level has already is none.
    return lines.filter((line, index, all) => levelsIn(line) !== levelsIn(all[index - 1] ?? ''));
  }

  /** The message after a subscription at a time; undefined before the first whole book. */
  opening(assetId: string, nowMs: number): string | undefined {
    let found: ScannedBook | undefined;
    for (const book of this.#scan(assetId, nowMs)) found = book;
    if (found === undefined) return undefined;
    const { timestamp, hash } = found;
    const sides = { bids: levelsOf(found.bids, 1), asks: levelsOf(found.asks, -1) };
    const market = this.listing.conditionId;
    const rest = { min_order_size: '5', tick_size: '0.01', neg_risk: false };
    const last_trade_price = PRICES.find((price) => {
      const summary = { market, asset_id: assetId, timestamp, hash: '', ...sides, ...rest, last_trade_price: price };
      return createHash('sha1').update(JSON.stringify(summary)).digest('hex') === hash;
    });
    // The order of the changes of one millisecond is not known: the venue's book has the hash of the next one that is.
    if (last_trade_price === undefined) return this.opening(assetId, Number(timestamp) - 1);
    const book = { market, asset_id: assetId, timestamp, hash, ...sides, tick_size: '0.01', event_type: 'book' };
    return JSON.stringify({ ...book, last_trade_price });
  }

  /** The books up to a time. All share their sides: they are right until the next one is asked for. */
  *#scan(assetId: string, toMs = Infinity): Generator<ScannedBook> {
    let book: ScannedBook | undefined;
    for (const { event_type, timestamp, asset_id, bids, asks, hash, price_changes } of this.#sorted) {
      if (Number(timestamp) > toMs) return;
      if (event_type === 'book' && asset_id === assetId) {
        book = { bids: sideOf(bids), asks: sideOf(asks), timestamp, hash };
        yield book;
      } else if (event_type === 'price_change' && book !== undefined) {
        for (const change of price_changes.filter((entry) => entry.asset_id === assetId)) {
          const levels = change.side === 'BUY' ? book.bids : book.asks;
          if (change.size === '0') levels.delete(change.price);
          else levels.set(change.price, change.size);
          book = { ...book, timestamp, hash: change.hash };
          yield book;
        }
      }
    }
  }
}

const PRICES = Array.from({ length: 99 }, (_, index) => ((index + 1) / 100).toFixed(3));

export function timeOf({ timestamp }: Pick<CapturedMessage, 'timestamp'>): number {
  return Number(timestamp);
}

function sideOf(levels: readonly Level[]): Side {
  return new Map(levels.map(({ price, size }) => [price, size]));
}

/** The levels of a side by price, ascending if `direction` is 1. */
function levelsOf(side: Side, direction: number): Level[] {
  return [...side]
    .map(([price, size]) => ({ price, size }))
    .sort((a, b) => direction * (Number(a.price) - Number(b.price)));
}

function lineOf({ timestamp, bids, asks }: ScannedBook): string {
  const text = (side: Side, direction: number) =>
    levelsOf(side, direction).map(({ price, size }) => `${Number(price)}x${Number(size)}`);
  return `${timestamp} ${text(bids, -1)} ${text(asks, 1)}`;
}

function levelsIn(line: string): string {
  return line.slice(line.indexOf(' ') + 1);
}
