import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { JSON_VALUES_MAX, parseJsonExactly, refuseTooManyValues } from '../../../src/record/exact-json.ts';
import { exactOf } from '../../support/exact.ts';

const RUNS = { seed: 20260416, numRuns: 2000 };

/** Whether a double represents a number digit by digit; safe integers do. */
function isExact(source: string): boolean {
  const value = Number(source);
  if (!Number.isFinite(value)) return false;
  const written = exactOf(source);
  const read = exactOf(String(value));
  return written.digits === read.digits && (written.digits === 0n || written.exponent === read.exponent);
}

/** The numbers of a text according to JSON.parse. */
function numbersIn(text: string): string[] {
  const numbers: string[] = [];
  JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    if (typeof value === 'number') numbers.push(context?.source ?? '');
    return value;
  });
  return numbers;
}

const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${max}}$`));
const wholeNumber = fc.oneof(fc.constant('0'), fc.stringMatching(/^[1-9][0-9]{0,18}$/));
const numberText = fc
  .tuple(fc.boolean(), wholeNumber, fc.option(digits(18)), fc.option(fc.integer({ min: -30, max: 30 })))
  .map(([negative, whole, fraction, exponent]) =>
    [negative ? '-' : '', whole, fraction === null ? '' : `.${fraction}`, exponent === null ? '' : `e${exponent}`].join(
      '',
    ),
  );
/** Texts with content that looks like numbers, quotes and names. */
const wordText = fc
  .oneof(fc.string(), fc.constantFrom('1e999', '":1e999', '\\"', '\\', '"', '{"a":0.1234567890123456789'))
  .map((word) => JSON.stringify(word));
const { document } = fc.letrec<{ document: string }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 4 },
    numberText,
    wordText,
    fc.constantFrom('true', 'null'),
    fc.array(tie('document'), { maxLength: 4 }).map((items) => `[${items.join(' , ')}]`),
    fc
      // JSON.parse drops the earlier values of a repeated name.
      .uniqueArray(fc.tuple(wordText, tie('document')), { maxLength: 4, selector: ([name]) => name })
      .map((fields) => `{${fields.map(([name, value]) => `${name} : ${value}`).join(',')}}`),
  ),
}));

function refuses(check: () => void): boolean {
  try {
    check();
    return false;
  } catch {
    return true;
  }
}

test('a text is rejected only if a double cannot represent one of its numbers, at any place', () => {
  let refused = 0;
  fc.assert(
    fc.property(document, (text) => {
      const expected = !numbersIn(text).every(isExact);
      expect(refuses(() => parseJsonExactly(`[${text}]`))).toBe(expected);
      if (expected) refused += 1;
    }),
    RUNS,
  );
  expect(refused).toBeGreaterThan(RUNS.numRuns / 20);
});

test('the reason names the field of the rejected number', () => {
  expect(() => parseJsonExactly('{"bids":[{"price" : 0.12345678901234567}]}')).toThrow(
    'price 0.12345678901234567 has more digits than can be kept exactly',
  );
});

describe('a text of too many values', () => {
  const padding = ' '.repeat(1_000_000);
  const cases: [what: string, text: (count: number) => string][] = [
    ['numbers', (count) => `[${'1,'.repeat(count - 2)}1]`],
    ['empty arrays', (count) => `[${'[],'.repeat(count / 2 - 1)}0]`],
    ['open brackets', (count) => '['.repeat(count - 1)],
  ];
  test.each(cases)('is rejected beyond the maximum, and not at it: %s', (_, text) => {
    const bound = 10_000;
    expect(refuses(() => refuseTooManyValues(`${text(bound)}${padding}`, bound))).toBe(false);
    expect(refuses(() => refuseTooManyValues(`${text(bound + 2)}${padding}`, bound))).toBe(true);
  });

  test('is not rejected for commas and brackets in its texts', () => {
    const texts = `{"a":"${',[{'.repeat(JSON_VALUES_MAX)}\\",[","b":"\\\\"}`;
    expect(refuses(() => refuseTooManyValues(texts))).toBe(false);
  });

  test('is rejected for too many different names, but not for one name many times', () => {
    const objects = (name: (index: number) => string) =>
      `[${Array.from({ length: 60_000 }, (_, index) => `{${JSON.stringify(name(index))} : 1}`).join(',')}]`;
    expect(refuses(() => refuseTooManyValues(objects(() => 'price')))).toBe(false);
    expect(refuses(() => refuseTooManyValues(objects((index) => `price of asset ${index}`)))).toBe(true);
  });
});
