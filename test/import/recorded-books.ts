import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';

export interface Level {
  readonly price: number;
  readonly size: number;
}

/** A book message of the venue, read naively, best level first. */
export interface RecordedBook {
  readonly conditionId: string;
  readonly assetId: string;
  readonly timestampMs: number;
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
  /** Equal for equal books, to find books that were recorded twice at the same time. */
  readonly levelsText: string;
}

interface VenueMessage {
  readonly market: string;
  readonly asset_id: string;
  readonly timestamp: string;
  readonly bids: readonly VenueLevel[];
  readonly asks: readonly VenueLevel[];
}

interface VenueLevel {
  readonly price: string;
  readonly size: string;
}

/** Every book message of a directory's Parquet files, in the order of file names and rows. */
export async function recordedBooks(directory: string): Promise<RecordedBook[]> {
  const books: RecordedBook[] = [];
  const files = readdirSync(directory).filter((name) => name.endsWith('.parquet'));
  for (const name of files.sort()) {
    const rows = await parquetReadObjects({
      file: await asyncBufferFromFile(join(directory, name)),
      columns: ['raw_data'],
    });
    for (const row of rows) books.push(recordedBook(JSON.parse(String(row.raw_data)) as VenueMessage));
  }
  return books;
}

function recordedBook(message: VenueMessage): RecordedBook {
  const bids = message.bids.map(level).sort((a, b) => b.price - a.price);
  const asks = message.asks.map(level).sort((a, b) => a.price - b.price);
  return {
    conditionId: message.market,
    assetId: message.asset_id,
    timestampMs: Number(message.timestamp),
    bids,
    asks,
    levelsText: JSON.stringify([bids, asks]),
  };
}

function level({ price, size }: VenueLevel): Level {
  return { price: Number(price), size: Number(size) };
}

/** The books of one market by outcome, by time and then arrival, without equal books of the same time. */
export interface RecordedMarket {
  readonly conditionId: string;
  readonly up: readonly RecordedBook[];
  readonly down: readonly RecordedBook[];
}

/** The markets that a directory's `markets.ndjson` lists, with their books. */
export async function recordedMarkets(directory: string): Promise<RecordedMarket[]> {
  const seen = new Set<string>();
  const byAsset = new Map<string, RecordedBook[]>();
  for (const book of await recordedBooks(directory)) {
    const what = `${book.assetId} ${book.timestampMs} ${book.levelsText}`;
    if (seen.has(what)) continue;
    seen.add(what);
    const books = byAsset.get(book.assetId) ?? [];
    byAsset.set(book.assetId, books);
    books.push(book);
  }
  for (const books of byAsset.values()) books.sort((a, b) => a.timestampMs - b.timestampMs);
  const lines = readFileSync(join(directory, 'markets.ndjson'), 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const { conditionId, clobTokenIds } = JSON.parse(line) as { conditionId: string; clobTokenIds: [string, string] };
    const [up, down] = clobTokenIds.map((assetId) => byAsset.get(assetId) ?? []);
    return { conditionId, up: up!, down: down! };
  });
}
