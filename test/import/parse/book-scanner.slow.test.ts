import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { DomainError } from '../../../src/domain/errors.ts';
import type { OrderBook } from '../../../src/domain/orderbook.ts';
import { parseRecord } from '../../../src/import/codecs/ndjson.ts';
import { BookScanner } from '../../../src/import/parse/book-scanner.ts';
import { visitLines } from '../../../src/import/parse/lines.ts';
import { parseJsonExactly } from '../../../src/record/exact-json.ts';
import type { RecordedItem } from '../../../src/record/record.ts';
import { importBytes, temporaryArchive } from '../../support/archive.ts';
import { type BookStyle, randomBooks, randomsOf } from '../../support/random-books.ts';
import {
  CONDITION_ID,
  DOWN_ASSET,
  START_MS,
  sampleMarket,
  sampleSnapshot,
  UP_ASSET,
} from '../../support/sample-records.ts';

const RUNS = { seed: 20_260_416, numRuns: 150 };

/** The result of the scanner for a line, if it scanned it, and the result of `parseRecord`. */
interface Reading {
  readonly scanned: RecordedItem | undefined;
  readonly parsed: RecordedItem | 'rejected';
}

/** Reads every line with one scanner, in chunks of `chunkBytes`. */
async function readingsOf(lines: readonly (string | Uint8Array)[], chunkBytes: number): Promise<Reading[]> {
  const bytes = Buffer.concat(lines.flatMap((line) => [Buffer.from(line), Buffer.from('\n')]));
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield new Uint8Array(bytes.subarray(at, at + chunkBytes));
  }
  const scanner = BookScanner.ofSnapshots();
  const readings: Reading[] = [];
  await visitLines(chunks(), (line) => {
    const scanned = scanner.scan(line);
    readings.push({ scanned, parsed: parsedOrRejected(() => parseRecord(parseJsonExactly(line.text()))) });
  });
  return readings;
}

function parsedOrRejected(parse: () => RecordedItem): RecordedItem | 'rejected' {
  try {
    return parse();
  } catch (error) {
    if (error instanceof DomainError && error.kind === 'rejected-record') return 'rejected';
    throw error;
  }
}

/** The style in which a recorder writes its lines. */
interface Hand {
  /** Separators after keys and members, as in JSON.stringify or Python. */
  readonly spaced: boolean;
  readonly numbers: 'numbers' | 'texts' | 'trailing zeros';
  readonly order: 'best first' | 'worst first' | 'any';
  /** The order of the fields, and additional fields. */
  readonly fields: 'as exported' | 'sides first' | 'with others';
}

const hand: fc.Arbitrary<Hand> = fc.record({
  spaced: fc.boolean(),
  numbers: fc.constantFrom('numbers', 'numbers', 'texts', 'trailing zeros'),
  order: fc.constantFrom('best first', 'best first', 'worst first', 'any'),
  fields: fc.constantFrom('as exported', 'sides first', 'with others'),
});

const style: fc.Arbitrary<BookStyle> = fc.record({
  priceScale: fc.constantFrom(1, 2, 4, 12),
  sizes: fc.constantFrom('whole', 'cents', 'millionths', 'mixed', 'extremes'),
  levelsMax: fc.constantFrom(1, 3, 60),
  changesMax: fc.constantFrom(0, 2, 10),
});

/** Plain digits; other tests cover exponents and signs. */
function decimalText(value: number): string {
  return String(value).includes('e') ? value.toFixed(12).replace(/0+$/, '') : String(value);
}

function written(value: number, numbers: Hand['numbers']): string {
  const text = decimalText(value);
  if (numbers === 'texts') return `"${text}"`;
  return numbers === 'numbers' ? text : `${text}${text.includes('.') ? '' : '.'}00`;
}

function sideText(prices: readonly number[], sizes: readonly number[], { spaced, numbers, order }: Hand, seed: number) {
  const [colon, comma] = spaced ? [': ', ', '] : [':', ','];
  const levels = prices.map(
    (price, i) => `{"price"${colon}${written(price, numbers)}${comma}"size"${colon}${written(sizes[i]!, numbers)}}`,
  );
  const random = randomsOf(seed);
  if (order === 'worst first') levels.reverse();
  if (order === 'any') levels.sort(() => random() - 0.5);
  return `[${levels.join(comma)}]`;
}

