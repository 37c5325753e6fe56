import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import type { MarketObservations, Verification } from '../../src/verify/report.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import { importRecords, NOW_MS, temporaryArchive } from '../support/archive.ts';
import { randomsOf } from '../support/random-books.ts';
import {
  CONDITION_ID,
  DOWN_ASSET,
  START_MS,
  sampleCoinPrice,
  sampleGap,
  sampleLastTradePrice,
  sampleMarket,
  samplePrice,
  sampleQuote,
  UP_ASSET,
} from '../support/sample-records.ts';

export const MIRRORED_ID = `0x${'cd34'.repeat(16)}`;
export const MIRRORED_SLUG = 'btc-updown-5m-1776323700';
const MIRRORED_START_MS = START_MS + 300_000;

interface Verified extends Verification {
  readonly markets: readonly MarketObservations[];
}

/** An archive of two markets with records of every kind, whose database file the tests modify with SQLite alone. */
export interface Verifiable extends Disposable {
  readonly path: string;
  readonly data: string;
  verify(options?: { readonly names?: readonly string[]; readonly nowMs?: number }): Promise<Verified>;
  /** Runs statements on the file, without constraints. */
  change(sql: string, ...values: (string | number | Uint8Array | null)[]): void;
  /** The rows of a query. */
  rows<Row>(sql: string): Row[];
}

interface Level {
  readonly price: number;
  readonly size: number;
}

/** Random-walk books of up, in hundredths; `mirrorOf` gives those of down. */
function walkingBooks(seed: number, count: number): { bids: Level[]; asks: Level[] }[] {
  const random = randomsOf(seed);
  let mid = 50;
  return Array.from({ length: count }, () => {
    mid = Math.min(90, Math.max(10, mid + Math.round((random() - 0.5) * 4)));
    const side = (away: 1 | -1) =>
      Array.from({ length: 6 }, (_, level) => ({
        price: (mid + away * (level + 1)) / 100,
        size: Math.ceil(random() * 50_000) / 100,
      }));
    return { bids: side(-1), asks: side(1) };
  });
}

function mirrorOf({ bids, asks }: { bids: Level[]; asks: Level[] }) {
  const turned = (levels: Level[]) =>
    levels.map(({ price, size }) => ({ price: (100 - Math.round(price * 100)) / 100, size }));
  return { bids: turned(asks), asks: turned(bids) };
}

/** `count` instants of both outcomes of one market, 250 ms apart. */
export function bothOutcomes(conditionId: string, startMs: number, seed: number, count: number): object[] {
  return walkingBooks(seed, count).flatMap((book, index) => {
    const record = { type: 'snapshot', conditionId, timestamp: startMs + index * 250 };
    return [
      { ...record, outcome: 'up', ...book },
      { ...record, outcome: 'down', ...mirrorOf(book) },
    ];
  });
}

function recordsOfEveryKind(): object[] {
  const seconds = (count: number, make: (timestamp: number, index: number) => object) =>
    Array.from({ length: count }, (_, index) => make(START_MS + index * 1000, index));
  return [
    sampleMarket({ closed: true, winner: 'up', priceStart: 76_000.5, priceEnd: 76_001 }),
    sampleMarket({
      conditionId: MIRRORED_ID,
      slug: MIRRORED_SLUG,
      clobTokenIds: [`${UP_ASSET}1`, `${DOWN_ASSET}1`],
      startTime: MIRRORED_START_MS,
      endTime: MIRRORED_START_MS + 300_000,
    }),
    ...bothOutcomes(CONDITION_ID, START_MS, 1, 400),
    ...bothOutcomes(MIRRORED_ID, MIRRORED_START_MS, 2, 200),
    ...seconds(90, (timestamp, index) => sampleQuote({ timestamp, bidSize: 1 + index })),
    ...seconds(90, (timestamp, index) => samplePrice({ timestamp, price: (300 + index) / 1000 })),
    ...seconds(90, (timestamp, index) =>
      samplePrice({ timestamp, kind: 'mid', outcome: 'down', price: (600 - index) / 1000 }),
    ),
    ...seconds(90, (timestamp, index) => sampleLastTradePrice({ timestamp, price: (500 + index) / 1000 })),
    ...Array.from({ length: 301 }, (_, index) =>
      sampleCoinPrice({ timestamp: START_MS + index * 1000, price: (760_000 + index) / 10 }),
    ),
    sampleGap(),
  ];
}

/** The sound archive that tests damage; the second market's down is mirrored from up. */
export async function verifiable(records: readonly object[] = recordsOfEveryKind()): Promise<Verifiable> {
  const place = temporaryArchive();
  const report = await importRecords(place.archive, records);
  if (report.total.rejected > 0) throw new Error(report.rejections[0]!.reason);
  place.archive.database.close();
  const path = join(place.path, 'bookreel.db');
  const sqlite = () => new Database(path, { readwrite: true });
  const change = (sql: string, ...values: (string | number | Uint8Array | null)[]) => {
    const database = sqlite();
    // The tests must be able to violate constraints.
    database.run('PRAGMA ignore_check_constraints = ON');
    database.run(sql, values);
    // Writes to the file itself, not to a write-ahead log.
    database.run('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close(true);
  };
  change(`UPDATE series SET recorded_from_ms = NULL WHERE kind = 'book' AND outcome = 'down'
    AND market_key = (SELECT market_key FROM markets WHERE condition_id = '${MIRRORED_ID}')`);
  // Removes stale data from the pages.
  change('VACUUM');
  return {
    path,
    data: place.path,
    async verify({ names, nowMs = NOW_MS } = {}) {
      const markets: MarketObservations[] = [];
      const onMarket = (market: MarketObservations) => void markets.push(market);
      const options = { clock: () => nowMs, onMarket, ...(names === undefined ? {} : { names }) };
      return { ...(await verifyDirectory(place.path, options)), markets };
    },
    change,
    rows: <Row>(sql: string) => {
      using database = sqlite();
      return database.query<Row, []>(sql).all();
    },
    [Symbol.dispose]: () => place[Symbol.dispose](),
  };
}
