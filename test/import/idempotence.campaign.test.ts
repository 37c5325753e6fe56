import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { formatInstant } from '../../src/domain/instant.ts';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { pricesIn } from '../../src/segment/price-segment.ts';
import type { Archive } from '../../src/store/archive.ts';
import { importPaths, importRecords, temporaryArchive } from '../support/archive.ts';
import { sized } from '../support/campaign-size.ts';
import {
  CONDITION_ID,
  START_MS,
  sampleCoinPrice,
  sampleGap,
  sampleLastTradePrice,
  sampleMarket,
  samplePrice,
  sampleQuote,
  sampleSnapshot,
} from '../support/sample-records.ts';
import { serviceOf } from '../support/service.ts';

const RUNS = { numRuns: sized(12, 40), seed: 20_260_416 };
const FIXTURES = join(import.meta.dir, '..', '..', 'fixtures');

type Row = Readonly<Record<string, unknown>>;

/** All pages of a series by cursor. */
async function walked(archive: Archive, path: string): Promise<Row[]> {
  const service = serviceOf(archive);
  const rows: Row[] = [];
  for (let cursor = ''; ; ) {
    const answer = await service.get(`${path}?limit=1000${cursor}`);
    const page = (await answer.json()) as { data: Row[]; nextCursor: string | null };
    if (answer.status === 404) return [];
    rows.push(...page.data);
    if (page.nextCursor === null) return rows;
    cursor = `&cursor=${page.nextCursor}`;
  }
}

/** All responses about one market and its coin. */
async function served(archive: Archive, conditionId = CONDITION_ID) {
  const path = `/btc/markets/${conditionId}`;
  const [snapshots, quotes, prices, coinPrices] = await Promise.all(
    [`${path}/snapshots`, `${path}/quotes`, `${path}/prices`, '/btc/prices'].map((series) => walked(archive, series)),
  );
  const market = archive.markets.findByConditionId(conditionId)!;
  // Only exports have them, so they are read from the archive.
  const lastTradePrices = OUTCOMES.flatMap((outcome) =>
    [...pricesIn(archive.prices.slices(market, outcome, 'last-trade', 0, Number.MAX_SAFE_INTEGER))].map(
      ({ id, timestampMs, price }) => ({ id, outcome, timestamp: formatInstant(timestampMs), price }),
    ),
  );
  return {
    snapshots: snapshots!,
    quotes: quotes!,
    prices: prices!,
    coinPrices: coinPrices!,
    lastTradePrices,
    gaps: archive.gaps.list(market.key),
  };
}

/** Rows without their ids, sorted, so that archives with different ids compare. */
function unnumbered(rows: readonly Row[]): string[] {
  return rows.map(({ id: _, ...row }) => JSON.stringify(row)).sort();
}

/** Few times and few values, so that repeats, ties and returns to an earlier book occur. */
const second = fc.integer({ min: 0, max: 30 }).map((n) => START_MS + n * 1000);
const outcome = fc.constantFrom('up', 'down');
const cents = fc.integer({ min: 1, max: 99 }).map((n) => n / 100);
const side = fc.uniqueArray(fc.record({ price: cents, size: fc.integer({ min: 1, max: 3 }) }), {
  maxLength: 4,
  selector: ({ price }) => price,
});
const record = fc.oneof(
  { weight: 4, arbitrary: fc.record({ timestamp: second, outcome, bids: side, asks: side }).map(sampleSnapshot) },
  fc.record({ timestamp: second, outcome, bidPrice: cents }).map(sampleQuote),
  fc.record({ timestamp: second, outcome, price: cents, kind: fc.constantFrom('mid', 'trade') }).map(samplePrice),
  fc.record({ timestamp: second, outcome, price: cents }).map(sampleLastTradePrice),
  fc.record({ timestamp: second, source: fc.constantFrom('chainlink', 'binance'), price: cents }).map(sampleCoinPrice),
  fc
    .record({ from: second, reason: fc.constantFrom('restart', 'network') })
    .map((gap) => sampleGap({ ...gap, to: START_MS + 40_000 })),
);
const recording = fc.array(record, { minLength: 1, maxLength: 120 });

/** A book with its levels in another order is the same record. */
function essence(entry: Row): string {
  const sorted = (levels: unknown) => (levels as { price: number }[]).toSorted((a, b) => a.price - b.price);
  return JSON.stringify(
    entry.type === 'snapshot' ? { ...entry, bids: sorted(entry.bids), asks: sorted(entry.asks) } : entry,
  );
}

