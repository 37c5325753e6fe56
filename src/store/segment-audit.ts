import { DomainError } from '../domain/errors.ts';
import { type InstantMs, isInstant } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import { comparePositions, type Position } from '../domain/page.ts';
import { arrivalsIn, type OpenSegment, readSegmentHeader, type SegmentHeader } from '../segment/segment-header.ts';
import type { Database } from './database.ts';
import { type IdRange, RANGE_AT_OR_BEFORE } from './ids.ts';
import type { Queries } from './queries.ts';
import type { SealedFiles } from './sealed-files.ts';
import { isIntact, type StoredPayload } from './segment-queries.ts';
import type { MarketSeriesKind } from './series.ts';
import { positionAt } from './series-walk.ts';
import { ShortPayloads } from './short-payloads.ts';

export interface AuditedSeries {
  readonly seriesId: number;
  readonly kind: MarketSeriesKind | 'coin-price';
  /** Undefined for a coin's prices. */
  readonly outcome: Outcome | undefined;
  /** The coin, and the source of its prices; undefined for a market's series. */
  readonly symbol: string | undefined;
  readonly source: string | undefined;
  /** The time of the first recorded book: earlier ones were made from the market's other outcome. Infinity if none was recorded. */
  readonly recordedFromMs: InstantMs;
}

/** A segment that matches its digest, with its header read. */
export interface SoundSegment extends OpenSegment {
  readonly segmentId: number;
  readonly fault: undefined;
}

/** A segment with a fault; the times are those of its row, undefined where the row has none. */
interface FaultySegment {
  readonly segmentId: number;
  readonly firstMs: number | undefined;
  readonly lastMs: number | undefined;
  /** The fault, as the predicate of a sentence whose subject is the segment: `has no payload`. */
  readonly fault: string;
}

export type AuditedSegment = SoundSegment | FaultySegment;

/** A fault that SQLite itself reports; `segmentId` where the report names a segment's row. */
export interface DatabaseFault {
  readonly what: string;
  readonly segmentId: number | undefined;
}

/** A row of a damaged page can have any values: each is checked before it is used. */
type DoubtfulRow<Column extends string> = Readonly<Record<Column, unknown>>;
type SegmentColumn = 'series_id' | 'first_ms' | 'first_id' | 'last_ms' | 'last_id' | 'records' | 'digest' | 'payload';

/** Maximum number of faults of one kind in an audit: the first ones are enough to act on. */
const FAULTS_MAX = 100;
const POSITIONS_MAX = 256;

const SERIES_COLUMNS = 'series_id, kind, outcome, symbol, source, recorded_from_ms';
export const NEXT_POSITIONS = `SELECT segment_id, last_ms, last_id FROM segments INDEXED BY segments_by_position
  WHERE series_id = ? AND (last_ms, last_id) > (?, ?) ORDER BY last_ms, last_id LIMIT ${POSITIONS_MAX}`;
const SEGMENT = `SELECT series_id, first_ms, first_id, last_ms, last_id, records, digest, payload
  FROM segments NOT INDEXED WHERE segment_id = ?`;

/** The condition on the symbol is that of an index: without it, all series of markets are read. */
export const LIST_COIN_SERIES = `SELECT ${SERIES_COLUMNS} FROM series WHERE symbol IS NOT NULL AND market_key IS NULL
  ORDER BY symbol, source`;

/**
 * Reads an archive and checks all of it: for verification, on a database that was opened to read. A damaged page of the
 * database itself ends in the errors of `Database`.
 */
export class SegmentAudit {
  readonly #database: Database;
  readonly #sealed: SealedFiles | undefined;
  readonly #sql;

