import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DomainError } from '../../src/domain/errors.ts';
import type { PageQuery, Position } from '../../src/domain/page.ts';
import { type PriceRecord, priceCodec } from '../../src/segment/price-segment.ts';
import { SEGMENT_RECORDS_MAX } from '../../src/segment/segment-header.ts';
import { randomsOf } from '../support/random-books.ts';
import { checkRows, inTimeOrder, mergeBatch, pageOf, recordsIn, SeriesModel, seriesArchive } from './price-series.ts';

const RUNS = { seed: 20260416, numRuns: 30 };
const ID_MAX = Number.MAX_SAFE_INTEGER;

const { database, segments, newSeries } = seriesArchive();

type Reader = <T>(work: () => T) => T;

/** The order and the batches in which a recording of one series is imported. */
interface Recording {
  readonly seed: number;
  readonly count: number;
  /** Timestamps lie in 0 … spanMs: a small one has many records of one timestamp. */
  readonly spanMs: number;
  readonly batchMax: number;
  readonly arrival: 'in order' | 'backwards' | 'shuffled' | 'mostly in order' | 'twice';
  readonly ids: 'ascending' | 'any';
}

const recording: fc.Arbitrary<Recording> = fc.record({
  seed: fc.nat(),
  count: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 1000 })),
  spanMs: fc.constantFrom(3, 60, 400, 20_000),
  batchMax: fc.constantFrom(1, 5, 60, 1000),
  arrival: fc.constantFrom('in order', 'backwards', 'shuffled', 'mostly in order', 'twice'),
  ids: fc.constantFrom('ascending', 'any'),
});

/** The batches of a recording. Few prices, so that repeats of a timestamp and price are frequent. */
function batchesOf({ seed, count, spanMs, batchMax, arrival }: Recording): PriceRecord[][] {
  const random = randomsOf(seed);
  const record = () => ({
    timestampMs: Math.floor(random() * (spanMs + 1)),
    id: 0,
    price: Math.floor(random() * 5) / 4,
  });
  let records = Array.from({ length: count }, record);
  if (arrival !== 'shuffled') records.sort((a, b) => a.timestampMs - b.timestampMs);
  if (arrival === 'backwards') records.reverse();
  if (arrival === 'twice') records = [...records, ...records];
  if (arrival === 'mostly in order') {
    const late = records.filter(() => random() < 0.1);
    records = [...records.filter((it) => !late.includes(it)), ...late];
  }
  const batches: PriceRecord[][] = [];
  for (let from = 0; from < records.length; ) {
    const size = 1 + Math.floor(random() * batchMax);
    batches.push(records.slice(from, from + size));
    from += size;
  }
  return batches;
}

/** Gives ids that no other call gives: one after another, or of any size in any order. */
function idGiver(kind: Recording['ids'], seed: number, nth = 0): (record: PriceRecord) => PriceRecord {
  const random = randomsOf(seed ^ 0x5eed);
  let given = 0;
  return (record) => {
    given += 1;
    // The low bits keep ids apart; the high ones put them in any order.
    const id = kind === 'ascending' ? given * 4 + nth : Math.floor(random() * 2 ** 38) * 2 ** 15 + given * 4 + nth;
    return { ...record, id };
  };
}

function build(it: Recording, nth = 0): { seriesId: number; records: readonly PriceRecord[] } {
  const seriesId = newSeries();
  const model = new SeriesModel();
  const giveId = idGiver(it.ids, it.seed, nth);
  database.write(() => {
    for (const batch of batchesOf(it)) {
      const fresh = model.merge(inTimeOrder(batch), giveId);
      const given = [...fresh];
      mergeBatch(segments, seriesId, batch, () => given.shift()!);
    }
  });
  return { seriesId, records: model.records };
}

