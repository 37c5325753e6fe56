import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { Replay } from '../../src/replay/replay.ts';
import type { Archive } from '../../src/store/archive.ts';
import { EVERYTHING } from '../http/replay/replaying.ts';
import { RecordingConnection, venueSession } from './recording-connection.ts';

interface VenueLevel {
  readonly price: string;
  readonly size: string;
}

/** A book message as the venue sent it. */
export interface VenueBook {
  readonly event_type: string;
  readonly market: string;
  readonly asset_id: string;
  readonly bids: readonly VenueLevel[];
  readonly asks: readonly VenueLevel[];
  readonly timestamp: string;
  readonly hash: string;
  readonly last_trade_price?: string;
}

/** The book messages of Parquet files, in the order of the files and rows. */
export async function booksInParquet(directory: string, prefix: string): Promise<VenueBook[]> {
  const books: VenueBook[] = [];
  const names = readdirSync(directory).filter((name) => name.startsWith(prefix) && name.endsWith('.parquet'));
  for (const name of names.sort()) {
    const file = await asyncBufferFromFile(join(directory, name));
    const rows = await parquetReadObjects({ file, columns: ['raw_data'] });
    for (const row of rows) books.push(JSON.parse(String(row.raw_data)) as VenueBook);
  }
  return books;
}

/** The book messages of a capture. */
export function booksInCapture(directory: string): VenueBook[] {
  const lines = readFileSync(join(directory, 'market-ws.jsonl'), 'utf8').trimEnd().split('\n');
  return lines
    .flatMap((line) => (JSON.parse(line) as { payload: VenueBook | VenueBook[] }).payload)
    .filter(({ event_type }) => event_type === 'book');
}

/** The last message of each asset at each time: what a client has that connects then. */
export function lastOfEachTime(books: readonly VenueBook[]): VenueBook[] {
  return [...new Map(books.map((book) => [`${book.asset_id}/${book.timestamp}`, book])).values()];
}

/** The `book` message of a client that subscribes to the message's asset at its time. */
export function sentAgain(replay: Replay, { asset_id, timestamp }: VenueBook): VenueBook {
  replay.clock.seek(Number(timestamp));
  const connection = new RecordingConnection();
  const session = venueSession(replay, connection);
  session.received(JSON.stringify({ assets_ids: [asset_id], type: 'market' }));
  session.closed();
  return JSON.parse(connection.frames[0]!)[0];
}

/** A replay of everything, whose clock only jumps. */
export function stillReplay(archive: Archive): Replay {
  return new Replay(archive, EVERYTHING, { monotonicMs: () => 0, wallMs: () => 0 });
}

/**
 * The prices of the last trade by market and time, with which the hashes of `books` match: the last one up to the time, of either
 * asset.
 */
export function recordedPrices(
  books: readonly VenueBook[],
): (assetId: string, timestampMs: number) => string | undefined {
  const markets = new Map(books.map(({ asset_id, market }) => [asset_id, market]));
  const proven = new Map<string, { readonly timestampMs: number; readonly price: string }[]>();
  // The last price is the likely one only in the order of time.
  for (const book of books.toSorted((a, b) => Number(a.timestamp) - Number(b.timestamp))) {
    const known = proven.get(book.market) ?? [];
    const price = provenPrice(book, known.at(-1)?.price);
    known.push({ timestampMs: Number(book.timestamp), price });
    proven.set(book.market, known);
  }
  return (assetId, timestampMs) =>
    proven.get(markets.get(assetId)!)?.findLast((each) => each.timestampMs <= timestampMs)?.price;
}

const EVERY_PRICE = Array.from({ length: 100 }, (_, cents) => (cents / 100).toFixed(3));

function provenPrice({ market, asset_id, timestamp, hash, bids, asks }: VenueBook, likely = ''): string {
  const found = [likely, ...EVERY_PRICE].find((last_trade_price) => {
    const hashed = { market, asset_id, timestamp, hash: '', bids, asks, min_order_size: '5', tick_size: '0.01' };
    const summary = JSON.stringify({ ...hashed, neg_risk: false, last_trade_price });
    return createHash('sha1').update(summary).digest('hex') === hash;
  });
  if (found === undefined) throw new Error(`no price gives the hash ${hash}`);
  return found;
}
