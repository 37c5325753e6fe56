import { nounText } from '../domain/count-text.ts';
import { type Gap, nameOfFound } from '../domain/gap.ts';
import type { MergedAsset } from './batch.ts';
import type { FileTally } from './report.ts';
import type { SourceItem } from './source-item.ts';

/** Maximum number of notes about corrected markets; further markets are only counted, to keep the report readable. */
const CORRECTION_NOTES_MAX = 100;

/** Counts the records that an import stored, by type here, and by file in the tallies. */
export class StoredCounts {
  /** By type in bookreel's own format. */
  readonly records: Record<string, number> = {};
  /** Gaps that messages of this import opened, by their names, and the file of the message. */
  readonly #opened = new Map<string, FileTally>();
  /** Gaps of earlier imports that this one closed. */
  readonly #closed = new Set<string>();
  /** Stored snapshots that were wrong, by conditionId. */
  readonly #corrected = new Map<string, number>();

  add(type: string, records: number): void {
    const count = (this.records[type] ?? 0) + records;
    if (count === 0) delete this.records[type];
    else this.records[type] = count;
  }

  /** Counts what the merge of an asset's books stored. `tallies`: those of all files, in the order of reading. */
  addMerged(
    { conditionId, moments, gaps, closed, added, known, lastTrades, traded, ...counts }: MergedAsset,
    fileOf: (item: SourceItem | undefined) => FileTally,
    tallies: readonly FileTally[],
  ): void {
    this.add('snapshot', counts.snapshots - counts.takenBack);
    this.add('lastTradePrice', traded.size);
    for (const { moment, end } of moments) {
      const file = fileOf(moment.first?.item);
      // A message that changes nothing makes no snapshot.
      if (added.has(moment)) file.count('snapshot', 'stored');
      else if (known.has(moment)) file.count('snapshot', 'duplicate');
      else if (end === 'contradicted') file.count('snapshot', 'contradicted');
    }
    for (const { item } of lastTrades) fileOf(item).count('lastTradePrice', traded.has(item) ? 'stored' : 'duplicate');
    const nameOf = (gap: Gap) => `${conditionId} ${nameOfFound(gap)}`;
    for (const { gap, item } of gaps) {
      // An earlier import had opened it.
      if (this.#closed.delete(nameOf(gap))) continue;
      const file = fileOf(item);
      this.#opened.set(nameOf(gap), file);
      file.gaps += 1;
      file.count('gap', 'stored');
      this.add('gap', 1);
    }
    for (const gap of closed) {
      const file = this.#opened.get(nameOf(gap));
      if (file === undefined) {
        this.#closed.add(nameOf(gap));
        continue;
      }
      this.#opened.delete(nameOf(gap));
      file.gaps -= file.takeBack('gap', 1);
      this.add('gap', -1);
    }
    let { takenBack } = counts;
    for (const file of tallies.toReversed()) takenBack -= file.takeBack('snapshot', takenBack);
  }

  /** `corrected`: the stored snapshots that a batch replaced, by conditionId. */
  addCorrected(corrected: ReadonlyMap<string, number>): void {
    for (const [conditionId, count] of corrected) {
      this.#corrected.set(conditionId, (this.#corrected.get(conditionId) ?? 0) + count);
    }
  }

  /** One sentence for each market whose stored snapshots were replaced; the first CORRECTION_NOTES_MAX markets. */
  notes(): string[] {
    const notes = [...this.#corrected].map(
      ([conditionId, count]) =>
        `${count} stored ${nounText(count, 'snapshot')} of market ${conditionId} proved wrong by hashes: corrected`,
    );
    const omitted = notes.splice(CORRECTION_NOTES_MAX).length;
    return omitted === 0 ? notes : [...notes, `… and stored snapshots of ${omitted} more markets`];
  }
}