describe('merging batches into a series', () => {
  test('gives the same as sorting all records without their repeats, whatever their order and batches', () => {
    fc.assert(
      fc.property(recording, (it) => {
        const seriesId = newSeries();
        const model = new SeriesModel();
        const giveId = idGiver(it.ids, it.seed);
        database.write(() => {
          for (const batch of batchesOf(it)) {
            const fresh = model.merge(inTimeOrder(batch), giveId);
            const given = [...fresh];
            const added = mergeBatch(segments, seriesId, batch, () => given.shift()!);
            expect(added.map(({ timestampMs, price }) => [timestampMs, price])).toEqual(
              fresh.map(({ timestampMs, price }) => [timestampMs, price]),
            );
          }
        });
        expect(recordsIn(segments, seriesId)).toEqual([...model.records]);
        expect(checkRows(database, seriesId).records).toBe(model.records.length);
      }),
      { ...RUNS, numRuns: 60 },
    );
  });

  test('fills segments in a recording that comes in order', () => {
    const { seriesId, records } = build({
      seed: 1,
      count: 1000,
      spanMs: 1_000_000,
      batchMax: 7,
      arrival: 'in order',
      ids: 'ascending',
    });
    expect(checkRows(database, seriesId).rows).toBe(Math.ceil(records.length / SEGMENT_RECORDS_MAX));
  });

  test.each(['backwards', 'shuffled', 'mostly in order'] as const)(
    'leaves few short segments when records come one by one, %s',
    (arrival) => {
      const it: Recording = { seed: 2, count: 2000, spanMs: 1_000_000, batchMax: 1, arrival, ids: 'ascending' };
      const { seriesId, records } = build(it);
      const { rows } = checkRows(database, seriesId);
      expect(rows).toBeLessThanOrEqual(Math.ceil(records.length / (SEGMENT_RECORDS_MAX / 2)) + 1);
    },
  );

  test.each([
    ['a payload that is not what was written', "payload = CAST(payload || x'00' AS BLOB)", 1],
    ['columns that are later than the payload, in the middle of the series', 'last_ms = last_ms + 1', 1],
    ['columns that are later than the payload, at its end', 'last_ms = last_ms + 1', 20_000],
  ])('writes no segment again that has %s', (_, change, timestampMs) => {
    const recorded = {
      seed: 3,
      count: 500,
      spanMs: 9000,
      batchMax: 500,
      arrival: 'in order',
      ids: 'ascending',
    } as const;
    const { seriesId } = build(recorded);
    database.write(() => {
      database.query<never, [number]>(`UPDATE segments SET ${change} WHERE series_id = ?`).run(seriesId);
    });
    const late = { timestampMs, id: 0, price: 77 };
    const merge = () =>
      database.write(() => mergeBatch(segments, seriesId, [late], (record) => ({ ...record, id: 1 })));
    expect(merge).toThrow(DomainError);
  });
});

describe('pages', () => {
  const recordings = fc.array(recording, { minLength: 1, maxLength: 3 });
  const asked = fc.record({
    from: fc.oneof(fc.constant(0), fc.double({ min: -0.1, max: 1.1, noNaN: true })),
    to: fc.oneof(fc.constant(2), fc.double({ min: -0.1, max: 1.1, noNaN: true })),
    order: fc.constantFrom<PageQuery['order'][]>('asc', 'desc'),
    limit: fc.constantFrom(1, 2, 10, 127, 128, 129, 1000),
    after: fc.option(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(-1, 0, 1)), {
      nil: undefined,
    }),
  });

  function isAfter(record: Position, after: Position, order: PageQuery['order']): boolean {
    const difference = record.timestampMs - after.timestampMs || record.id - after.id;
    return order === 'asc' ? difference > 0 : difference < 0;
  }

  test('over one to three series are slices of all records sorted together', () => {
    fc.assert(
      fc.property(recordings, fc.array(asked, { minLength: 8, maxLength: 8 }), (its, questions) => {
        const built = its.map((it, nth) => build(it, nth));
        const all = built
          .flatMap(({ records }, series) => records.map((record) => ({ ...record, series })))
          .sort((a, b) => a.timestampMs - b.timestampMs || a.id - b.id);
        const spanMs = Math.max(...its.map((it) => it.spanMs));
        for (const { from, to, order, limit, after } of questions) {
          const cursorAt = after === undefined ? undefined : all[Math.floor(after[0] * (all.length - 1))]!;
          const query: PageQuery = {
            fromMs: Math.max(0, Math.floor(from * spanMs)),
            toMs: Math.max(0, Math.floor(to * spanMs)),
            order,
            // At a record, and next to one.
            after: cursorAt && { timestampMs: cursorAt.timestampMs, id: cursorAt.id + after![1] },
            limit,
          };
          const matching = all.filter(
            (record) =>
              record.timestampMs >= query.fromMs &&
              record.timestampMs <= query.toMs &&
              (query.after === undefined || isAfter(record, query.after, order)),
          );
          if (order === 'desc') matching.reverse();
          const expected = matching.slice(0, limit);
          const page = pageOf(
            segments,
            built.map(({ seriesId }) => seriesId),
            query,
          );
          expect(page.records).toEqual(expected);
          const last = expected.at(-1);
          expect(page.next).toEqual(
            matching.length > limit && last ? { timestampMs: last.timestampMs, id: last.id } : undefined,
          );
        }
      }),
      RUNS,
    );
  });

  test('followed by their cursors bring every record once, in both orders', () => {
    fc.assert(
      fc.property(
        recordings,
        fc.constantFrom<PageQuery['order'][]>('asc', 'desc'),
        fc.integer({ min: 40, max: 300 }),
        (its, order, limit) => {
          const built = its.map((it, nth) => build(it, nth));
          const all = built
            .flatMap(({ records }, series) => records.map((record) => ({ ...record, series })))
            .sort((a, b) => a.timestampMs - b.timestampMs || a.id - b.id);
          if (order === 'desc') all.reverse();
          const seen: PriceRecord[] = [];
          let after: Position | undefined;
          do {
            const query: PageQuery = { fromMs: 0, toMs: 1e12, order, after, limit };
            const page = pageOf(
              segments,
              built.map(({ seriesId }) => seriesId),
              query,
            );
            seen.push(...page.records);
            if (page.next !== undefined) expect(page.records.length).toBe(limit);
            after = page.next;
          } while (after !== undefined);
          expect(seen).toEqual(all);
        },
      ),
      { ...RUNS, numRuns: 30 },
    );
  });

  test('of no series, and of a series without records, are empty', () => {
    const query: PageQuery = { fromMs: 0, toMs: 1e12, order: 'desc', after: undefined, limit: 10 };
    for (const seriesIds of [[], [newSeries()], [newSeries(), newSeries()]]) {
      for (const order of ['asc', 'desc'] as const) {
        expect(pageOf(segments, seriesIds, { ...query, order })).toEqual({ records: [], next: undefined });
      }
    }
  });
});

