import { DomainError } from '../domain/errors.ts';
import type { Position } from '../domain/page.ts';
import { type PriceRecord, priceCodec } from '../segment/price-segment.ts';
import { type QuoteRecord, quoteCodec } from '../segment/quote-segment.ts';
import type { SegmentCodec } from '../segment/segment-header.ts';
import { isDamageError } from '../store/database-errors.ts';
import type { AuditedSeries, SegmentAudit, SoundSegment } from '../store/segment-audit.ts';
import type { IdMarks } from './ids.ts';
import type { NO_TOTALS, ProblemList, ProblemPlace } from './report.ts';

/** The state of a verification: its sources and its findings so far. */
export interface Check {
  readonly source: SegmentAudit;
  readonly ids: IdMarks;
  readonly problems: ProblemList;
  readonly totals: typeof NO_TOTALS;
}

/**
 * The segments of one series in order; undefined for each damaged one, which is reported. Checks the ids of records that are
 * not derived. Ends, with a problem, at a page that cannot be read. Without a series there are no segments.
 */
export function* soundSegments(
  check: Check,
  series: AuditedSeries | undefined,
  place: ProblemPlace,
): Generator<SoundSegment | undefined> {
  if (series === undefined) return;
  const { source, problems, totals } = check;
  try {
    for (const segment of source.segments(series.seriesId)) {
      totals.segments += 1;
      if (segment.fault !== undefined) {
        const { segmentId, firstMs: fromMs, lastMs: toMs, fault } = segment;
        problems.add('segment', `the segment ${fault}`, { ...place, segmentId, fromMs, toMs });
        yield undefined;
        continue;
      }
      totals.records += segment.head.count;
      if (hasOwnIds(series)) checkIds(check, segment, place);
      yield segment;
    }
  } catch (error) {
    if (!isDamageError(error)) throw error;
    problems.add('database', 'the rest of the series cannot be read: a page of the database is damaged', place);
    yield undefined;
  }
}

/** Returns true if the records of a series have their own ids: derived ones have those of their snapshots, statements have none. */
export function hasOwnIds({ kind }: AuditedSeries): boolean {
  return !kind.startsWith('derived-') && kind !== 'statement';
}

/** Checks the ids of a segment and reports the first wrong one. */
export function checkIds({ ids, problems }: Check, { segmentId, head }: SoundSegment, place: ProblemPlace): void {
  let named = false;
  for (let index = 0; index < head.count; index += 1) {
    const id = head.ids[index]!;
    const verdict = ids.mark(id);
    if (verdict === 'fine' || named) continue;
    named = true;
    const fault = verdict === 'repeated' ? 'is also the id of an earlier record' : 'was never given to a record';
    problems.add('id', `record id ${id} ${fault}`, { ...place, segmentId }, head.timestamps[index]);
  }
}

/** The records of a series of quotes or prices, one segment in memory at a time. Impossible values are reported. */
export class RecordWalk<R extends Position> {
  readonly #check: Check;
  readonly #place: ProblemPlace;
  readonly #reading: Reading<R>;
  readonly #segments: Iterator<SoundSegment | undefined>;
  #records: readonly R[] = [];
  #index = 0;
  /** True if a segment of the series could not be read: then a missing record is not reported again. */
  broken = false;

  /** Without a series there are no records. */
  constructor(check: Check, series: AuditedSeries | undefined, place: ProblemPlace, reading: Reading<R>) {
    this.#check = check;
    this.#place = place;
    this.#reading = reading;
    this.#segments = soundSegments(check, series, place);
    this.#enterSegment();
  }

  /** The next record; undefined after the last one. */
  get next(): R | undefined {
    return this.#records[this.#index];
  }

  take(): void {
    this.#index += 1;
    this.#enterSegment();
  }

  /** Reads and checks the rest of the series. */
  drain(): void {
    while (this.next !== undefined) {
      this.#index = this.#records.length;
      this.#enterSegment();
    }
  }

  /** Once all records were taken: loads the next segment that has records. */
  #enterSegment(): void {
    while (this.#index >= this.#records.length) {
      const next = this.#segments.next();
      if (next.done === true) return;
      this.#index = 0;
      this.#records = next.value === undefined ? [] : this.#recordsOf(next.value);
      if (next.value === undefined) this.broken = true;
    }
  }

  #recordsOf({ segmentId, payload, head }: SoundSegment): readonly R[] {
    const { problems } = this.#check;
    const place = { ...this.#place, segmentId };
    let records: readonly R[];
    try {
      records = this.#reading.codec.decode(payload);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      problems.add(
        'segment',
        'the segment cannot be decoded, although it matches its digest',
        place,
        head.timestamps[0],
      );
      this.broken = true;
      return [];
    }
    const impossible = records.find((record) => !this.#reading.isPossible(record));
    if (impossible !== undefined)
      problems.add('value', 'the segment has a value that is out of range', place, impossible.timestampMs);
    return records;
  }
}

/** Decodes the records of one kind and checks their values. */
export interface Reading<R extends Position> {
  readonly codec: SegmentCodec<R>;
  readonly isPossible: (record: R) => boolean;
}

export const QUOTES: Reading<QuoteRecord> = {
  codec: quoteCodec,
  // The codec refuses prices outside of 0…1 and negative sizes.
  isPossible: () => true,
};

export const OUTCOME_PRICES: Reading<PriceRecord> = {
  codec: priceCodec,
  isPossible: ({ price, trade }) => isWithinOne(price) && (trade?.size ?? 1) > 0,
};

export const COIN_PRICES: Reading<PriceRecord> = {
  codec: priceCodec,
  isPossible: ({ price }) => price >= 0 && Number.isFinite(price),
};

function isWithinOne(price: number): boolean {
  return price >= 0 && price <= 1;
}