function chunks<T>(values: readonly T[], sizes: readonly number[]): T[][] {
  const pieces: T[][] = [];
  for (let from = 0, i = 0; from < values.length; i += 1) {
    const size = sizes[i % sizes.length]!;
    pieces.push(values.slice(from, from + size));
    from += size;
  }
  return pieces;
}

describe('importing', () => {
  test('The records of a batch get ids in the order of time, whatever their series; between batches ids are in the order of import.', async () => {
    await fc.assert(
      fc.asyncProperty(recording, async (records) => {
        using held = temporaryArchive();
        await importRecords(held.archive, [sampleMarket(), ...records]);
        const { snapshots, quotes, prices, coinPrices, lastTradePrices } = await served(held.archive);
        const timeOf = new Map(
          [...coinPrices, ...snapshots, ...quotes, ...prices, ...lastTradePrices].map(({ id, timestamp }) => [
            Number(id),
            String(timestamp),
          ]),
        );
        const ids = [...timeOf.keys()].sort((a, b) => a - b);
        // Derived quotes and midpoints have the ids of their snapshots.
        expect(ids).toEqual(ids.map((_, index) => index + 1));
        const times = ids.map((id) => timeOf.get(id)!);
        expect(times).toEqual(times.toSorted());
      }),
      RUNS,
    );
  });

  test('stores each record once, for any repeats, pieces and order of the input', async () => {
    const shuffled = recording.chain((records) =>
      fc.tuple(
        fc.constant(records),
        fc.shuffledSubarray(records, { minLength: records.length, maxLength: records.length }),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 }),
      ),
    );
    await fc.assert(
      fc.asyncProperty(shuffled, async ([records, reordered, sizes]) => {
        const distinct = new Set(records.map(essence)).size;
        using whole = temporaryArchive();
        using pieces = temporaryArchive();
        const report = await importRecords(whole.archive, [sampleMarket(), ...records]);
        expect(report.total).toMatchObject({ read: records.length + 1, stored: distinct + 1, rejected: 0 });
        const before = await served(whole.archive);

        const again = await importRecords(whole.archive, [sampleMarket(), ...reordered]);
        expect(again.total).toMatchObject({ stored: 0, duplicate: records.length + 1, rejected: 0 });
        expect(await served(whole.archive)).toEqual(before);

        let stored = 0;
        for (const piece of chunks(reordered, sizes)) {
          stored += (await importRecords(pieces.archive, [sampleMarket(), ...piece])).total.stored;
        }
        expect(stored).toBe(distinct + 1);
        const after = await served(pieces.archive);
        expect(unnumbered(after.snapshots)).toEqual(unnumbered(before.snapshots));
        expect(unnumbered(after.coinPrices)).toEqual(unnumbered(before.coinPrices));
        expect(unnumbered(after.lastTradePrices)).toEqual(unnumbered(before.lastTradePrices));
        expect(after.gaps).toEqual(before.gaps);
        for (const { snapshots, coinPrices } of [before, after]) {
          const ids = [...snapshots, ...coinPrices].map(({ id }) => id);
          expect(new Set(ids).size).toBe(ids.length);
        }
      }),
      RUNS,
    );
  });

  test('of snapshots with ids gives the same responses in every order, derived quotes and midpoints included', async () => {
    const snapshots = fc
      .uniqueArray(fc.record({ timestamp: second, outcome, bids: side, asks: side }).map(sampleSnapshot), {
        minLength: 1,
        maxLength: 80,
        selector: essence,
      })
      .map((records) => records.map((entry, i) => ({ ...entry, id: String(1 + i * 3) })));
    const cases = snapshots.chain((records) =>
      fc.tuple(
        fc.constant(records),
        fc.shuffledSubarray(records, { minLength: records.length, maxLength: records.length }),
        fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 }),
      ),
    );
    await fc.assert(
      fc.asyncProperty(cases, async ([records, reordered, sizes]) => {
        using whole = temporaryArchive();
        using pieces = temporaryArchive();
        await importRecords(whole.archive, [sampleMarket(), ...records]);
        for (const piece of chunks(reordered, sizes)) await importRecords(pieces.archive, [sampleMarket(), ...piece]);
        const answers = await served(whole.archive);
        expect(await served(pieces.archive)).toEqual(answers);
        expect(new Set(answers.snapshots.map(({ id }) => id))).toEqual(new Set(records.map(({ id }) => id)));
        expect(answers.quotes.map(quoteOf)).toEqual(derivedQuotes(answers.snapshots));
      }),
      RUNS,
    );
  });

  test('gives the same responses when the pieces fall between and into full segments', async () => {
    // Few tops of book, so that a snapshot between two others adds and removes quotes.
    const prices = fc.array(fc.integer({ min: 48, max: 50 }), { minLength: 300, maxLength: 600 });
    const cases = fc.tuple(
      prices,
      fc.infiniteStream(fc.nat()),
      fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 2, maxLength: 6 }),
    );
    await fc.assert(
      fc.asyncProperty(cases, async ([tops, ranks, sizes]) => {
        const records = tops.map((top, i) =>
          sampleSnapshot({ id: i + 1, timestamp: START_MS + i * 100, bids: [{ price: top / 100, size: 1 }], asks: [] }),
        );
        const ranked = chunks(records, sizes).map((piece) => ({ piece, rank: ranks.next().value ?? 0 }));
        const reordered = ranked.toSorted((a, b) => a.rank - b.rank).map(({ piece }) => piece);
        using whole = temporaryArchive();
        using pieces = temporaryArchive();
        await importRecords(whole.archive, [sampleMarket(), ...records]);
        for (const piece of reordered) await importRecords(pieces.archive, [sampleMarket(), ...piece]);
        const answers = await served(whole.archive);
        expect(answers.snapshots.length).toBe(records.length);
        expect(answers.quotes.map(quoteOf)).toEqual(derivedQuotes(answers.snapshots));
        expect(await served(pieces.archive)).toEqual(answers);
      }),
      { ...RUNS, numRuns: sized(3, 6) },
    );
  });

  test('derives a quote again after a full segment with a later record at its last timestamp', async () => {
    using place = temporaryArchive();
    const records = Array.from({ length: 1000 }, (_, i) =>
      sampleSnapshot({
        id: i + 1,
        timestamp: START_MS + Math.floor(i / 2) * 100,
        bids: [{ price: i % 2 === 0 ? 0.5 : 0.4, size: 1 }],
        asks: [],
      }),
    );
    await importRecords(place.archive, [sampleMarket(), ...records.filter((_, i) => i % 2 === 0)]);
    await importRecords(place.archive, [sampleMarket(), ...records.filter((_, i) => i % 2 === 1)]);
    const { quotes, snapshots } = await served(place.archive);
    expect(quotes.length).toBe(records.length);
    expect(quotes.map(quoteOf)).toEqual(derivedQuotes(snapshots));
  });

  test('gives equal archives for equal input', async () => {
    using one = temporaryArchive();
    using other = temporaryArchive();
    await importPaths(one.archive, FIXTURES);
    await importPaths(other.archive, FIXTURES);
    // Revisions are random and differ between archives.
    const dated = ({ markets, ...rest }: Record<string, unknown[]>) => ({
      ...rest,
      markets: (markets as Row[]).map((market) => ({ ...market, revision: undefined })),
    });
    expect(dated(contentOf(one.archive))).toEqual(dated(contentOf(other.archive)));
  });
});

