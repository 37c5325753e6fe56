import type { Database as Sqlite } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { DomainError } from '../domain/errors.ts';
import { MissingFile } from '../store/database-errors.ts';
import { changeOf, openSealed, type SealedMarket, type SealedSeries } from '../store/sealed-files.ts';

const TOTALS = `SELECT series_id AS seriesId, MIN(first_ms) AS firstMs, MAX(last_ms) AS lastMs, COUNT(*) AS segments,
  SUM(records) AS records FROM segments GROUP BY series_id ORDER BY series_id`;

/**
 * One sentence if the file of a sealed market is not the one that was sealed, was changed since, or is not what the catalog says
 * of it. Reads all of it; of a file that `isKnown` only its size and its seal. Throws MissingFile.
 */
export function sealedFault(
  place: string,
  market: SealedMarket,
  series: readonly SealedSeries[],
  isKnown: boolean,
): string | undefined {
  try {
    using sqlite = openSealed(place, market);
    if (isKnown) return undefined;
    return changeOf(place, market) ?? differenceOf(place, sqlite, series);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    // Its market may have been deleted after the view was taken.
    if (!existsSync(place)) throw new MissingFile(error.message);
    return error.message;
  }
}

function differenceOf(place: string, sqlite: Sqlite, series: readonly SealedSeries[]): string | undefined {
  const found = sqlite.query<SealedSeries, []>(TOTALS).all();
  const stated = series.toSorted((a, b) => a.seriesId - b.seriesId);
  if (Bun.deepEquals(found, stated)) return undefined;
  return `'${place}' has other records than the catalog says: restore the archive from a backup`;
}