  /** `sealed`: left out, the segments of sealed markets are not found. */
  constructor(database: Database, sealed?: SealedFiles) {
    this.#database = database;
    this.#sealed = sealed;
    this.#sql = {
      ofMarket: database.query<DoubtfulRow<string>, [number]>(
        `SELECT ${SERIES_COLUMNS} FROM series WHERE market_key = ? ORDER BY outcome DESC, kind`,
      ),
      ofCoins: database.query<DoubtfulRow<string>, []>(LIST_COIN_SERIES),
      ranges: database.query<IdRange, [number, number]>(
        'SELECT first_id AS firstId, last_id AS lastId FROM given_ids WHERE last_id >= ? ORDER BY first_id LIMIT ?',
      ),
      rangeAt: database.query<IdRange, [number]>(RANGE_AT_OR_BEFORE),
    };
  }

  /**
   * The faults that SQLite finds in pages, indexes, constraints and references. Reads the whole file. Damage that stops the
   * search itself is thrown as `Database` throws it.
   */
  databaseFaults(): DatabaseFault[] {
    return this.#database.read(() => [
      ...this.#database
        .query<{ integrity_check: string }, []>(`PRAGMA integrity_check(${FAULTS_MAX})`)
        .all()
        .flatMap(({ integrity_check: report }) => (report === 'ok' ? [] : integrityFaults(report))),
      ...this.#brokenReferences(),
      ...this.#touchingRanges(),
    ]);
  }

  /** A market's series: up before down. */
  seriesOf(marketKey: number): AuditedSeries[] {
    return this.#sql.ofMarket.all(marketKey).map(toSeries);
  }

  coinSeries(): AuditedSeries[] {
    return this.#sql.ofCoins.all().map(toSeries);
  }

  /** The segments of a series in its order, each checked by itself and against the one before. One is in memory at a time. */
  *segments(seriesId: number): Generator<AuditedSegment> {
    let indexed: Position = { timestampMs: -1, id: -1 };
    let before: Position | undefined;
    const sealed = this.#sealed?.queriesOf(seriesId);
    const payloads = sealed === undefined ? undefined : new ShortPayloads(sealed);
    const statements = segmentStatements(sealed ?? this.#database);
    for (;;) {
      const rows = statements.positions.all(seriesId, indexed.timestampMs, indexed.id);
      for (const { segment_id: segmentId, last_ms: timestampMs, last_id: id } of rows) {
        // An index that does not ascend is damaged, which SQLite's own check reports.
        if (!isCount(segmentId) || !isCount(timestampMs) || !isCount(id)) return;
        if (comparePositions({ timestampMs, id }, indexed) <= 0) return;
        indexed = { timestampMs, id };
        const row = statements.segment.get(segmentId);
        const segment = audited(row, seriesId, segmentId, indexed, before, payloads);
        if (segment.fault === undefined) before = positionAt(segment, segment.head.count - 1);
        yield segment;
      }
      if (rows.length < POSITIONS_MAX) return;
    }
  }

  /** The ranges of given ids that end at `fromId` or later, ascending, at most `countMax`. */
  givenRanges(fromId: number, countMax: number): IdRange[] {
    return this.#sql.ranges.all(fromId, countMax);
  }

  isGiven(id: number): boolean {
    const range = this.#sql.rangeAt.get(id);
    return range !== null && id <= range.lastId;
  }

  #brokenReferences(): DatabaseFault[] {
    const rows = this.#database
      .query<{ table: string; rowid: number | null; parent: string }, []>('PRAGMA foreign_key_check')
      .all();
    return rows.slice(0, FAULTS_MAX).map(({ table, rowid, parent }) => ({
      what: `row ${rowid ?? '?'} of table ${table} names a row of table ${parent} that does not exist`,
      segmentId: table === 'segments' ? (rowid ?? undefined) : undefined,
    }));
  }

  #touchingRanges(): DatabaseFault[] {
    const rows = this.#database
      .query<{ first_id: number }, [number]>(
        `SELECT first_id FROM (SELECT first_id, last_id, LAG(last_id) OVER (ORDER BY first_id) AS before FROM given_ids)
         WHERE last_id < first_id OR first_id < 0 OR first_id <= before + 1 ORDER BY first_id LIMIT ?`,
      )
      .all(FAULTS_MAX);
    return rows.map(({ first_id }) => ({
      what: `the range of given ids that begins with ${first_id} is empty, or touches the range before it`,
      segmentId: undefined,
    }));
  }
}

/** The statements that read the segments of one file. */
function segmentStatements(database: Queries) {
  return {
    positions: database.query<DoubtfulRow<'segment_id' | 'last_ms' | 'last_id'>, [number, number, number]>(
      NEXT_POSITIONS,
    ),
    segment: database.query<DoubtfulRow<SegmentColumn>, [number]>(SEGMENT),
  };
}

