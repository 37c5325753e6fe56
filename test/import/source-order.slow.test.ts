import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { roundedDecimal } from '../../src/domain/decimal.ts';
import type { Archive } from '../../src/store/archive.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { booksOf, importFile, tradesOf } from '../support/imported.ts';
import { importMapped, refusalOfMapping, rejectionsOf } from './mapping/mapped-import.ts';

const SLUG = 'btc-updown-5m-1776808200';
const CONDITION_ID = `0x${'5'.repeat(64)}`;
const MARKET = JSON.stringify({
  ...{ type: 'market', conditionId: CONDITION_ID, slug: SLUG, symbol: 'btc', timeframe: '5m' },
  ...{ outcomes: ['up', 'down'], clobTokenIds: ['1111', '2222'] },
  ...{ startTime: '2026-04-21T21:50:00Z', endTime: '2026-04-21T21:55:00Z' },
});
const AT_MS = 1_776_808_300_000;

function snapshot(size: number, timestamp = AT_MS): string {
  const labels = { type: 'snapshot', conditionId: CONDITION_ID, outcome: 'up', timestamp };
  return JSON.stringify({ ...labels, bids: [{ price: 0.5, size }], asks: [] });
}

function sizesIn(archive: Archive): number[] {
  return booksOf(archive, SLUG, 'up').map(({ book }) => book.bidSizes[0]!);
}

describe('Within one instant the order of a source is kept: after X, Y, X the book is X.', () => {
  test.each([
    { stated: [1, 2, 1], stored: [1, 2, 1] },
    { stated: [1, 2, 1, 2], stored: [1, 2, 1, 2] },
    { stated: [1, 1, 2, 2], stored: [1, 2] },
  ])('books $stated are stored as $stored, and a second time nothing is', async ({ stated, stored }) => {
    using place = temporaryArchive();
    const content = [MARKET, ...stated.map((size) => snapshot(size))].join('\n');
    await importFile(place.archive, 'a.ndjson', content);
    expect(sizesIn(place.archive)).toEqual([...stored]);
    const again = await importFile(place.archive, 'a.ndjson', content);
    expect(again.total.stored).toBe(0);
    expect(sizesIn(place.archive)).toEqual([...stored]);
  });

  test('the order is kept where a batch ends between two books', async () => {
    using place = temporaryArchive();
    // With the market, the first batch of 8,192 records ends after two of the three books.
    const before = Array.from({ length: 8189 }, (_, index) => snapshot(index + 10, AT_MS - 10_000 + index));
    await importFile(
      place.archive,
      'a.ndjson',
      [MARKET, ...before, ...[1, 2, 1].map((size) => snapshot(size))].join('\n'),
    );
    expect(sizesIn(place.archive).slice(-3)).toEqual([1, 2, 1]);
  });
});

describe('A record that two files of one command state with the same id is stored once, although it ends one file and begins the other.', () => {
  const trade = (id: number) => {
    const labels = { type: 'price', id: String(id), conditionId: CONDITION_ID, outcome: 'up', kind: 'trade' };
    return JSON.stringify({ ...labels, timestamp: AT_MS, price: 0.5 });
  };
  const book = (id: number, size: number) => JSON.stringify({ ...JSON.parse(snapshot(size)), id: String(id) });
  const ROWS = [trade(1), trade(2), book(3, 1), book(4, 2), book(5, 1)];

  test.each([
    { first: ROWS, second: ROWS },
    { first: ROWS, second: ROWS.slice(1) },
    { first: ROWS.slice(0, 4), second: ROWS.slice(1) },
    { first: [...ROWS].reverse(), second: [...ROWS].reverse() },
  ])('of $first.length and $second.length records', async ({ first, second }) => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const paths = [first, second].map((rows, index) => {
      const path = join(directory.path, `${index}.ndjson`);
      writeFileSync(path, [MARKET, ...rows].join('\n'));
      return path;
    });
    await importPaths(place.archive, ...paths);
    expect(sizesIn(place.archive)).toEqual([1, 2, 1]);
    expect(tradesOf(place.archive, SLUG, 'up').map(({ id }) => id)).toEqual([1, 2]);
  });
});

