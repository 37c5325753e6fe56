import { afterAll } from 'bun:test';
import type { PageQuery, Position } from '../../src/domain/page.ts';
import type { PriceRecord } from '../../src/segment/price-segment.ts';
import { priceCodec } from '../../src/segment/price-segment.ts';
import type { Database } from '../../src/store/database.ts';
import { type RecordPage, recordPage } from '../../src/store/record-page.ts';
import { Segments } from '../../src/store/segments.ts';
import { SeriesCatalog } from '../../src/store/series.ts';
import { temporaryArchive } from '../support/archive.ts';

/** A record, and the index of its series. */
interface Served extends PriceRecord {
  readonly series: number;
}

/** A new archive, and new series in it. Call it once in a test file. */
export function seriesArchive() {
  const held = temporaryArchive();
  afterAll(() => held[Symbol.dispose]());
  const { database } = held.archive;
  const catalog = new SeriesCatalog(database);
  let sources = 0;
  const newSeries = (): number => {
    sources += 1;
    return catalog.ensureCoin('btc', `source-${sources}`);
  };
  return { database, segments: new Segments(database), newSeries };
}

export type Page = RecordPage<Served>;

const EVERYTHING: PageQuery = {
  fromMs: 0,
  toMs: Number.MAX_SAFE_INTEGER,
  order: 'asc',
  after: undefined,
  limit: 1_000_000,
};

export function pageOf(segments: Segments, seriesIds: readonly number[], query: PageQuery): Page {
  const sources = seriesIds.map((seriesId, series) => ({ seriesId, series }));
  return recordPage(segments, sources, query, priceCodec, (record, { series }) => ({ ...record, series }));
}

/** The records of a series, in order. */
export function recordsIn(segments: Segments, seriesId: number): PriceRecord[] {
  return pageOf(segments, [seriesId], EVERYTHING).records.map(({ timestampMs, id, price }) => ({
    timestampMs,
    id,
    price,
  }));
}

/** A series as a plain array: the expected content of the store. */
export class SeriesModel {
  readonly #records: PriceRecord[] = [];

  /** Ascending by (timestamp, id). */
  get records(): readonly PriceRecord[] {
    return [...this.#records].sort((a, b) => a.timestampMs - b.timestampMs || a.id - b.id);
  }

  /** Those of `batch` that are new, in order, each with the id that `giveId` gave. */
  merge(batch: readonly PriceRecord[], giveId: (record: PriceRecord) => PriceRecord): PriceRecord[] {
    const fresh: PriceRecord[] = [];
    for (const record of batch) {
      const known = this.#records.some((it) => it.timestampMs === record.timestampMs && it.price === record.price);
      if (known) continue;
      const given = giveId(record);
      this.#records.push(given);
      fresh.push(given);
    }
    return fresh;
  }
}

/** Adds the new records of a batch of any order, as an import does. Returns them before they have ids. */
export function mergeBatch(
  segments: Segments,
  seriesId: number,
  batch: readonly PriceRecord[],
  giveId: (record: PriceRecord) => PriceRecord,
): PriceRecord[] {
  const added = segments.newRecords(seriesId, inTimeOrder(batch), priceCodec);
  segments.add(seriesId, added.map(giveId), priceCodec);
  return added;
}

export function inTimeOrder<R extends Position>(batch: readonly R[]): R[] {
  return [...batch].sort((a, b) => a.timestampMs - b.timestampMs);
}

/** Throws unless the rows of a series ascend without overlap, have an allowed length, and match their columns and digests. */
export function checkRows(database: Database, seriesId: number): { rows: number; records: number } {
  interface Row {
    readonly first_ms: number;
    readonly first_id: number;
    readonly last_ms: number;
    readonly last_id: number;
    readonly records: number;
    readonly digest: Uint8Array;
    readonly payload: Uint8Array;
  }
  const rows = database
    .query<Row, [number]>(
      `SELECT first_ms, first_id, last_ms, last_id, records, digest, payload FROM segments
       WHERE series_id = ? ORDER BY last_ms, last_id`,
    )
    .all(seriesId);
  let records = 0;
  let before: Row | undefined;
  for (const row of rows) {
    if (before !== undefined) {
      const after = row.first_ms > before.last_ms || (row.first_ms === before.last_ms && row.first_id > before.last_id);
      if (!after) throw new Error('two segments overlap');
    }
    const digest = new Bun.CryptoHasher('sha256').update(row.payload).digest('hex');
    if (digest !== Buffer.from(row.digest).toString('hex')) throw new Error('a digest is not that of its payload');
    records += row.records;
    before = row;
  }
  return { rows: rows.length, records };
}
