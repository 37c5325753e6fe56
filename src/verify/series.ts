import { DomainError } from '../domain/errors.ts';
import type { Position } from '../domain/page.ts';
import { type PriceRecord, priceCodec } from '../segment/price-segment.ts';
import { type QuoteRecord, quoteCodec } from '../segment/quote-segment.ts';
import type { SegmentCodec } from '../segment/segment-header.ts';
import { saysDamaged } from '../store/database.ts';
import type { AuditedSegment, AuditedSeries, SegmentAudit, SoundSegment } from '../store/segment-audit.ts';
import type { DerivedRecords } from './books.ts';
import type { IdLedger } from './ids.ts';
import type { ProblemKind, ProblemList, ProblemPlace } from './report.ts';

/** What a verification carries along: whom it asks, and what it has found so far. */
export interface Audit {
  readonly source: SegmentAudit;
  readonly ids: IdLedger;
  readonly problems: ProblemList;
  segments: number;
  records: number;
}

/**
 * The segments of one series in order, each faulty one reported, each id of records that were recorded looked up;
 * undefined stands for a faulty one. Ends where the database cannot be read on, which is reported too.
 */
export function* soundSegments(
  audit: Audit,
  series: AuditedSeries,
  place: ProblemPlace,
): Generator<SoundSegment | undefined> {
  // Derived records have the ids of the snapshots they come from.
  const numbered = !series.kind.startsWith('derived-');
  for (const segment of readable(audit, series, place)) {
    if (segment === undefined) {
      yield undefined;
      continue;
    }
    audit.segments += 1;
    if (segment.fault !== undefined) {
      const { segmentId, firstMs: fromMs, lastMs: toMs, fault } = segment;
      audit.problems.add({ ...place, kind: 'segment', segmentId, fromMs, toMs, what: `the segment ${fault}` });
      yield undefined;
      continue;
    }
    audit.records += segment.head.count;
    if (numbered) checkIds(audit, segment, place);
    yield segment;
  }
}

function* readable(audit: Audit, series: AuditedSeries, place: ProblemPlace): Generator<AuditedSegment | undefined> {
  try {
    yield* audit.source.segments(series.seriesId);
  } catch (error) {
    if (!saysDamaged(error)) throw error;
    audit.problems.add({
      ...place,
      kind: 'database',
      what: 'the series cannot be read on: a page of the database is damaged',
    });
    yield undefined;
  }
}

/** Looks up the ids of a segment; of those that are wrong the first is named. */
export function checkIds({ ids, problems }: Audit, { segmentId, head }: SoundSegment, place: ProblemPlace): void {
  let named = false;
  for (let index = 0; index < head.count; index += 1) {
    const id = head.ids[index]!;
    const said = ids.mark(id);
    if (said === 'fine' || named) continue;
    named = true;
    const atMs = head.timestamps[index]!;
    const what =
      said === 'repeated'
        ? `record id ${id} was given to an earlier record too`
        : `record id ${id} was never given out`;
    problems.add({ ...place, kind: 'id', segmentId, fromMs: atMs, toMs: atMs, what });
  }
}

/** The records of a series of quotes or prices, one segment of them at a time; values that cannot be are reported. */
export class RecordWalk<R extends Position> implements DerivedRecords<R> {
  readonly #audit: Audit;
  readonly #place: ProblemPlace;
  readonly #reading: Reading<R>;
  readonly #segments: Iterator<SoundSegment | undefined>;
  #records: readonly R[] = [];
  #index = 0;
  broken = false;

  /** Without a series there are no records. */
  constructor(audit: Audit, series: AuditedSeries | undefined, place: ProblemPlace, reading: Reading<R>) {
    this.#audit = audit;
    this.#place = place;
    this.#reading = reading;
    this.#segments = series === undefined ? [].values() : soundSegments(audit, series, place);
    this.#settle();
  }

  get next(): R | undefined {
    return this.#records[this.#index];
  }

  take(): void {
    this.#index += 1;
    this.#settle();
  }

  /** Reads what is left: a series is checked to its end, whatever the snapshots are. */
  drain(): void {
    while (this.next !== undefined) {
      this.#index = this.#records.length;
      this.#settle();
    }
  }

  #settle(): void {
    while (this.#index >= this.#records.length) {
      const next = this.#segments.next();
      if (next.done === true) return;
      this.#index = 0;
      this.#records = next.value === undefined ? [] : this.#recordsOf(next.value);
      if (next.value === undefined) this.broken = true;
    }
  }

  #recordsOf({ segmentId, payload, head }: SoundSegment): readonly R[] {
    const report = (kind: ProblemKind, atMs: number | undefined, what: string) =>
      this.#audit.problems.add({ ...this.#place, kind, segmentId, fromMs: atMs, toMs: atMs, what });
    let records: readonly R[];
    try {
      records = this.#reading.codec.decode(payload);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      report('segment', head.timestamps[0], 'the segment cannot be decoded, though it matches its digest');
      this.broken = true;
      return [];
    }
    const impossible = records.find((record) => !this.#reading.isPossible(record));
    if (impossible !== undefined) report('value', impossible.timestampMs, 'the segment holds a value out of range');
    return records;
  }
}

/** How the records of a kind are read, and what they may say. */
interface Reading<R extends Position> {
  readonly codec: SegmentCodec<R>;
  readonly isPossible: (record: R) => boolean;
}

export const QUOTES: Reading<QuoteRecord> = {
  codec: quoteCodec,
  isPossible: ({ quote: { bidPrice, bidSize, askPrice, askSize } }) =>
    isSide(bidPrice, bidSize) && isSide(askPrice, askSize),
};

export const OUTCOME_PRICES: Reading<PriceRecord> = {
  codec: priceCodec,
  isPossible: ({ price, trade }) => isWithinOne(price) && (trade?.size ?? 1) > 0,
};

export const COIN_PRICES: Reading<PriceRecord> = {
  codec: priceCodec,
  isPossible: ({ price }) => price >= 0 && Number.isFinite(price),
};

function isSide(price: number | undefined, size: number | undefined): boolean {
  if (price === undefined || size === undefined) return price === size;
  return isWithinOne(price) && size > 0;
}

function isWithinOne(price: number): boolean {
  return price >= 0 && price <= 1;
}
