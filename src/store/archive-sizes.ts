import { statSync } from 'node:fs';
import type { Archive } from './archive.ts';

/** Some markets, and the bytes that they take. */
interface MarketSizes {
  readonly markets: number;
  readonly bytes: number;
}

/** Open markets are those in bookreel.db, whose size also has what it states about the sealed ones. */
export interface ArchiveSizes {
  readonly open: MarketSizes;
  readonly sealed: MarketSizes;
}

/** Within `Database.readShared`. */
export function archiveSizes({ database, recordedCoins, sealed }: Archive): ArchiveSizes {
  const totals = sealed.totals();
  const markets = recordedCoins.all().reduce((sum, coin) => sum + coin.markets, 0);
  return { open: { markets: markets - totals.markets, bytes: databaseBytes(database.path) }, sealed: totals };
}

/** The size of a database with its write-ahead log; 0 without it. */
export function databaseBytes(path: string): number {
  const sizes = [path, `${path}-wal`].map((each) => statSync(each, { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0);
}
