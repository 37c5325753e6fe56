import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Packr } from 'msgpackr';
import { DomainError } from '../../../src/domain/errors.ts';
import {
  looksLikeMsgpackRecord,
  msgpackRecordsOf,
  NESTING_MAX,
  VALUE_BYTES_MAX,
} from '../../../src/import/parse/msgpack.ts';
import { sampleGap, sampleMarket, sampleSnapshot } from '../../support/sample-records.ts';

const RUNS = { seed: 20260416, numRuns: 200 };
const packr = new Packr({ useRecords: false, variableMapSize: true });
const bytes = (...values: number[]) => Uint8Array.from(values);
/** A map of one key, `k`, and a value given by its bytes. */
const holding = (...value: number[]) => bytes(0x81, 0xa1, 0x6b, ...value);
const repeated = (count: number, ...values: number[]) => Array.from({ length: count }, () => values).flat();

async function* pieces(stream: Uint8Array, ...sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let turn = 0; at < stream.length; turn += 1) {
    const size = Math.max(1, sizes[turn % sizes.length]!);
    yield stream.subarray(at, at + size);
    at += size;
  }
}

interface Read {
  /** The value of each record, or why it was rejected. */
  readonly records: unknown[];
  readonly numbers: number[];
  /** The error that ended the stream. */
  readonly end: string | undefined;
}

async function read(chunks: AsyncIterable<Uint8Array>): Promise<Read> {
  const records: unknown[] = [];
  const numbers: number[] = [];
  try {
    for await (const { number, value } of msgpackRecordsOf(chunks, 'the stream')) {
      numbers.push(number);
      records.push(outcomeOf(value));
    }
  } catch (error) {
    if (!(error instanceof DomainError) || error.kind !== 'unreadable') throw error;
    return { records, numbers, end: error.message };
  }
  return { records, numbers, end: undefined };
}

function outcomeOf(value: () => unknown): unknown {
  try {
    return value();
  } catch (error) {
    if (!(error instanceof DomainError) || error.kind !== 'rejected-record') throw error;
    return `refused: ${error.message}`;
  }
}

const jsonMap = fc.dictionary(
  fc.string({ maxLength: 40, unit: 'binary' }),
  fc.oneof(
    fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer({ min: -(2 ** 31), max: 2 ** 32 - 1 }),
    fc.string({ minLength: 200, maxLength: 400 }),
    fc.array(fc.record({ price: fc.double({ min: 0, max: 1, noNaN: true }), size: fc.nat() }), { maxLength: 40 }),
  ),
);

describe('a stream of records', () => {
  test('is decoded to the values that msgpackr packed, for every chunk size', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(jsonMap, { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        async (maps, sizes, smallMaps) => {
          const packer = smallMaps ? packr : new Packr({ useRecords: false });
          const stream = Buffer.concat(maps.map((map) => packer.pack(map)));
          const { records, numbers, end } = await read(pieces(stream, ...sizes));
          expect(end).toBeUndefined();
          expect(records.length).toBe(maps.length);
          expect(numbers).toEqual(maps.map((_, index) => index + 1));
          for (const [index, map] of maps.entries()) expect(sorted(records[index])).toEqual(sorted(map));
        },
      ),
      RUNS,
    );
  });

  test('may be empty', async () => {
    expect(await read(pieces(bytes(), 1))).toEqual({ records: [], numbers: [], end: undefined });
  });

  test('keeps the records before the place where it is cut off', async () => {
    const maps = [sampleMarket(), sampleSnapshot(), sampleGap()];
    const packed = maps.map((map) => packr.pack(map));
    const stream = Buffer.concat(packed);
    for (let length = 0; length < stream.length; length += 1) {
      const ends = packed.map((_, index) => Buffer.concat(packed.slice(0, index + 1)).length);
      const whole = ends.filter((end) => end <= length).length;
      const atBoundary = length === 0 || ends.includes(length);
      const { records, end } = await read(pieces(stream.subarray(0, length), 97));
      expect(records).toEqual(maps.slice(0, whole));
      if (atBoundary) expect(end).toBeUndefined();
      else expect(end).toStartWith(`the stream is cut off at record ${whole + 1}:`);
    }
  });

  test('ends at a byte that msgpack never uses', async () => {
    const stream = Buffer.concat([packr.pack(sampleGap()), bytes(0x81, 0xa1, 0x6b, 0xc1, 0x80)]);
    const { records, end } = await read(pieces(stream, 3));
    expect(records).toEqual([sampleGap()]);
    expect(end).toStartWith('the stream is not msgpack at record 2:');
  });
});

