import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { JSON_VALUES_MAX, parseJsonExactly, refuseTooManyValues } from '../../../src/record/exact-json.ts';
import { exactOf } from '../../support/exact.ts';

const RUNS = { seed: 20260416, numRuns: 2000 };

/** Whether a number is what a double says of it, digit by digit; integers that are safe are. */
function isExact(source: string): boolean {
  const value = Number(source);
  if (!Number.isFinite(value)) return false;
  const written = exactOf(source);
  const held = exactOf(String(value));
  return written.digits === held.digits && (written.digits === 0n || written.exponent === held.exponent);
}

/** What JSON.parse itself says the numbers of a text are. */
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
/** Texts that hold what looks like numbers, quotes and names. */
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
      // JSON.parse forgets the values of a name that comes again.
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

test('a text is refused when one of its numbers is not what a double carries, wherever it is, and only then', () => {
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

test('the number that is refused is called by the name before it', () => {
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
  test.each(cases)('is refused beyond the bound, and not at it: %s', (_, text) => {
    const bound = 10_000;
    expect(refuses(() => refuseTooManyValues(`${text(bound)}${padding}`, bound))).toBe(false);
    expect(refuses(() => refuseTooManyValues(`${text(bound + 2)}${padding}`, bound))).toBe(true);
  });

  test('is not refused for commas and brackets in its texts', () => {
    const texts = `{"a":"${',[{'.repeat(JSON_VALUES_MAX)}\\",[","b":"\\\\"}`;
    expect(refuses(() => refuseTooManyValues(texts))).toBe(false);
  });

  test('is refused for as many different names, which one name many times is not', () => {
    const objects = (name: (index: number) => string) =>
      `[${Array.from({ length: 60_000 }, (_, index) => `{${JSON.stringify(name(index))} : 1}`).join(',')}]`;
    expect(refuses(() => refuseTooManyValues(objects(() => 'price')))).toBe(false);
    expect(refuses(() => refuseTooManyValues(objects((index) => `price of asset ${index}`)))).toBe(true);
  });
});