describe('the nearest record', () => {
  /** By a scan of all records: the least distance, then the earlier time, then the highest id. */
  function nearestOf(records: readonly PriceRecord[], timestampMs: number): PriceRecord | undefined {
    let best: PriceRecord | undefined;
    for (const record of records) {
      if (best === undefined) {
        best = record;
        continue;
      }
      const distance = Math.abs(record.timestampMs - timestampMs) - Math.abs(best.timestampMs - timestampMs);
      const wins = distance || record.timestampMs - best.timestampMs || best.id - record.id;
      if (wins < 0) best = record;
    }
    return best;
  }

  test('is the one that a scan of all records finds', () => {
    fc.assert(
      fc.property(
        recording,
        fc.array(fc.double({ min: -0.2, max: 1.2, noNaN: true }), { maxLength: 30 }),
        (it, positions) => {
          const { seriesId, records } = build(it);
          const between = records.flatMap(({ timestampMs }) => [timestampMs - 1, timestampMs, timestampMs + 1]);
          const targets = [
            0,
            ID_MAX,
            ...positions.map((position) => Math.floor(position * it.spanMs)),
            ...between.filter((_, i) => i % 11 === 0),
          ];
          for (const target of targets.map((ms) => Math.max(0, ms))) {
            // In a shared view segments are kept.
            for (const read of [(work) => work(), (work) => database.readShared(work)] satisfies Reader[]) {
              const found = read(() => segments.nearest(seriesId, target));
              const record = found && priceCodec.decode(found.payload)[found.index];
              expect(record).toEqual(nearestOf(records, target));
            }
          }
        },
      ),
      { ...RUNS, numRuns: 50 },
    );
  });

  test('of a series without records does not exist', () => {
    expect(segments.nearest(newSeries(), 5)).toBeUndefined();
  });
});

test('the record before a position is the last one that comes before it', () => {
  fc.assert(
    fc.property(recording, (it) => {
      const { seriesId, records } = build(it);
      for (const [i, record] of records.entries()) {
        if (i % 7 !== 0) continue;
        expect(segments.recordBefore(seriesId, record, priceCodec)).toEqual(records[i - 1]);
      }
      const end = { timestampMs: it.spanMs + 1, id: 1 };
      expect(segments.recordBefore(seriesId, end, priceCodec)).toEqual(records.at(-1));
    }),
    RUNS,
  );
});

describe('replacing a range', () => {
  test('keeps the records outside of it and no others', () => {
    const bounds = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }));
    fc.assert(
      fc.property(recording, bounds, fc.nat({ max: 300 }), (it, [a, b], count) => {
        const { seriesId, records } = build(it);
        const at = (position: number) => records[Math.floor(position * (records.length - 1))]!;
        const first = at(Math.min(a, b));
        const last = at(Math.max(a, b));
        const kept = records.filter(
          (record) =>
            record.timestampMs < first.timestampMs ||
            (record.timestampMs === first.timestampMs && record.id < first.id) ||
            record.timestampMs > last.timestampMs ||
            (record.timestampMs === last.timestampMs && record.id > last.id),
        );
        const fresh = Array.from({ length: Math.min(count, last.id - first.id) }, (_, i) => ({
          timestampMs: first.timestampMs,
          id: first.id + i,
          price: 9,
        })).filter((record) => last.timestampMs > record.timestampMs || record.id <= last.id);
        database.write(() => segments.replace(seriesId, first, last, fresh, priceCodec));
        const expected = [...kept, ...fresh].sort((x, y) => x.timestampMs - y.timestampMs || x.id - y.id);
        expect(recordsIn(segments, seriesId)).toEqual(expected);
        expect(checkRows(database, seriesId).records).toBe(expected.length);
      }),
      RUNS,
    );
  });
});
