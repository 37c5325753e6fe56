import type { InstantMs } from '../domain/instant.ts';
import { type Statement, statementCodec } from '../segment/statement-segment.ts';
import type { Segments } from './segments.ts';

/** Looks up the statements of an outcome at ascending times. Decodes only segments that contain such a time, each once. */
export class StatementWalk {
  readonly #segments: Segments;
  readonly #seriesId: number | undefined;
  #records: readonly Statement[] = [];
  #index = 0;

  /** `seriesId` is undefined for an outcome without statements. */
  constructor(segments: Segments, seriesId: number | undefined) {
    this.#segments = segments;
    this.#seriesId = seriesId;
  }

  /** Returns true if a merge has judged the books of a time: the series has statements, and none says that they are foreign. */
  isMerged(timestampMs: InstantMs): boolean {
    return this.#seriesId !== undefined && this.#at(timestampMs)?.isForeign !== true;
  }

  #at(timestampMs: InstantMs): Statement | undefined {
    const last = this.#records.at(-1);
    if (last === undefined || last.timestampMs < timestampMs) {
      const [slice] = this.#segments.slices(this.#seriesId, timestampMs, timestampMs);
      if (slice === undefined) return undefined;
      this.#records = statementCodec.decode(slice.payload);
      this.#index = 0;
    }
    while (this.#index < this.#records.length && this.#records[this.#index]!.timestampMs < timestampMs)
      this.#index += 1;
    const found = this.#records[this.#index];
    return found?.timestampMs === timestampMs ? found : undefined;
  }
}