function quoteOf({ timestamp, outcome: of, bidPrice, askPrice, id }: Row) {
  return [timestamp, id, of, bidPrice, askPrice];
}

/** One quote per change of an outcome's top of book. */
function derivedQuotes(snapshots: readonly Row[]) {
  const tops = new Map<unknown, string>();
  return snapshots.flatMap((row) => {
    const [bid, ask] = [row.bids, row.asks].map((levels) => (levels as { price: number; size: number }[])[0]);
    const top = JSON.stringify([bid, ask]);
    if (tops.get(row.outcome) === top) return [];
    tops.set(row.outcome, top);
    return [[row.timestamp, row.id, row.outcome, bid?.price ?? null, ask?.price ?? null]];
  });
}

/** Every row of every table with records; blobs as bytes. */
function contentOf(archive: Archive): Record<string, unknown[]> {
  const sqlite = new Database(archive.database.path, { readonly: true });
  try {
    const tables = ['markets', 'series', 'segments', 'given_ids', 'gaps'];
    return Object.fromEntries(
      tables.map((table) => [table, sqlite.query<Row, []>(`SELECT * FROM ${table} ORDER BY 1, 2`).all()]),
    );
  } finally {
    sqlite.close();
  }
}

describe('the ids of records', () => {
  const snapshotAt = (offsetMs: number, id: number | string | undefined) =>
    sampleSnapshot({ timestamp: START_MS + offsetMs, ...(id === undefined ? {} : { id }) });
  const idsOf = async (archive: Archive) => (await served(archive)).snapshots.map(({ id }) => id);

  test('are those of the recording if these are free', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [
      sampleMarket(),
      snapshotAt(0, 900),
      snapshotAt(1, '7'),
      snapshotAt(2, Number.MAX_SAFE_INTEGER),
    ]);
    expect(await idsOf(place.archive)).toEqual(['900', '7', String(Number.MAX_SAFE_INTEGER)]);
  });

  test('are new if the recording has none or they are taken, and none is given twice', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket(), snapshotAt(0, 5), snapshotAt(1, 5), snapshotAt(2, undefined)]);
    await importRecords(place.archive, [
      snapshotAt(3, 5),
      snapshotAt(4, undefined),
      sampleCoinPrice({ id: 5 }),
      samplePrice({ id: 6 }),
    ]);
    const { snapshots, coinPrices, prices } = await served(place.archive);
    expect(snapshots[0]!.id).toBe('5');
    // Derived midpoints have the ids of their snapshots.
    const trades = prices.filter(({ kind }) => kind === 'trade');
    const ids = [...snapshots, ...coinPrices, ...trades].map(({ id }) => String(id));
    expect(new Set(ids).size).toBe(7);
    for (const id of ids) expect(id).toMatch(/^[1-9]\d*$/);
  });

  test('never change, even if the record is imported again with another one', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket(), snapshotAt(0, 5), snapshotAt(2, 9)]);
    const report = await importRecords(place.archive, [snapshotAt(0, 77), snapshotAt(1, 6), snapshotAt(2, undefined)]);
    expect(report.total).toMatchObject({ stored: 1, duplicate: 2 });
    expect(await idsOf(place.archive)).toEqual(['5', '6', '9']);
  });

  test('An id of a recording is kept if it is free, even if the largest possible id is taken.', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket(), snapshotAt(0, Number.MAX_SAFE_INTEGER)]);
    await importRecords(place.archive, [snapshotAt(1, undefined), snapshotAt(2, undefined), snapshotAt(3, 2)]);
    const ids = await idsOf(place.archive);
    // The record with the id 2 gets it, although others come before.
    expect(ids).toEqual([String(Number.MAX_SAFE_INTEGER), '1', '3', '2']);
  });

  test('of all records in the responses about the fixtures stay the same in an archive that imports these responses', async () => {
    using first = temporaryArchive();
    using second = temporaryArchive();
    await importPaths(first.archive, join(FIXTURES, 'btc.ndjson.zst'));
    const markets = (await (await serviceOf(first.archive).get('/btc/markets?limit=1000')).json()) as { data: Row[] };
    const records: object[] = [];
    const withType = (type: string, rows: readonly Row[]) => rows.map((row) => ({ type, ...row }));
    for (const market of markets.data) {
      const { snapshots, quotes, prices } = await served(first.archive, String(market.conditionId));
      // Derived records have the id of their snapshot, and are derived again.
      const ids = new Set(snapshots.map(({ id }) => id));
      const recorded = (rows: readonly Row[]) => rows.filter(({ id }) => !ids.has(id));
      records.push({ type: 'market', ...market }, ...withType('snapshot', snapshots));
      records.push(...withType('quote', recorded(quotes)), ...withType('price', recorded(prices)));
    }
    records.push(...withType('coinPrice', await walked(first.archive, '/btc/prices')));

    const report = await importRecords(second.archive, records);
    expect(report.total).toMatchObject({ stored: records.length, duplicate: 0, rejected: 0 });
    for (const market of markets.data) {
      const conditionId = String(market.conditionId);
      const [a, b] = [await served(first.archive, conditionId), await served(second.archive, conditionId)];
      expect({ ...b, gaps: [] }).toEqual({ ...a, gaps: [] });
      const answer = await serviceOf(second.archive).get(`/btc/markets/${conditionId}`);
      expect(await answer.json()).toEqual({ data: market });
    }
  });
});