function lineOf(book: OrderBook, i: number, outcome: string, by: Hand): string {
  const timestamp = new Date(START_MS + i * 37_123).toISOString();
  const literals: Record<string, string> = {
    '@bids': sideText(book.bidPrices, book.bidSizes, by, i),
    '@asks': sideText(book.askPrices, book.askSizes, by, i + 1),
  };
  const sides = { bids: '@bids', asks: '@asks' };
  const names = { conditionId: CONDITION_ID, outcome, timestamp };
  const assetId = outcome === 'up' ? UP_ASSET : DOWN_ASSET;
  const record = {
    'as exported': { type: 'snapshot', id: String(i + 1), ...names, ...sides },
    'sides first': { asks: '@asks', bids: '@bids', ...names, type: 'snapshot' },
    'with others': {
      hash: 'ab12',
      id: i + 1,
      type: 'snapshot',
      assetId,
      ...names,
      sequence: i,
      ...sides,
      mirrored: i % 2 === 0,
    },
  }[by.fields];
  const json = by.spaced ? JSON.stringify(record, null, 1).replace(/\n */g, ' ') : JSON.stringify(record);
  return json.replace(/"(@\w+)"/g, (_, name: string) => literals[name]!);
}

/** Books of both outcomes of one market, as a recorder writes them. */
const recording = fc
  .tuple(fc.nat(), fc.integer({ min: 1, max: 12 }), style, hand)
  .map(([seed, count, books, by]) =>
    ['up', 'down'].flatMap((outcome, k) =>
      randomBooks(seed + k, count, books).map((book, i) => ({
        at: 2 * i + k,
        text: lineOf(book, 2 * i + k, outcome, by),
      })),
    ),
  )
  .map((lines) => lines.toSorted((a, b) => a.at - b.at).map(({ text }) => text));

describe('the result of the scanner', () => {
  test('is that of parseRecord, for lines of any recorder', async () => {
    await fc.assert(
      fc.asyncProperty(recording, fc.integer({ min: 1, max: 5000 }), async (lines, chunkBytes) => {
        for (const { scanned, parsed } of await readingsOf(lines, chunkBytes)) {
          if (scanned !== undefined) expect(scanned).toEqual(parsed as RecordedItem);
        }
      }),
      RUNS,
    );
  });

  test('is that of parseRecord also for lines with damaged bytes, and after such a line', async () => {
    const damage = fc.record({
      line: fc.nat(),
      at: fc.nat(),
      taken: fc.constantFrom(0, 0, 1, 1, 2, 30),
      put: fc.oneof(
        fc.constantFrom(...'09.-e",{}[]: \t\\é', '0.5', 'null'),
        fc.constantFrom('"bids":[],', '{"price":0.5,"size":1},', ',"id":"0"', '"type":"quote",', '\u0000', '\r'),
        fc.constant(''),
      ),
    });
    await fc.assert(
      fc.asyncProperty(recording, fc.array(damage, { minLength: 1, maxLength: 6 }), async (lines, damages) => {
        const damaged = [...lines];
        for (const { line, at, taken, put } of damages) {
          const text = lines[line % lines.length]!;
          const from = at % (text.length + 1);
          damaged[line % lines.length] = `${text.slice(0, from)}${put}${text.slice(from + taken)}`;
        }
        for (const { scanned, parsed } of await readingsOf(damaged, 100_000)) {
          if (scanned !== undefined) expect(scanned).toEqual(parsed as RecordedItem);
        }
      }),
      { ...RUNS, numRuns: 700 },
    );
  });

  test('is not copied from the line before if a single byte of a level differs', async () => {
    const text = JSON.stringify(sampleSnapshot({ bids: [51, 50, 49, 48].map((n) => ({ price: n / 100, size: n })) }));
    const digits = [...text.matchAll(/\d/g)].map(({ index }) => index);
    for (const at of digits) {
      const changed = `${text.slice(0, at)}${(Number(text[at]) + 1) % 10}${text.slice(at + 1)}`;
      for (const { scanned, parsed } of await readingsOf([text, changed, text], 100_000)) {
        if (scanned !== undefined) expect(scanned).toEqual(parsed as RecordedItem);
      }
    }
  });
});

