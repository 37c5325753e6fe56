import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The part of tardis-dev that is used here. A test checks our records against tardis-dev's own type declarations. */
export interface TardisDev {
  compute(messages: AsyncIterableIterator<unknown>, ...computables: readonly unknown[]): AsyncIterable<Computed>;
  computeBookSnapshots(options: { name: string; depth: number; interval: number; grouping?: number }): unknown;
  computeTradeBars(options: { name: string; kind: string; interval: number }): unknown;
  combine(...streams: readonly AsyncIterable<unknown>[]): AsyncIterable<Computed>;
}

interface Computed {
  readonly type: string;
  readonly localTimestamp: Date;
}

interface Handy {
  normalizeMessages(
    exchange: string,
    symbols: readonly string[] | undefined,
    messages: AsyncIterable<{ readonly localTimestamp: Date; readonly message: unknown } | undefined>,
    mappers: readonly Mapper[],
    createMappers: () => readonly Mapper[],
    withDisconnectMessages: boolean,
    filter: (symbol: string) => boolean,
  ): AsyncIterableIterator<unknown>;
}

interface Mapper {
  canHandle(message: unknown): boolean;
  map(message: unknown, localTimestamp: Date): Iterable<object>;
}

const installed = join(import.meta.dir, '..', 'tardis-client', 'node_modules');

/** Where tardis-dev is; undefined where `make test` has not installed it. */
export const TARDIS_DEV: string | undefined = existsSync(join(installed, 'tardis-dev', 'package.json'))
  ? join(installed, 'tardis-dev')
  : undefined;

interface Level {
  readonly price: string;
  readonly size: string;
}

interface VenueMessage {
  readonly event_type: string;
  readonly asset_id: string;
  readonly timestamp: string;
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
  readonly price_changes: readonly (Level & { readonly asset_id: string; readonly side: string })[];
  readonly price: string;
  readonly size?: string;
  readonly side?: string;
  readonly transaction_hash?: string;
  readonly best_bid: string;
  readonly best_ask: string;
}

const number = (text: string) => (Number(text) === 0 ? undefined : Number(text));
const levels = (side: readonly Level[]) =>
  side.map(({ price, size }) => ({ price: Number(price), amount: Number(size) }));

/**
 * The records of the venue's messages, as tardis documents them. Only later versions of tardis-dev have this venue, so the
 * mapping is written again here; the steps before and after it (filters, disconnects, everything computed) are tardis-dev's
 * own.
 */
const MAPPERS: Readonly<Record<string, Mapper>> = {
  trade: {
    canHandle: (message) => kindOf(message) === 'last_trade_price',
    map: (message, localTimestamp) => {
      const { asset_id: symbol, transaction_hash: id, price, size, side, timestamp } = message as VenueMessage;
      // tardis writes 0 for an unknown size, and 'unknown' for an unknown side.
      const values = { id, price: Number(price), amount: Number(size ?? 0), side: side?.toLowerCase() ?? 'unknown' };
      return [recordOf('trade', symbol, values, timestamp, localTimestamp)];
    },
  },
  book_change: {
    canHandle: (message) => kindOf(message) === 'book' || kindOf(message) === 'price_change',
    map: (message, localTimestamp) => bookChanges(message, localTimestamp),
  },
  book_ticker: {
    canHandle: (message) => kindOf(message) === 'best_bid_ask',
    map: (message, localTimestamp) => {
      const { asset_id: symbol, best_bid: bid, best_ask: ask, timestamp } = message as VenueMessage;
      const sides = { bidPrice: number(bid), bidAmount: undefined, askPrice: number(ask), askAmount: undefined };
      return [recordOf('book_ticker', symbol, sides, timestamp, localTimestamp)];
    },
  },
};

function kindOf(message: unknown): string {
  const [first] = Array.isArray(message) ? (message as VenueMessage[]) : [message as VenueMessage];
  return first!.event_type;
}

function bookChanges(message: unknown, localTimestamp: Date): object[] {
  const all = Array.isArray(message) ? (message as VenueMessage[]) : [message as VenueMessage];
  return all.flatMap((each) => {
    const { event_type: kind, timestamp } = each;
    if (kind === 'book') {
      const sides = { isSnapshot: true, bids: levels(each.bids), asks: levels(each.asks) };
      return [recordOf('book_change', each.asset_id, sides, timestamp, localTimestamp)];
    }
    return each.price_changes.map((entry) => {
      const isBid = entry.side === 'BUY';
      const sides = { isSnapshot: false, bids: isBid ? levels([entry]) : [], asks: isBid ? [] : levels([entry]) };
      return recordOf('book_change', entry.asset_id, sides, timestamp, localTimestamp);
    });
  });
}

function recordOf(type: string, symbol: string, values: object, timestamp: string, localTimestamp: Date): object {
  return { type, symbol, exchange: 'polymarket', ...values, timestamp: new Date(Number(timestamp)), localTimestamp };
}

/** A native replay, and the records that are wanted of it. */
export interface Judgement {
  readonly lines: readonly string[];
  readonly symbols: readonly string[];
  /** Types of the records that others are made from: trade, book_change, book_ticker. */
  readonly sources: readonly string[];
  /** Requested types of records. */
  readonly wanted: readonly string[];
  readonly computables: (tardis: TardisDev) => readonly unknown[];
  readonly withDisconnects: boolean;
}

/** The records that tardis-dev makes of a native replay, as tardis-machine would send them. */
export async function judged(judgement: Judgement): Promise<string[]> {
  const tardis = (await import(TARDIS_DEV!)) as TardisDev;
  const { normalizeMessages } = (await import(join(TARDIS_DEV!, 'dist', 'handy.js'))) as Handy;
  const { symbols, sources, wanted, computables, withDisconnects } = judgement;
  const mappers = () => sources.map((source) => MAPPERS[source]!);
  const isWanted = (symbol: string) => symbols.includes(symbol);
  const messages = messagesOf(judgement.lines);
  const normalized = normalizeMessages('polymarket', symbols, messages, mappers(), mappers, withDisconnects, isWanted);
  const records: string[] = [];
  for await (const record of tardis.compute(normalized, ...computables(tardis))) {
    if (record.type === 'disconnect' || wanted.includes(record.type)) records.push(JSON.stringify(record));
  }
  return records;
}

async function* messagesOf(lines: readonly string[]) {
  for (const line of lines) {
    if (line === '') yield undefined;
    else {
      const { localTimestamp, message } = JSON.parse(line) as { localTimestamp: string; message: unknown };
      yield { localTimestamp: new Date(localTimestamp), message };
    }
  }
}
