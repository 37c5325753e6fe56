import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DomainError } from '../../src/domain/errors.ts';
import { VarintReader, VarintWriter } from '../../src/segment/varint.ts';

const RUNS = { seed: 20260416, numRuns: 2000 };
const MAX = Number.MAX_SAFE_INTEGER;

type Item =
  | { readonly kind: 'unsigned'; readonly value: number }
  | { readonly kind: 'signed'; readonly value: number }
  | { readonly kind: 'double'; readonly value: number };

const power = fc.integer({ min: 0, max: 53 }).chain((bits) => fc.constantFrom(2 ** bits - 1, Math.min(2 ** bits, MAX)));
const unsigned = fc.oneof(fc.nat({ max: 300 }), fc.maxSafeNat(), power);
const item = fc.oneof<fc.Arbitrary<Item>[]>(
  unsigned.map((value) => ({ kind: 'unsigned', value })),
  fc
    .tuple(unsigned, fc.boolean())
    .map(([value, negative]) => ({ kind: 'signed', value: negative ? 0 - value : value })),
  fc.double().map((value) => ({ kind: 'double', value })),
);

function write(items: readonly Item[]): VarintWriter {
  const writer = new VarintWriter();
  for (const { kind, value } of items) writer[kind](value);
  return writer;
}

test('all numbers are read back in order, to the last byte', () => {
  fc.assert(
    fc.property(fc.array(item, { maxLength: 400 }), (items) => {
      const bytes = write(items).view();
      const reader = new VarintReader(bytes);
      for (const { kind, value } of items) expect(reader[kind]()).toBe(value);
      expect(reader.position).toBe(bytes.length);
    }),
    { ...RUNS, numRuns: 300 },
  );
});

test.each([0, 1, 63, 64, 127, 128, 8191, 8192, 2 ** 31, 2 ** 32, 2 ** 49, 2 ** 52, MAX - 1, MAX])(
  'the extremes: %p and its negative',
  (value) => {
    const reader = new VarintReader(
      write([
        { kind: 'unsigned', value },
        { kind: 'signed', value },
        { kind: 'signed', value: 0 - value },
      ]).view(),
    );
    expect([reader.unsigned(), reader.signed(), Math.abs(reader.signed())]).toEqual([value, value, value]);
  },
);

test.each<[number, number]>([
  [0, 1],
  [127, 1],
  [128, 2],
  [16_383, 2],
  [16_384, 3],
  [MAX, 8],
])('%p takes %p bytes', (value, bytes) => {
  expect(write([{ kind: 'unsigned', value }]).length).toBe(bytes);
});

test('bytes that end too early are refused, at any length', () => {
  fc.assert(
    fc.property(item, ({ kind, value }) => {
      const bytes = write([{ kind, value } as Item]).view();
      for (let length = 0; length < bytes.length; length += 1) {
        expect(() => new VarintReader(bytes.slice(0, length))[kind]()).toThrow(DomainError);
      }
    }),
    RUNS,
  );
});

describe('invalid numbers', () => {
  const high = (count: number, last: number) => Uint8Array.from([...new Array<number>(count).fill(0xff), last]);

  test.each([
    ['2^53', Uint8Array.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10])],
    ['56 bits', high(7, 0x7f)],
    ['a number without end', high(1000, 0xff)],
    ['a long number', high(40, 0x01)],
    ['zeros without end', new Uint8Array(1000).fill(0x80)],
  ])('are refused: %s', (_, bytes) => {
    expect(() => new VarintReader(bytes).unsigned()).toThrow(DomainError);
    expect(() => new VarintReader(Uint8Array.from([0xff, ...bytes])).signed()).toThrow(DomainError);
  });

  test('any bytes give a number or an error, of at most eight bytes (signed: nine)', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        for (const [kind, bytesMax] of [
          ['unsigned', 8],
          ['signed', 9],
          ['double', 8],
        ] as const) {
          const reader = new VarintReader(bytes);
          try {
            const value = reader[kind]();
            if (kind === 'unsigned') expect(Number.isSafeInteger(value) && value >= 0).toBe(true);
            expect(reader.position).toBeLessThanOrEqual(bytesMax);
          } catch (error) {
            expect(error).toBeInstanceOf(DomainError);
          }
        }
      }),
      RUNS,
    );
  });
});

test('truncated bytes are overwritten', () => {
  const writer = write([{ kind: 'unsigned', value: 300 }]);
  const { length } = writer;
  writer.unsigned(MAX);
  writer.truncate(length);
  writer.append(Uint8Array.from([5, 6]));
  const reader = new VarintReader(writer.view());
  expect([reader.unsigned(), reader.unsigned(), reader.unsigned()]).toEqual([300, 5, 6]);
  expect(() => reader.unsigned()).toThrow(DomainError);
});
