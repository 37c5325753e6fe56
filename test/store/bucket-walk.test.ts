import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { comparePositions, type PageQuery, type Position } from '../../src/domain/page.ts';
import type { PriceRecord } from '../../src/segment/price-segment.ts';
import { SEGMENT_RECORDS_MAX } from '../../src/segment/segment-header.ts';
import { mergeBatch, pageOf, seriesArchive } from './price-series.ts';

const { database, segments, newSeries } = seriesArchive();

const SPAN_MS = 2000;

/** Series with these records, all ids different, each series in the given number of imports. */
function build(series: readonly (readonly PriceRecord[])[], batches: number): number[] {
  return series.map((records) => {
    const seriesId = newSeries();
    database.write(() => {
      for (let batch = 0; batch < batches; batch += 1) {
        const part = records.filter((_, index) => index % batches === batch);
        const given = [...part].sort((a, b) => a.timestampMs - b.timestampMs);
        mergeBatch(segments, seriesId, part, () => given.shift()!);
      }
    });
    return seriesId;
  });
}

/** By a scan of all records: the last record of each bucket of each series. */
function sampled(series: readonly (readonly PriceRecord[])[], query: PageQuery, intervalMs: number): Position[] {
  const lasts = series.flatMap((records) => {
    const taken = records
      .filter(({ timestampMs: ms }) => ms >= query.fromMs && ms <= query.toMs)
      .sort(comparePositions);
    const bucketOf = (record: Position) => Math.floor(record.timestampMs / intervalMs);
    return taken.filter((record, i) => taken[i + 1] === undefined || bucketOf(taken[i + 1]!) !== bucketOf(record));
  });
  const ascending = lasts.map(({ timestampMs, id }) => ({ timestampMs, id })).sort(comparePositions);
  return query.order === 'asc' ? ascending : ascending.reverse();
}

function walk(seriesIds: readonly number[], query: PageQuery): Position[] {
  const positions: Position[] = [];
  let after: Position | undefined;
  do {
    const page = pageOf(segments, seriesIds, { ...query, after });
    positions.push(...page.records.map(({ timestampMs, id }) => ({ timestampMs, id })));
    after = page.next;
  } while (after !== undefined);
  return positions;
}

describe('the last record of each bucket', () => {
  const record = fc.record({
    timestampMs: fc.integer({ min: 0, max: SPAN_MS }),
    price: fc.integer({ min: 0, max: 100 }),
  });
  const list = fc.array(record, { maxLength: 3 * SEGMENT_RECORDS_MAX });

  test('is found on pages of any size, in both orders, however the records are split into segments', () => {
    fc.assert(
      fc.property(
        fc.array(list, { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        fc.constantFrom('asc' as const, 'desc' as const),
        fc.constantFrom(1, 7, 100, SPAN_MS, 10 * SPAN_MS),
        fc.tuple(fc.integer({ min: 0, max: SPAN_MS }), fc.integer({ min: 0, max: 2 * SPAN_MS })),
        fc.constantFrom(1, 3, 1000),
        (lists, batches, fromTheEnd, order, intervalMs, [fromMs, toMs], limit) => {
          let ids = 0;
          const series = lists.map((records) => {
            const unique = [...new Map(records.map((it) => [`${it.timestampMs} ${it.price}`, it])).values()];
            return unique.map((it) => {
              ids += 1;
              return { ...it, id: fromTheEnd ? Number.MAX_SAFE_INTEGER + 1 - ids : ids };
            });
          });
          const query = { fromMs, toMs, order, after: undefined, limit, intervalMs };
          expect(walk(build(series, batches), query)).toEqual(sampled(series, query, intervalMs));
        },
      ),
      { seed: 6, numRuns: 150 },
    );
  });

  test.each(['asc', 'desc'] as const)('may have the largest possible id, %s', (order) => {
    // Two segments, the first of which ends with the record at the end of the bucket.
    const records = Array.from({ length: SEGMENT_RECORDS_MAX + 1 }, (_, index) => ({
      timestampMs: index,
      id: index === SEGMENT_RECORDS_MAX - 1 ? Number.MAX_SAFE_INTEGER : index + 1,
      price: index,
    }));
    const [seriesId] = build([records], 1);
    const query = { fromMs: 0, toMs: SPAN_MS, order, after: undefined, limit: 10, intervalMs: SEGMENT_RECORDS_MAX };
    const found = walk([seriesId!], query);
    expect(found).toEqual(sampled([records], query, SEGMENT_RECORDS_MAX));
    expect(found.some(({ id }) => id === Number.MAX_SAFE_INTEGER)).toBe(true);
  });
});