describe('only the value that JSON cannot represent is rejected', () => {
  const cases: readonly (readonly [string, Uint8Array, string])[] = [
    ['NaN as 64 bits', holding(0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0), 'the number NaN'],
    ['NaN as 32 bits', holding(0xca, 0x7f, 0xc0, 0, 0), 'the number NaN'],
    ['Infinity', holding(0xcb, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0), 'the number Infinity'],
    ['-Infinity as 32 bits', holding(0xca, 0xff, 0x80, 0, 0), 'the number -Infinity'],
    ['2^53', holding(0xcf, 0, 0x20, 0, 0, 0, 0, 0, 0), '9007199254740992, which is beyond 2^53-1'],
    ['2^64-1', holding(0xcf, ...repeated(8, 0xff)), '18446744073709551615, which is beyond 2^53-1'],
    ['-2^53', holding(0xd3, 0xff, 0xe0, 0, 0, 0, 0, 0, 0), '-9007199254740992, which is beyond 2^53-1'],
    ['binary data', holding(0xc4, 1, 7), 'binary data'],
    ['long binary data', holding(0xc6, 0, 0, 0, 1, 7), 'binary data'],
    ['a timestamp extension', holding(0xd6, 0xff, 0, 0, 0, 1), 'an extension type'],
    ['an extension of 8 bits', holding(0xc7, 2, 9, 1, 2), 'an extension type'],
    ['an extension of 16 bytes', holding(0xd8, 9, ...repeated(16, 0)), 'an extension type'],
    ['text that is not UTF-8', holding(0xa1, 0xff), 'not UTF-8'],
    ['a key that is not UTF-8', bytes(0x81, 0xa1, 0xff, 0x01), 'not UTF-8'],
    ['a key that is a number', bytes(0x81, 0x01, 0x01), 'a key that is not text'],
    ['a key that is binary', bytes(0x81, 0xc4, 1, 0x6b, 0x01), 'a key that is not text'],
    ['a key twice', bytes(0x82, 0xa1, 0x6b, 0x01, 0xa1, 0x6b, 0x02), "it has the key 'k' twice"],
    ['a key twice in two spellings', bytes(0x82, 0xa1, 0x6b, 0x01, 0xd9, 1, 0x6b, 0x02), "it has the key 'k' twice"],
    ['a key twice, deep inside', holding(0x91, 0x82, 0xa1, 0x6b, 0x01, 0xa1, 0x6b, 0x02), "it has the key 'k' twice"],
    [
      '__proto__ twice',
      Buffer.concat([bytes(0x82), ...repeatedKey('__proto__', 2)]),
      "it has the key '__proto__' twice",
    ],
    ['arrays one too deep', holding(...repeated(NESTING_MAX, 0x91), 0x01), 'nested more than 64 deep'],
    ['maps one too deep', Buffer.concat([...nestedMaps(NESTING_MAX + 1), bytes(0x01)]), 'nested more than 64 deep'],
    ['a thousand levels', holding(...repeated(1000, 0x91), 0x01), 'nested more than 64 deep'],
    ['a number alone', bytes(0x2a), 'the value is not a map'],
    ['a text alone', bytes(0xa1, 0x6b), 'the value is not a map'],
    ['an array', bytes(0x91, 0x01), 'the value is not a map'],
    ['nothing', bytes(0xc0), 'the value is not a map'],
  ];

  test.each(cases)('%s', async (_, refused, reason) => {
    const stream = Buffer.concat([packr.pack({ first: 1 }), refused, packr.pack({ last: 3 })]);
    for (const size of [1, 1000]) {
      const { records, numbers, end } = await read(pieces(stream, size));
      expect(end).toBeUndefined();
      expect(numbers).toEqual([1, 2, 3]);
      expect(records[0]).toEqual({ first: 1 });
      expect(records[1]).toStartWith('refused: ');
      expect(records[1]).toContain(reason);
      expect(records[2]).toEqual({ last: 3 });
    }
  });
});