describe('a line is scanned', () => {
  const snapshot = JSON.stringify(sampleSnapshot());
  const spaced = snapshot.replaceAll(':', ': ').replaceAll(',', ', ').replaceAll('T07: 10: 04', 'T07:10:04');
  const plain: [string, string][] = [
    ['as JSON.stringify writes it', snapshot],
    ['with spaces, as other languages write it', spaced],
    ['with tabs and a carriage return', `\t${snapshot.replaceAll(',', ',\t')}\r`.slice(1)],
    ['with decimals in quotes', snapshot.replace(/:(\d+(?:\.\d+)?)(?=[,}])/g, ':"$1"')],
    ['with the worst level first', JSON.stringify(sampleSnapshot({ bids: [...sampleSnapshot().bids].reverse() }))],
    ['with sides that are empty', JSON.stringify(sampleSnapshot({ bids: [], asks: [] }))],
    [
      'with prices 0 and 1',
      JSON.stringify(sampleSnapshot({ bids: [{ price: 0, size: 1 }], asks: [{ price: 1, size: 1 }] })),
    ],
    ['with an id and an asset', JSON.stringify({ ...sampleSnapshot({ id: '17', assetId: UP_ASSET }) })],
    ['with an id that is a number', JSON.stringify(sampleSnapshot({ id: 17 }))],
    ['with the additional fields of the API', JSON.stringify(sampleSnapshot({ symbol: 'btc', timeframe: '5m' }))],
    ['with integer milliseconds', JSON.stringify(sampleSnapshot({ timestamp: START_MS }))],
    ['with integer milliseconds in quotes', JSON.stringify(sampleSnapshot({ timestamp: String(START_MS) }))],
    ['with a time of whole seconds', JSON.stringify(sampleSnapshot({ timestamp: '2026-04-16T07:10:04Z' }))],
    [
      'with a time of microseconds and an offset',
      JSON.stringify(sampleSnapshot({ timestamp: '2026-04-16T09:10:04.123456+02:00' })),
    ],
    ['as a mirrored one', JSON.stringify(sampleSnapshot({ mirrored: true }))],
    ['with its sides before its names', JSON.stringify(Object.fromEntries(Object.entries(sampleSnapshot()).reverse()))],
  ];
  test.each(plain)('%s, also a second time', async (_, line) => {
    for (const { scanned, parsed } of await readingsOf([line, line], 100_000)) {
      expect(scanned).toEqual(parsed as RecordedItem);
    }
  });

  test('of a hundred markets in turn, more than are kept', async () => {
    const lines = Array.from({ length: 400 }, (_, i) =>
      JSON.stringify(sampleSnapshot({ conditionId: `0x${(i % 100).toString(16)}`, timestamp: START_MS + i })),
    );
    for (const { scanned, parsed } of await readingsOf(lines, 1000)) expect(scanned).toEqual(parsed as RecordedItem);
  });
});

