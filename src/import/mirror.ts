import { INSTANT_MAX_MS } from '../domain/instant.ts';
import { mirrorOf } from '../domain/mirrored-book.ts';
import { OUTCOMES, otherOutcome } from '../domain/outcome.ts';
import type { RecordedItem } from '../record/record.ts';
import { bookCodec } from '../segment/book-decoder.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';

/** The mirrored books of the other outcome, by timestamp, if a market has recorded books of only one outcome; otherwise none. */
export function* mirroredBooks({ snapshots }: Archive, market: StoredMarket): Generator<RecordedItem> {
  const [recorded, ...others] = OUTCOMES.filter((outcome) => snapshots.isRecorded(market, outcome));
  if (recorded === undefined || others.length > 0) return;
  const { conditionId } = market;
  const snapshot = { type: 'snapshot', conditionId, outcome: otherOutcome(recorded), droppedLevels: 0 } as const;
  for (const slice of snapshots.slices(market, recorded, 0, INSTANT_MAX_MS)) {
    for (const { timestampMs, book } of bookCodec.decode(slice.payload).slice(slice.from, slice.to)) {
      yield { ...snapshot, timestampMs, book: mirrorOf(book), id: undefined, assetId: undefined, mirrored: true };
    }
  }
}
