import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseInstant, parseIso } from '../../src/domain/instant.ts';
import { INSTANT_PATTERN, ISO_PATTERN } from '../../src/http/parameters/instant-pattern.ts';
import { PARAMETER_ROWS } from '../contract/parameter-table.ts';
import { apiDocument, operationsOf, parametersOf, type Schema } from '../support/api-document.ts';

const DOCUMENT = await apiDocument();
const SCHEMAS: ReadonlyMap<string, Schema> = new Map(
  operationsOf(DOCUMENT).flatMap((operation) =>
    parametersOf(DOCUMENT, operation)
      // A list of instants has the name that one instant has in a path: the table is about that.
      .filter(({ name, in: where }) => name !== 'ts' || where === 'path')
      .map(({ name, schema }) => [name, schema] as const),
  ),
);

/** Whether a text in a URL is the canonical spelling of a value of the schema. */
function isSpelling(text: string, { anyOf, type, minimum = 0, maximum = 0, pattern, enum: words }: Schema): boolean {
  if (anyOf !== undefined) return anyOf.some((schema) => isSpelling(text, schema));
  if ([type].flat().includes('integer')) {
    const isPlain = /^(0|[1-9]\d*)$/.test(text) && BigInt(text) >= minimum && BigInt(text) <= maximum;
    return isPlain || (text === 'null' && [type].flat().includes('null'));
  }
  return (words === undefined || words.includes(text)) && (pattern === undefined || new RegExp(pattern).test(text));
}

test('The schema of a parameter accepts exactly the spellings that the service accepts, but for those that words describe.', () => {
  const differing = PARAMETER_ROWS.filter(({ parameter, spelling, status }) => {
    const schema = SCHEMAS.get(parameter.split(' ')[0]!)!;
    return isSpelling(spelling, schema) !== (status === 200);
  });
  const spelled = differing.map(({ parameter, spelling }) => `${parameter.split(' ')[0]}=${spelling}`);
  expect([...new Set(spelled)].sort()).toEqual(
    [
      // Outcomes are compared in lower case; skip may be left empty: the description says so.
      ...['outcome', 'winner'].flatMap((name) => ['UP', 'Down', 'uP'].map((text) => `${name}=${text}`)),
      'skip=',
      // Only the service knows its valid cursors.
      'cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAA',
      // The ends of time, moved over them by an offset.
      ...['from', 'to', 'ts'].flatMap((name) =>
        ['1970-01-01T00:00:00+01:00', '9999-12-31T23:59:59-01:00'].map((text) => `${name}=${text}`),
      ),
    ].sort(),
  );
});

const digits = (least: number, most: number, length: number) =>
  fc.integer({ min: least, max: most }).map((value) => String(value).padStart(length, '0'));
const zone = fc.oneof(
  fc.constant('Z'),
  fc.tuple(fc.constantFrom('+', '-'), digits(0, 25, 2), digits(0, 61, 2)).map(([sign, h, m]) => `${sign}${h}:${m}`),
);
const fraction = fc.oneof(
  fc.constant(''),
  fc.integer({ min: 0, max: 10 }).map((n) => `.${'7'.repeat(n)}`),
);
/** Times, and texts that resemble times. */
const times = fc
  .tuple(digits(1960, 10010, 4), digits(0, 13, 2), digits(0, 32, 2), digits(0, 25, 2), digits(0, 61, 2), fraction, zone)
  .chain(([year, month, day, hour, minute, part, offset]) =>
    fc.constantFrom(
      `${year}-${month}-${day}`,
      `${year}-${month}-${day}T${hour}:${minute}${offset}`,
      `${year}-${month}-${day}T${hour}:${minute}:${minute}${part}${offset}`,
    ),
  );
/** An offset can leave the first and the last day, which a pattern cannot express. */
const isAtTheEnds = (text: string) => /^(1970-01-01|9999-12-31)/.test(text);

test('the pattern of a time matches exactly the times that are read', () => {
  const pattern = new RegExp(ISO_PATTERN);
  let read = 0;
  fc.assert(
    fc.property(times, (text) => {
      const isRead = parseIso(text) !== undefined;
      if (isRead) read += 1;
      if (!isAtTheEnds(text)) expect(pattern.test(text), text).toBe(isRead);
    }),
    { numRuns: 10_000 },
  );
  expect(read).toBeGreaterThan(1000);
});

test('the pattern of a time matches exactly the days from 1970 to 9999', () => {
  const pattern = new RegExp(ISO_PATTERN);
  for (let year = 1968; year <= 10_001; year += 1) {
    const isLeap = new Date(Date.UTC(year, 1, 29)).getUTCMonth() === 1;
    expect(pattern.test(`${year}-02-29`), String(year)).toBe(isLeap && year >= 1970 && year <= 9999);
  }
  for (let month = 0; month <= 13; month += 1) {
    for (let day = 0; day <= 32; day += 1) {
      const text = `2026-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
      const date = new Date(Date.UTC(2026, month - 1, day));
      expect(pattern.test(text), text).toBe(date.toISOString().slice(0, 10) === text);
    }
  }
});

test('the pattern of an instant matches plain integers up to 2^53-1', () => {
  const pattern = new RegExp(INSTANT_PATTERN);
  const around = (centre: bigint) => fc.bigInt({ min: centre > 5n ? centre - 5n : 0n, max: centre + 5n });
  const integers = fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 55n }),
    fc.integer({ min: 0, max: 17 }).chain((power) => around(10n ** BigInt(power))),
    around(2n ** 53n),
    // One digit of the greatest integer, changed.
    fc.tuple(fc.integer({ min: 0, max: 15 }), fc.integer({ min: 0, max: 9 })).map(([at, digit]) => {
      const greatest = [...String(Number.MAX_SAFE_INTEGER)];
      greatest[at] = String(digit);
      return BigInt(greatest.join(''));
    }),
  );
  fc.assert(
    fc.property(integers, fc.constantFrom('', '0', '+', ' '), (value, before) => {
      const text = `${before}${value}`;
      expect(pattern.test(text), text).toBe(parseInstant(text) !== undefined);
    }),
    { numRuns: 5000 },
  );
});

test('the pattern of a list of instants matches up to a thousand, none after the year 9999', () => {
  const get = DOCUMENT.paths['/v1/{coin}/markets/{conditionId}/snapshots/at']!.get!;
  const { schema } = parametersOf(DOCUMENT, get).find(({ name }) => name === 'ts')!;
  const pattern = new RegExp(schema.pattern!);
  const many = (count: number) => Array.from({ length: count }, (_, index) => String(index)).join();
  for (const list of ['0', '253402300799999', '5,2026-01-08T10:31:40Z,5', many(1000)]) {
    expect(pattern.test(list), list.slice(0, 40)).toBe(true);
  }
  for (const list of ['', ',', '5,', ',5', '5,x', '253402300800000', '5,9007199254740991', '1e3', many(1001)]) {
    expect(pattern.test(list), list.slice(0, 40)).toBe(false);
  }
});