function audited(
  row: DoubtfulRow<SegmentColumn> | null,
  seriesId: number,
  segmentId: number,
  indexed: Position,
  before: Position | undefined,
  payloads: ShortPayloads | undefined,
): AuditedSegment {
  const firstMs = instantOr(row?.first_ms);
  const lastMs = instantOr(row?.last_ms);
  const faulty = (fault: string): FaultySegment => ({ segmentId, firstMs, lastMs, fault });
  if (row === null) return faulty('is in an index but does not exist');
  const { payload: stored, digest } = row;
  if (!(stored instanceof Uint8Array)) return faulty('has no payload');
  const otherDigest = 'does not match its digest: its payload or its digest was changed after it was written';
  if (!(digest instanceof Uint8Array)) return faulty(otherDigest);
  const payload = wholePayload({ digest, payload: stored }, payloads);
  if (payload === undefined) return faulty('is made from other segments, and it or one of them is damaged or missing');
  if (!isIntact({ payload, digest })) return faulty(otherDigest);
  const head = headOf(payload);
  if (head === undefined) return faulty('cannot be decoded, though its payload matches its digest');
  const segment = { payload, head };
  const wrong = wrongColumn(row, seriesId, segment, indexed);
  if (wrong !== undefined) return faulty(`has ${wrong} in its row, and another value in its payload`);
  if (!ascends(head)) return faulty('has records out of order, or with impossible times or ids');
  if (before !== undefined && comparePositions(positionAt(segment, 0), before) <= 0) {
    return faulty('begins before the segment before it ends');
  }
  return { segmentId, ...segment, fault: undefined };
}

/** `row 17 missing from index segments_by_position`: the number is a segment's id. One message may hold several lines. */
function integrityFaults(report: string): DatabaseFault[] {
  return report.split('\n').map((line) => {
    const row = /\brow (\d+) missing from index segments_by_position\b/.exec(line);
    return { what: `SQLite: ${line}`, segmentId: row === null ? undefined : Number(row[1]) };
  });
}

function toSeries(row: DoubtfulRow<string>): AuditedSeries {
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return {
    seriesId: Number(row.series_id),
    // The table has a constraint for it, which SQLite's own check verifies.
    kind: String(row.kind) as AuditedSeries['kind'],
    outcome: text(row.outcome) as Outcome | undefined,
    symbol: text(row.symbol),
    source: text(row.source),
    recordedFromMs: instantOr(row.recorded_from_ms) ?? Infinity,
  };
}

function wholePayload(stored: StoredPayload, payloads: ShortPayloads | undefined): Uint8Array | undefined {
  try {
    return payloads === undefined ? stored.payload : payloads.whole(stored).payload;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return undefined;
  }
}

function headOf(payload: Uint8Array): SegmentHeader | undefined {
  try {
    const head = readSegmentHeader(payload);
    // Bodies are decoded by those who check records, arrivals by nobody else.
    arrivalsIn({ payload, head });
    return head;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return undefined;
  }
}

/** The first column of a segment's row that contradicts its payload, its series or the index. */
function wrongColumn(
  row: DoubtfulRow<SegmentColumn>,
  seriesId: number,
  segment: OpenSegment,
  indexed: Position,
): string | undefined {
  const { count } = segment.head;
  const [first, last] = [positionAt(segment, 0), positionAt(segment, count - 1)];
  const expected: readonly (readonly [SegmentColumn, number])[] = [
    ['series_id', seriesId],
    ['first_ms', first.timestampMs],
    ['first_id', first.id],
    ['last_ms', last.timestampMs],
    ['last_id', last.id],
    ['records', count],
    ['last_ms', indexed.timestampMs],
    ['last_id', indexed.id],
  ];
  const wrong = expected.find(([column, value]) => row[column] !== value);
  return wrong === undefined ? undefined : `${wrong[0]} ${String(row[wrong[0]])}`;
}

function ascends({ count, timestamps, ids }: SegmentHeader): boolean {
  for (let i = 0; i < count; i += 1) {
    if (!isInstant(timestamps[i]!) || !Number.isSafeInteger(ids[i]!) || ids[i]! < 1) return false;
    if (i === 0) continue;
    const step = timestamps[i]! - timestamps[i - 1]! || ids[i]! - ids[i - 1]!;
    if (step <= 0) return false;
  }
  return true;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function instantOr(value: unknown): number | undefined {
  return typeof value === 'number' && isInstant(value) ? value : undefined;
}