describe('unusual but exact values are kept', () => {
  test.each<[string, Uint8Array, unknown]>([
    ['2^53-1', holding(0xcf, 0, 0x1f, ...repeated(6, 0xff)), Number.MAX_SAFE_INTEGER],
    ['-2^53+1', holding(0xd3, 0xff, 0xe0, 0, 0, 0, 0, 0, 1), -Number.MAX_SAFE_INTEGER],
    ['a small number in 64 bits', holding(0xcf, 0, 0, 0, 0, 0, 0, 0, 5), 5],
    [
      'every width of integers',
      holding(0x96, 0xcc, 200, 0xcd, 1, 0, 0xce, 0, 1, 0, 0, 0xd0, 0xff, 0xd1, 0xff, 0, 0xd2, 0xff, 0xff, 0, 0),
      [200, 256, 65536, -1, -256, -65536],
    ],
    ['a double of 32 bits', holding(0xca, 0x3f, 0, 0, 0), 0.5],
    ['long text', holding(0xdb, 0, 0, 0, 1, 0x61), 'a'],
    ['a byte order mark', holding(0xa3, 0xef, 0xbb, 0xbf), '\ufeff'],
    ['an empty key', Buffer.concat([bytes(0x81, 0xa1, 0x6b), bytes(0x81, 0xa0, 0x01)]), { '': 1 }],
    ['arrays just deep enough', holding(...repeated(NESTING_MAX - 2, 0x91), 0x90), nestedArrays(NESTING_MAX - 1)],
    ['booleans and nil', holding(0x93, 0xc2, 0xc3, 0xc0), [false, true, null]],
    ['long arrays and maps', holding(0xdd, 0, 0, 0, 1, 0xdf, 0, 0, 0, 1, 0xa1, 0x61, 0xdc, 0, 0), [{ a: [] }]],
  ])('%s', async (_, stream, value) => {
    expect((await read(pieces(stream, 1))).records).toEqual([{ k: value }]);
  });

  test('__proto__ is a field like any other', async () => {
    const { records } = await read(pieces(Buffer.concat([bytes(0x81), ...repeatedKey('__proto__', 1)]), 5));
    const record = records[0] as object;
    expect(Object.getPrototypeOf(record)).toBe(Object.prototype);
    expect(Object.keys(record)).toEqual(['__proto__']);
  });
});

