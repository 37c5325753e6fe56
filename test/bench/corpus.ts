import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Outcome } from '../../src/domain/outcome.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { listMarkets } from '../support/markets.ts';
import { REAL_BOOKS } from '../support/real-recordings.ts';
import { type Service, serviceOf } from '../support/service.ts';
import { booksRecording } from './recordings.ts';

/** Baselines and imports use only the largest markets: the JSON of all would fill the disk. */
const LARGE_MARKETS = 4;

/** A snapshot in the service's JSON. */
export interface SnapshotRow {
  readonly id: string;
  readonly conditionId: string;
  readonly outcome: Outcome;
  readonly timestamp: string;
}

/** One of the largest markets. Its snapshots are not in memory, where they would slow every garbage collection. */
interface LargeMarket {
  readonly market: StoredMarket;
  /** Time of every snapshot, ascending. */
  readonly timestampsMs: readonly number[];
  /** Bytes of all snapshots in the service's JSON. */
  readonly jsonBytes: number;
}

/** The measured recordings, in a new archive. */
export interface Corpus extends Disposable {
  readonly description: string;
  readonly place: ReturnType<typeof temporaryArchive>;
  readonly service: Service;
  readonly markets: number;
  readonly snapshots: number;
  readonly large: readonly LargeMarket[];
  /** A directory with the largest market's recording, for repeated imports. */
  readonly books: string | undefined;
  /** A file with the large markets in bookreel's own format, for repeated imports. */
  readonly ndjson: string;
}

export async function openCorpus(): Promise<Corpus> {
  const place = temporaryArchive();
  const files = temporaryDirectory();
  const parquet = temporaryDirectory();
  const recording = booksRecording(files.path);
  await importPaths(place.archive, recording.path);
  const service = serviceOf(place.archive);
  const all = ['btc', 'eth', 'sol', 'xrp'].flatMap((coin) =>
    listMarkets(place.archive.markets, coin, undefined, 1000, 0),
  );
  const counted: LargeMarket[] = [];
  for (const market of all) {
    const timestampsMs: number[] = [];
    let jsonBytes = 0;
    for await (const row of snapshotsOf(service, market)) {
      timestampsMs.push(Date.parse(row.timestamp));
      jsonBytes += JSON.stringify(row).length;
    }
    counted.push({ market, timestampsMs, jsonBytes });
  }
  const snapshots = counted.reduce((sum, { timestampsMs }) => sum + timestampsMs.length, 0);
  const large = counted.toSorted((a, b) => b.timestampsMs.length - a.timestampsMs.length).slice(0, LARGE_MARKETS);
  const ndjson = join(files.path, 'large-markets.ndjson');
  await writeNdjson(
    ndjson,
    service,
    large.map(({ market }) => market),
  );
  return {
    description: `${recording.description}: ${all.length} markets, ${snapshots} snapshots`,
    place,
    service,
    markets: all.length,
    snapshots,
    large,
    books: REAL_BOOKS === undefined ? undefined : booksOf(REAL_BOOKS, large[0]!.market.slug, parquet.path),
    ndjson,
    [Symbol.dispose]: () => {
      place[Symbol.dispose]();
      files[Symbol.dispose]();
      parquet[Symbol.dispose]();
    },
  };
}

/** A market's snapshots in the service's JSON, in order. */
export async function* snapshotsOf(service: Service, market: StoredMarket): AsyncGenerator<SnapshotRow> {
  for (let cursor = ''; ; ) {
    const answer = await service.get(`/${market.symbol}/markets/${market.conditionId}/snapshots?limit=1000${cursor}`);
    const page = (await answer.json()) as { data: SnapshotRow[]; nextCursor: string | null };
    yield* page.data;
    if (page.nextCursor === null) return;
    cursor = `&cursor=${page.nextCursor}`;
  }
}

async function writeNdjson(path: string, service: Service, markets: readonly StoredMarket[]): Promise<void> {
  const file = Bun.file(path).writer();
  for (const market of markets) {
    const record = {
      type: 'market',
      conditionId: market.conditionId,
      slug: market.slug,
      symbol: market.symbol,
      timeframe: market.timeframe,
      outcomes: ['up', 'down'],
      clobTokenIds: market.clobTokenIds,
      startTime: market.startMs,
      endTime: market.endMs,
    };
    file.write(`${JSON.stringify(record)}\n`);
    for await (const row of snapshotsOf(service, market)) {
      file.write(`${JSON.stringify({ type: 'snapshot', ...row })}\n`);
    }
    await file.flush();
  }
  await file.end();
}

/** A directory with the Parquet files of one market, and all market records. */
function booksOf(directory: string, slug: string, parent: string): string {
  for (const name of readdirSync(directory)) {
    if (name.startsWith(`${slug}_`)) symlinkSync(join(directory, name), join(parent, name));
  }
  writeFileSync(join(parent, 'markets.ndjson'), readFileSync(join(directory, 'markets.ndjson')));
  return parent;
}

export function bytesOf(path: string): number {
  return statSync(path).size;
}