describe('a line is left to parseRecord', () => {
  const snapshot = JSON.stringify(sampleSnapshot());
  const without = (name: string) => JSON.stringify({ ...sampleSnapshot(), [name]: undefined });
  const left: [string, string | Uint8Array][] = [
    ['that is another record', JSON.stringify(sampleMarket())],
    ['that is not an object', `[${snapshot}]`],
    ['with something after it', `${snapshot}x`],
    ['that is cut off', snapshot.slice(0, -1)],
    ['with a byte order mark', `\ufeff${snapshot}`],
    [
      'that is not UTF-8',
      Buffer.concat([Buffer.from(snapshot.slice(0, -1)), Buffer.from([0x2c, 0x22, 0xff, 0x22, 0x7d])]),
    ],
    ...['type', 'conditionId', 'outcome', 'timestamp', 'bids', 'asks'].map((name): [string, string] => [
      `without ${name}`,
      without(name),
    ]),
    ['with a field twice', snapshot.replace('{', '{"outcome":"down",')],
    ['with an escape in a key', snapshot.replace('"bids"', '"bi\\u0064s"')],
    ['with a level of size 0', JSON.stringify(sampleSnapshot({ asks: [{ price: 0.5, size: 0 }] }))],
    ['with a price twice', snapshot.replace('0.5,', '0.51,')],
    ['with a price above 1', snapshot.replace('0.52', '1.01')],
    ['with a negative size', snapshot.replace('7.25', '-7.25')],
    ['with an exponent', snapshot.replace('7.25', '725e-2')],
    ['with a superfluous zero', snapshot.replace('7.25', '07.25')],
    ['with a number that ends in a point', snapshot.replace('7.25', '7.')],
    ['with 16 digits', snapshot.replace('7.25', '7.250000000000001')],
    ['with 13 decimals', snapshot.replace('7.25', '7.2500000000001')],
    ['with a quote on one side of a number', snapshot.replace('7.25', '"7.25')],
    ['with an impossible date', JSON.stringify(sampleSnapshot({ timestamp: '2026-02-30T07:10:04.123Z' }))],
    ['with the second 60', JSON.stringify(sampleSnapshot({ timestamp: '2026-04-16T07:10:60.000Z' }))],
    ['with Unix seconds', JSON.stringify(sampleSnapshot({ timestamp: 1_776_323_404 }))],
    ['with the id 0', JSON.stringify(sampleSnapshot({ id: '0' }))],
    ['with an invalid conditionId', JSON.stringify(sampleSnapshot({ conditionId: 'btc' }))],
    ['with levels that have more than price and size', snapshot.replace('"size":7.25', '"size":7.25,"orders":3')],
    ['longer than any book', JSON.stringify(sampleSnapshot({ note: 'x'.repeat(64 * 1024) }))],
  ];
  test.each(left)('%s, and the next one is read', async (_, line) => {
    const [first, bad, next] = await readingsOf([snapshot, line, snapshot], 100_000);
    expect(bad!.scanned).toBeUndefined();
    expect(first!.scanned).toEqual(first!.parsed as RecordedItem);
    expect(next!.scanned).toEqual(next!.parsed as RecordedItem);
  });
});

describe('an archive', () => {
  /** Every segment, byte for byte. */
  function segmentsIn(data: string): unknown[] {
    using database = new Database(join(data, 'bookreel.db'), { readwrite: true });
    return database
      .query(
        `SELECT kind, outcome, first_ms, first_id, last_ms, last_id, records, hex(digest) AS digest, hex(payload) AS payload
         FROM segments JOIN series USING (series_id) ORDER BY kind, outcome, last_ms, last_id`,
      )
      .all();
  }

  test.each<BookStyle['sizes']>(['cents', 'mixed', 'extremes'])(
    'has the same segments whether its lines were scanned or parsed: sizes that are %s',
    async (sizes) => {
      const by: Hand = { spaced: false, numbers: 'numbers', order: 'best first', fields: 'as exported' };
      const books = randomBooks(7, 700, { priceScale: 2, sizes, levelsMax: 40, changesMax: 3 });
      const lines = books.map((book, i) => lineOf(book, i, i % 5 === 0 ? 'down' : 'up', by));
      // With late and repeated ones, and several of one timestamp.
      const snapshots = [
        ...lines.slice(300),
        ...lines.slice(0, 350),
        lines[3]!.replace('"bids":[', '"bids":[{"price":1,"size":9},'),
      ];
      const market = JSON.stringify(sampleMarket());
      const archives = [snapshots, snapshots.map((line) => line.replace('{', '{"note":null,'))].map(async (records) => {
        using place = temporaryArchive();
        const { total } = await importBytes(place.archive, [market, ...records].join('\n'));
        return { total, segments: segmentsIn(place.path) };
      });
      const [scanned, parsed] = await Promise.all(archives);
      expect(scanned!.total.stored).toBeGreaterThan(650);
      expect(scanned!.segments.length).toBeGreaterThan(12);
      expect(scanned).toEqual(parsed!);
    },
  );
});