describe('memory stays bounded', () => {
  /** A map whose one value is a text of `length` bytes, in chunks, without ever being whole. */
  async function* longText(length: number): AsyncGenerator<Uint8Array> {
    const size = Buffer.alloc(4);
    size.writeUInt32BE(length);
    yield Buffer.concat([bytes(0x81, 0xa1, 0x6b, 0xdb), size]);
    const chunk = new Uint8Array(1024 * 1024).fill(0x61);
    for (let left = length; left > 0; left -= chunk.length) yield chunk.subarray(0, Math.min(left, chunk.length));
  }

  async function* both(first: AsyncIterable<Uint8Array>, then: Uint8Array): AsyncGenerator<Uint8Array> {
    yield* first;
    yield then;
  }

  test('a record of the maximum length is kept, one a byte longer is rejected, and the next one is read', async () => {
    const header = 8;
    const kept = await read(both(longText(VALUE_BYTES_MAX - header), packr.pack({ next: 1 })));
    expect((kept.records[0] as { k: string }).k.length).toBe(VALUE_BYTES_MAX - header);
    expect(kept.records[1]).toEqual({ next: 1 });
    const refused = await read(both(longText(VALUE_BYTES_MAX - header + 1), packr.pack({ next: 1 })));
    expect(refused).toEqual({
      records: [`refused: the record is longer than ${VALUE_BYTES_MAX} bytes`, { next: 1 }],
      numbers: [1, 2],
      end: undefined,
    });
  });

  test('a record of a gigabyte is not collected', async () => {
    const before = process.memoryUsage.rss();
    const { records } = await read(both(longText(1024 * 1024 * 1024), packr.pack({ next: 1 })));
    expect(records[1]).toEqual({ next: 1 });
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
  });

  test.each([
    ['an array of 2^32-1 items', bytes(0xdd, 0xff, 0xff, 0xff, 0xff)],
    ['a map of 2^32-1 pairs', bytes(0xdf, 0xff, 0xff, 0xff, 0xff)],
    ['a text of 2^32-1 bytes', bytes(0xdb, 0xff, 0xff, 0xff, 0xff)],
    ['arrays within arrays without end', Uint8Array.from(repeated(100_000, 0x91))],
    ['lengths that add up beyond any number', Uint8Array.from(repeated(50_000, 0xdd, 0xff, 0xff, 0xff, 0xff))],
  ])('%s that never come are a stream that is cut off', async (_, stream) => {
    const { records, end } = await read(pieces(stream, 4096));
    expect(records).toEqual([]);
    expect(end).toContain('is cut off at record 1');
  });
});

test('any bytes give records or an unreadable stream, and always an end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 1, max: 50 }), async (stream, size) => {
      const { records, end } = await read(pieces(stream, size));
      expect(records.length).toBeLessThanOrEqual(stream.length);
      if (end === undefined && stream.length > 0) expect(records.length).toBeGreaterThan(0);
      looksLikeMsgpackRecord(stream);
    }),
    { ...RUNS, numRuns: 2000 },
  );
});

describe('recognition', () => {
  test.each<[string, Uint8Array, boolean]>([
    ['a market', packr.pack(sampleMarket()), true],
    ['a snapshot', packr.pack(sampleSnapshot()), true],
    ['its first bytes', packr.pack(sampleSnapshot()).subarray(0, 40), true],
    ['a record whose type comes late', packr.pack({ id: '5', levels: [{ price: 1 }], type: 'gap' }), true],
    ['a map of 16 bits', new Packr({ useRecords: false }).pack(sampleGap()), true],
    ['another type', packr.pack({ type: 'trade' }), false],
    ['a type that every object has', packr.pack({ type: 'toString' }), false],
    ['a type that is no text', packr.pack({ type: 1 }), false],
    ['a map without type', packr.pack({ kind: 'market' }), false],
    ['a text of JSON', Buffer.from(JSON.stringify(sampleMarket())), false],
    ['an array of records', packr.pack([sampleMarket()]), false],
    ['nothing', bytes(), false],
    ['gzip', Bun.gzipSync('{"type":"market"}'), false],
    ['too little to say', packr.pack(sampleMarket()).subarray(0, 5), false],
  ])('%s: %#', (_, head, expected) => {
    expect(looksLikeMsgpackRecord(head)).toBe(expected);
  });
});

function repeatedKey(key: string, count: number): Buffer[] {
  return Array.from({ length: count }, () => Buffer.concat([bytes(0xa0 | key.length), Buffer.from(key), bytes(0x01)]));
}

function nestedMaps(depth: number): Uint8Array[] {
  return Array.from({ length: depth }, () => holding());
}

function nestedArrays(depth: number): unknown {
  return depth === 1 ? [] : [nestedArrays(depth - 1)];
}

/** A text that is equal for equal values, independent of the order of keys. */
function sorted(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, inner: unknown) => inner));
}
