import { INSTANT_MAX_MS } from '../domain/instant.ts';
import { mirrorOf } from '../domain/mirrored-book.ts';
import { OUTCOMES, type Outcome, otherOutcome } from '../domain/outcome.ts';
import type { BookRecord } from '../segment/book-format.ts';
import { bookCodec } from '../segment/book-segment.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { BATCH_RECORDS } from './batch.ts';

/**
 * Gives a market of which books of one outcome only were recorded the other's, marked as mirrored, and returns how many
 * are new. A market with recorded books of both, or of none, stays as it is.
 */
export function completeMirror(archive: Archive, market: StoredMarket): number {
  const recorded = OUTCOMES.filter((outcome) => archive.snapshots.isRecorded(market, outcome));
  const [outcome] = recorded;
  if (outcome === undefined || recorded.length > 1) return 0;
  let stored = 0;
  let pending: BookRecord[] = [];
  for (const slice of archive.snapshots.slices(market, outcome, 0, INSTANT_MAX_MS)) {
    pending.push(...bookCodec.decode(slice.payload).slice(slice.from, slice.to));
    if (pending.length < BATCH_RECORDS) continue;
    stored += storeMirrored(archive, market, otherOutcome(outcome), pending);
    pending = [];
  }
  return stored + storeMirrored(archive, market, otherOutcome(outcome), pending);
}

/** One transaction. Returns how many of the mirrored books are new. */
function storeMirrored(
  archive: Archive,
  market: StoredMarket,
  outcome: Outcome,
  originals: readonly BookRecord[],
): number {
  const { database, givenIds, markets, snapshots } = archive;
  if (originals.length === 0) return 0;
  return database.write(() => {
    givenIds.load();
    const mirrored = originals.map(({ timestampMs, book }) => ({ timestampMs, id: 0, book: mirrorOf(book) }));
    const { stored } = snapshots.addMirrored(market, outcome, mirrored, (record) => ({
      ...record,
      id: givenIds.take(undefined),
    }));
    givenIds.save();
    if (stored > 0) markets.touch(market.key);
    return stored;
  });
}