describe('equal rows that are distinct trades', () => {
  const mapping = (more: string) => `format = "csv"
[time]
field = "t"
unit = "s"
[market]
slug = "slug"
[outcome]
value = "up"
[trades]
price = "price"
size = "size"
${more}`;
  const ROWS = ['t,slug,price,size', ...Array.from({ length: 4 }, () => `1776808300,${SLUG},0.5,10`)].join('\n');

  test.each([
    ['', 1],
    ['distinct = true', 4],
  ])('Equal rows are two trades if a mapping says that rows are distinct. (%j: %d)', async (more, stored) => {
    using place = temporaryArchive();
    await importMapped(place.archive, mapping(more), ROWS);
    expect(tradesOf(place.archive, SLUG, 'up')).toHaveLength(stored);
    expect((await importMapped(place.archive, mapping(more), ROWS)).total.stored).toBe(0);
    expect(tradesOf(place.archive, SLUG, 'up')).toHaveLength(stored);
  });

  test('are stored in any number, even if a batch ends between them', async () => {
    using place = temporaryArchive();
    const rows = ['t,slug,price,size', ...Array.from({ length: 9000 }, () => `1776808300,${SLUG},0.5,10`)].join('\n');
    await importMapped(place.archive, mapping('distinct = true'), rows);
    expect(tradesOf(place.archive, SLUG, 'up')).toHaveLength(9000);
  });

  test('distinct is true or false', () => {
    expect(refusalOfMapping(mapping('distinct = "yes"'))).toContain('trades.distinct must be true or false');
  });
});

describe('round', () => {
  const mapping = (round: string) => `format = "csv"
[time]
field = "t"
unit = "ms"
[market]
slug = "slug"
[outcome]
value = "up"
[books]
bids = { prices = "bp0..0", sizes = "bs0..0"${round} }
asks = { prices = "ap0..0", sizes = "as0..0" }`;
  const ROW = `t,slug,bp0,bs0,ap0,as0\n${AT_MS},${SLUG},0.49010007946879747,12.340000000000000001,,`;

  test('a figure with noise of floating point is refused, and the sentence proposes to round it', async () => {
    const [reason] = await rejectionsOf(mapping(''), ROW);
    expect(reason).toContain('0.49010007946879747 is not a decimal');
    expect(reason).toContain('state round in the mapping, for example round = 6');
  });

  test('keeps it as the mapping says', async () => {
    using place = temporaryArchive();
    expect((await importMapped(place.archive, mapping(', round = 4'), ROW)).rejections).toEqual([]);
    const [{ book } = { book: undefined }] = booksOf(place.archive, SLUG, 'up');
    expect(book).toMatchObject({ bidPrices: [0.4901], bidSizes: [12.34] });
  });

  test('a number of decimals that is none is refused', () => {
    expect(refusalOfMapping(mapping(', round = 13'))).toContain('books.bids.round must be a whole number from 0 to 12');
  });

  test('is exact and half away from zero', () => {
    expect(roundedDecimal('0.00005', 4)).toBe('0.0001');
    expect(roundedDecimal('-1.005', 2)).toBe('-1.01');
    expect(roundedDecimal('1e-7', 6)).toBe('0');
    expect(roundedDecimal('1.5e3', 0)).toBe('1500');
    expect(roundedDecimal('0x10', 2)).toBeUndefined();
    fc.assert(
      fc.property(fc.bigInt(-(10n ** 24n), 10n ** 24n), fc.integer({ min: 0, max: 12 }), (units, decimals) => {
        // Of 10^-18.
        const sign = units < 0n ? '-' : '';
        const digits = (units < 0n ? -units : units).toString().padStart(19, '0');
        const text = `${sign}${digits.slice(0, -18)}.${digits.slice(-18)}`;
        const [, kept = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(
          roundedDecimal(text, decimals)!,
        )!;
        const found = BigInt(kept + whole + fraction.padEnd(18, '0'));
        const step = 10n ** BigInt(18 - decimals);
        const off = found - units;
        expect(found % step).toBe(0n);
        expect((off < 0n ? -off : off) * 2n <= step).toBe(true);
      }),
    );
  });
});
