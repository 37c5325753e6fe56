import type { OrderBook } from '../../src/domain/orderbook.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { randomBooks, randomsOf } from '../support/random-books.ts';
import {
  DOWN_ASSET,
  START_MS,
  sampleGap,
  sampleMarket,
  samplePrice,
  sampleSnapshot,
  UP_ASSET,
} from '../support/sample-records.ts';

/** A record that a replay sends, as it was recorded. */
export type Recorded =
  | { readonly kind: 'book'; readonly timestampMs: number; readonly outcome: Outcome; readonly book: OrderBook }
  | { readonly kind: 'trade'; readonly timestampMs: number; readonly outcome: Outcome; readonly price: number }
  | { readonly kind: 'gap'; readonly timestampMs: number; readonly toMs: number };

export interface RandomRecording {
  readonly recorded: readonly Recorded[];
  /** Lines of bookreel's own format. */
  readonly lines: readonly object[];
}

export interface RecordingStyle {
  readonly outcomes: readonly Outcome[];
  readonly count: number;
  readonly priceScale: number;
  readonly trades: boolean;
  readonly gaps: number;
  /** Maximum milliseconds from a record to the next one; 0 gives all one time. */
  readonly stepMs: number;
}

/** A market with random records from a seed; records of one outcome and time are in the order in which they are stored. */
export function randomRecording(seed: number, style: RecordingStyle): RandomRecording {
  const random = randomsOf(seed);
  const recorded: Recorded[] = [];
  for (const [nth, outcome] of style.outcomes.entries()) {
    const books = randomBooks(seed + nth + 1, style.count, {
      priceScale: style.priceScale,
      sizes: 'cents',
      levelsMax: 12,
      changesMax: 4,
    });
    let timestampMs = START_MS + Math.floor(random() * 1000);
    const stored = new Set<string>();
    for (const book of books) {
      timestampMs += Math.floor(random() * (style.stepMs + 1));
      // A record that repeats one of the same time is not stored.
      const text = `${timestampMs} ${JSON.stringify(book)}`;
      if (stored.has(text)) continue;
      stored.add(text);
      recorded.push({ kind: 'book', timestampMs, outcome, book });
      if (!style.trades || random() > 0.2) continue;
      const price = Math.floor(random() * (10 ** style.priceScale - 1) + 1) / 10 ** style.priceScale;
      const tradedMs = timestampMs + Math.floor(random() * 3);
      if (stored.has(`${tradedMs} ${price}`)) continue;
      stored.add(`${tradedMs} ${price}`);
      recorded.push({ kind: 'trade', timestampMs: tradedMs, outcome, price });
    }
  }
  for (let i = 0; i < style.gaps; i += 1) {
    const timestampMs = START_MS + Math.floor(random() * style.count * Math.max(1, style.stepMs / 2));
    recorded.push({ kind: 'gap', timestampMs, toMs: timestampMs + 1 + Math.floor(random() * 500) });
  }
  return { recorded, lines: [sampleMarket(), ...recorded.map(lineOf)] };
}

function lineOf(record: Recorded): object {
  const timestamp = new Date(record.timestampMs).toISOString();
  switch (record.kind) {
    case 'book': {
      const { bidPrices, bidSizes, askPrices, askSizes } = record.book;
      const bids = bidPrices.map((price, i) => ({ price, size: bidSizes[i] }));
      const asks = askPrices.map((price, i) => ({ price, size: askSizes[i] }));
      return sampleSnapshot({ outcome: record.outcome, timestamp, bids, asks });
    }
    case 'trade':
      return samplePrice({ outcome: record.outcome, timestamp, price: record.price });
    case 'gap':
      return sampleGap({ from: timestamp, to: new Date(record.toMs).toISOString() });
  }
}

export const ASSETS: Readonly<Record<Outcome, string>> = { up: UP_ASSET, down: DOWN_ASSET };
