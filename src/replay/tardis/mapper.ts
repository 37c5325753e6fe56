import type { InstantMs } from '../../domain/instant.ts';
import { assetIdOf, type Market } from '../../domain/market.ts';
import { complement } from '../../domain/mirrored-book.ts';
import type { OrderBook } from '../../domain/orderbook.ts';
import { OUTCOMES, type Outcome, otherOutcome } from '../../domain/outcome.ts';
import { isNewTop } from '../../venue/best-prices.ts';
import type { LevelChange } from '../../venue/level-change.ts';
import { pairChanges } from '../clob/market-frames.ts';
import type { MarketPlayback, PlaybackEvent } from '../market-playback.ts';
import { EXCHANGE } from './data-type.ts';
import type { FeedEvent } from './feed.ts';
import type { BookChange, BookTicker, RecordLevel, SourceRecord } from './normalized-record.ts';

type RecordedEvent = Extract<FeedEvent, { kind: 'recorded' }>;
type BooksEvent = Extract<PlaybackEvent, { kind: 'books' }>;
/** The venue's time, and the arrival if it is known, else the venue's time again. */
interface Times {
  readonly timestampMs: InstantMs;
  readonly receivedMs: InstantMs;
}
type TradeEvent = Extract<PlaybackEvent, { kind: 'trade' }>;

/**
 * The records that tardis makes of the venue's messages (tardis-node, src/mappers/polymarket.ts), in the order of the messages
 * of MarketFrames. A `price_change` gives one record for each level and outcome, a `book` a snapshot with its levels in the
 * venue's order (the best one last), a `last_trade_price` a trade, a `best_bid_ask` a ticker.
 */
export function recordsOf(event: FeedEvent): SourceRecord[] {
  if (event.kind === 'books')
    return event.outcomes.map((outcome) => bookRecord(event.playback, outcome, event.localMs));
  if (event.kind !== 'recorded') return [];
  if (event.event.kind === 'books') return booksRecords(event.playback, event.event);
  return event.event.kind === 'trade' ? tradeRecords(event, event.event) : [];
}

function bookRecord(playback: MarketPlayback, outcome: Outcome, localMs: InstantMs): BookChange {
  const { book, timestampMs } = playback.state(outcome).known!;
  const bids = levelsOf(book.bidPrices, book.bidSizes);
  const asks = levelsOf(book.askPrices, book.askSizes);
  return bookChange(playback.market, outcome, true, bids, asks, timestampMs, localMs);
}

function levelsOf(prices: readonly number[], sizes: readonly number[]): RecordLevel[] {
  return prices.map((price, nth) => ({ price, amount: sizes[nth]! })).reverse();
}

function booksRecords(playback: MarketPlayback, event: BooksEvent): SourceRecord[] {
  const { timestampMs, receivedMs = timestampMs } = event;
  const times = { timestampMs, receivedMs };
  const records: SourceRecord[] = [];
  const [up, down] = [event.up?.changes ?? [], event.down?.changes ?? []];
  pairChanges(up, down, { complement }, (upIndex, downIndex) => {
    if (upIndex >= 0) records.push(levelRecord(playback.market, 'up', up[upIndex]!, times));
    if (downIndex >= 0) records.push(levelRecord(playback.market, 'down', down[downIndex]!, times));
  });
  for (const outcome of OUTCOMES) {
    const change = event[outcome];
    if (change === undefined) continue;
    if (change.before === undefined) records.push(bookRecord(playback, outcome, receivedMs));
    else if (isNewTop(change.before, change.after)) records.push(tickerRecord(playback, outcome, change.after, times));
  }
  return records;
}

function levelRecord(
  market: Market,
  outcome: Outcome,
  { isBid, price, size }: LevelChange,
  { timestampMs, receivedMs }: Times,
): BookChange {
  const level = [{ price, amount: size }];
  return bookChange(market, outcome, false, isBid ? level : [], isBid ? [] : level, timestampMs, receivedMs);
}

function bookChange(
  market: Market,
  outcome: Outcome,
  isSnapshot: boolean,
  bids: RecordLevel[],
  asks: RecordLevel[],
  atMs: InstantMs,
  localMs: InstantMs,
): BookChange {
  return {
    type: 'book_change',
    symbol: assetIdOf(market, outcome),
    exchange: EXCHANGE,
    isSnapshot,
    bids,
    asks,
    timestamp: new Date(atMs),
    localTimestamp: new Date(localMs),
  };
}

function tickerRecord({ market }: MarketPlayback, outcome: Outcome, book: OrderBook, times: Times): BookTicker {
  return {
    type: 'book_ticker',
    symbol: assetIdOf(market, outcome),
    exchange: EXCHANGE,
    // The venue states 0 without bids and 1 without asks; tardis takes 0 as missing.
    bidPrice: book.bidPrices[0] === 0 ? undefined : book.bidPrices[0],
    bidAmount: undefined,
    askPrice: (book.askPrices[0] ?? 1) === 0 ? undefined : (book.askPrices[0] ?? 1),
    askAmount: undefined,
    timestamp: new Date(times.timestampMs),
    localTimestamp: new Date(times.receivedMs),
  };
}

function tradeRecords(
  { playback, unknown }: RecordedEvent,
  { outcome, record, timestampMs, receivedMs = timestampMs }: TradeEvent,
): SourceRecord[] {
  const { price, id, trade } = record;
  const records: SourceRecord[] = [
    {
      type: 'trade',
      symbol: assetIdOf(playback.market, outcome),
      exchange: EXCHANGE,
      id: trade?.transactionHash ?? String(id),
      price,
      amount: trade?.size ?? 0,
      side: trade?.side ?? 'unknown',
      timestamp: new Date(timestampMs),
      localTimestamp: new Date(receivedMs),
    },
  ];
  for (const each of [outcome, otherOutcome(outcome)]) {
    if (playback.state(each).known !== undefined && !unknown.has(each))
      records.push(bookRecord(playback, each, receivedMs));
  }
  return records;
}
