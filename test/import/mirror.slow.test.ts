import { describe, expect, test } from 'bun:test';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { INSTANT_MAX_MS } from '../../src/domain/instant.ts';
import { mirrorOf } from '../../src/domain/mirrored-book.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { Importer } from '../../src/import/importer.ts';
import type { ImportReport } from '../../src/import/report.ts';
import { sourcesOf } from '../../src/import/source.ts';
import { bookCodec } from '../../src/segment/book-decoder.ts';
import type { Archive } from '../../src/store/archive.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import { importPaths, importRecords, NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { listMarkets } from '../support/markets.ts';
import { randomBooks } from '../support/random-books.ts';
import { REAL_BOOKS } from '../support/real-recordings.ts';
import { CONDITION_ID, START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';

/** A market of which both outcomes were recorded. */
const BOTH_SIDES = 'btc-updown-5m-1776325800';
const SOME_BOOKS = randomBooks(7, 300, { priceScale: 4, sizes: 'mixed', levelsMax: 30, changesMax: 5 });

function snapshots(outcome: Outcome, books = SOME_BOOKS) {
  return books.map((book, index) =>
    sampleSnapshot({
      outcome,
      timestamp: START_MS + index * 10,
      bids: book.bidPrices.map((price, level) => ({ price, size: book.bidSizes[level] })),
      asks: book.askPrices.map((price, level) => ({ price, size: book.askSizes[level] })),
    }),
  );
}

function booksIn(archive: Archive, outcome: Outcome, conditionId = CONDITION_ID) {
  const market = archive.markets.findByConditionId(conditionId)!;
  const slices = archive.snapshots.slices(market, outcome, 0, INSTANT_MAX_MS);
  return [...slices].flatMap((slice) => bookCodec.decode(slice.payload));
}

function isRecorded({ snapshots }: Archive, market: StoredMarket, outcome: Outcome): boolean {
  return snapshots.recordedFromMs(market, outcome) < Infinity;
}

/** Imports a record that the archive already has; its market is still mirrored. */
async function importMirrored(archive: Archive): Promise<ImportReport> {
  const importer = new Importer(archive, { clock: () => NOW_MS, mirror: true });
  const market = archive.markets.findByConditionId(CONDITION_ID)!;
  const [outcome] = (['up', 'down'] as const).filter((each) => isRecorded(archive, market, each));
  using directory = temporaryDirectory();
  const path = join(directory.path, 'again.ndjson');
  writeFileSync(path, JSON.stringify(snapshots(outcome!)[0]));
  return await importer.run(sourcesOf([path]));
}

/** One minus a price, computed from its digits. */
function complementByDigits(price: number): number {
  const [, decimals = ''] = price.toFixed(12).split('.');
  const units = BigInt(Math.trunc(price)) * 10n ** 12n + BigInt(decimals);
  return Number(10n ** 12n - units) / 1e12;
}

describe('a mirrored book', () => {
  test('has the other side’s levels at one minus their prices, exactly, best level first', () => {
    for (const book of SOME_BOOKS) {
      const mirrored = mirrorOf(book);
      expect(mirrored).toEqual({
        bidPrices: book.askPrices.map(complementByDigits),
        bidSizes: book.askSizes,
        askPrices: book.bidPrices.map(complementByDigits),
        askSizes: book.bidSizes,
      });
      expect(mirrorOf(mirrored)).toEqual(book);
    }
    expect(mirrorOf({ bidPrices: [0.000000000001], bidSizes: [1], askPrices: [], askSizes: [] }).askPrices).toEqual([
      0.999999999999,
    ]);
  });
});

describe('--mirror', () => {
  test('completes a market with recorded books of only one outcome, once, and marks the mirrored books', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket(), ...snapshots('down')]);
    expect(booksIn(place.archive, 'up')).toEqual([]);
    const report = await importMirrored(place.archive);
    const recorded = booksIn(place.archive, 'down');
    expect(report.mirrored).toBe(recorded.length);
    expect(booksIn(place.archive, 'up').map(({ timestampMs, book }) => ({ timestampMs, book }))).toEqual(
      recorded.map(({ timestampMs, book }) => ({ timestampMs, book: mirrorOf(book) })),
    );
    const market = place.archive.markets.findByConditionId(CONDITION_ID)!;
    expect(isRecorded(place.archive, market, 'down')).toBe(true);
    expect(isRecorded(place.archive, market, 'up')).toBe(false);
    expect(place.archive.quotes.sources(market, ['up'])).toHaveLength(1);
    expect((await importMirrored(place.archive)).mirrored).toBe(0);
  });

  test('continues when more books of the outcome are recorded', async () => {
    using place = temporaryArchive();
    const all = snapshots('up');
    await importRecords(place.archive, [sampleMarket(), ...all.slice(0, 100)]);
    await importMirrored(place.archive);
    await importRecords(place.archive, all.slice(100));
    await importMirrored(place.archive);
    expect(booksIn(place.archive, 'down')).toHaveLength(booksIn(place.archive, 'up').length);
  });

  test('is replaced by recorded books from the first one on, also from an import without --mirror', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket(), ...snapshots('down')]);
    await importMirrored(place.archive);
    const [first] = snapshots('up', SOME_BOOKS.slice(5, 6));
    await importRecords(place.archive, [first!]);
    expect(booksIn(place.archive, 'up').map(({ book }) => book)).toEqual([SOME_BOOKS[5]!]);
    const market = place.archive.markets.findByConditionId(CONDITION_ID)!;
    expect(isRecorded(place.archive, market, 'up')).toBe(true);
    expect((await importMirrored(place.archive)).mirrored).toBe(0);
  });

  test('--mirror derives the books of an outcome from the other one until the first of its own, and recorded ones replace mirrored ones.', async () => {
    const times = (archive: Archive, isMirrored: boolean) => {
      const recordedMs = archive.snapshots.recordedFromMs(archive.markets.findByConditionId(CONDITION_ID)!, 'up');
      const ofUp = booksIn(archive, 'up').map(({ timestampMs }) => timestampMs);
      return ofUp.filter((timestampMs) => timestampMs < recordedMs === isMirrored).map((ms) => (ms - START_MS) / 10);
    };
    const [downs, ups] = [snapshots('down'), snapshots('up')];
    const first = Array.from({ length: 100 }, (_, index) => index);
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket(), ...downs], { mirror: true });
    await importRecords(place.archive, [ups[200]!, ups[250]!]);
    expect(times(place.archive, true)).toEqual([...first, ...first.map((index) => index + 100)]);
    await importRecords(place.archive, [ups[100]!]);
    expect([times(place.archive, true), times(place.archive, false)]).toEqual([first, [100, 200, 250]]);
    expect((await importRecords(place.archive, [downs[0]!], { mirror: true })).mirrored).toBe(0);
    using once = temporaryArchive();
    const report = await importRecords(once.archive, [sampleMarket(), ...downs, ups[100]!, ups[200]!, ups[250]!], {
      mirror: true,
    });
    expect(report.mirrored).toBe(100);
    const booksOf = (archive: Archive) =>
      booksIn(archive, 'up').map(({ timestampMs, book }) => ({ timestampMs, book }));
    expect(booksOf(once.archive)).toEqual(booksOf(place.archive));
  });

  test('does not change a market whose outcomes have their first book at one instant', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket(), ...snapshots('up'), snapshots('down')[0]!]);
    expect((await importMirrored(place.archive)).mirrored).toBe(0);
    expect(booksIn(place.archive, 'down')).toHaveLength(1);
  });

  test('a record that is marked as mirrored is stored as such, and dropped if there are recorded ones', async () => {
    using place = temporaryArchive();
    const [record] = snapshots('up');
    const mirrored = { ...record, mirrored: true };
    expect((await importRecords(place.archive, [sampleMarket(), mirrored])).total.stored).toBe(2);
    const market = place.archive.markets.findByConditionId(CONDITION_ID)!;
    expect(isRecorded(place.archive, market, 'up')).toBe(false);
    expect((await importRecords(place.archive, [record!])).total).toMatchObject({ stored: 1, duplicate: 0 });
    expect((await importRecords(place.archive, [mirrored])).total).toMatchObject({ stored: 0, duplicate: 1 });
    expect(isRecorded(place.archive, market, 'up')).toBe(true);
  });

  test.skipIf(REAL_BOOKS === undefined)(
    'of real books gives the recorded books of the other outcome (needs real recordings)',
    async () => {
      using both = temporaryArchive();
      const files = readdirSync(REAL_BOOKS!).filter((name) => name.startsWith(BOTH_SIDES));
      await importPaths(both.archive, ...['markets.ndjson', ...files].map((name) => join(REAL_BOOKS!, name)));
      let compared = 0;
      for (const market of listMarkets(both.archive.markets, 'btc', undefined, 100, 0)) {
        const down = new Map(booksIn(both.archive, 'down', market.conditionId).map((book) => [book.timestampMs, book]));
        for (const up of booksIn(both.archive, 'up', market.conditionId)) {
          const other = down.get(up.timestampMs);
          if (other === undefined) continue;
          compared += 1;
          expect(mirrorOf(up.book)).toEqual(other.book);
        }
      }
      expect(compared).toBeGreaterThan(100);
    },
  );
});
