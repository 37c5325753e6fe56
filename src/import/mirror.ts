import { INSTANT_MAX_MS } from '../domain/instant.ts';
import { mirrorOf } from '../domain/mirrored-book.ts';
import { otherOutcome } from '../domain/outcome.ts';
import type { RecordedItem } from '../record/record.ts';
import { bookCodec } from '../segment/book-decoder.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';

/**
 * The mirrored books of the outcome that was recorded later than the other one, or not at all, by timestamp: one for each book of
 * the other outcome before the first recorded book. So the books until an instant do not depend on what was recorded later.
 */
export function* mirroredBooks({ snapshots }: Archive, market: StoredMarket): Generator<RecordedItem> {
  const [upMs, downMs] = [snapshots.recordedFromMs(market, 'up'), snapshots.recordedFromMs(market, 'down')];
  if (upMs === downMs) return;
  const recorded = upMs < downMs ? 'up' : 'down';
  const { conditionId } = market;
  const snapshot = { type: 'snapshot', conditionId, outcome: otherOutcome(recorded), droppedLevels: 0 } as const;
  const untilMs = Math.min(Math.max(upMs, downMs) - 1, INSTANT_MAX_MS);
  for (const slice of snapshots.slices(market, recorded, Math.min(upMs, downMs), untilMs)) {
    for (const { timestampMs, receivedMs, book } of bookCodec.decode(slice.payload).slice(slice.from, slice.to)) {
      const mirrored = { timestampMs, receivedMs, book: mirrorOf(book), mirrored: true };
      yield { ...snapshot, ...mirrored, id: undefined, assetId: undefined };
    }
  }
}
