import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DomainError } from '../../src/domain/errors.ts';
import {
  formatInstant,
  INSTANT_MAX_MS,
  isInstant,
  parseInstant,
  parseIso,
  parsePlainInteger,
} from '../../src/domain/instant.ts';

const RUNS = { seed: 20260416, numRuns: 2000 };

describe('accepted ISO forms', () => {
  test.each<[string, string]>([
    ['2026-04-16', '2026-04-16T00:00:00.000Z'],
    ['2026-04-16T07:10Z', '2026-04-16T07:10:00.000Z'],
    ['2026-04-16T07:10:04Z', '2026-04-16T07:10:04.000Z'],
    ['2026-04-16T07:10:04.1Z', '2026-04-16T07:10:04.100Z'],
    ['2026-04-16T07:10:04.12Z', '2026-04-16T07:10:04.120Z'],
    ['2026-04-16T07:10:04.123Z', '2026-04-16T07:10:04.123Z'],
    ['2026-04-16T07:10:04.1239Z', '2026-04-16T07:10:04.123Z'],
    ['2026-04-16T07:10:04.999999999Z', '2026-04-16T07:10:04.999Z'],
    ['2026-04-16T07:10:04+00:00', '2026-04-16T07:10:04.000Z'],
    ['2026-04-16T07:10:04-00:00', '2026-04-16T07:10:04.000Z'],
    ['2026-04-16T09:10:04+02:00', '2026-04-16T07:10:04.000Z'],
    ['2026-04-16T01:40:04.5-05:30', '2026-04-16T07:10:04.500Z'],
    ['2026-04-16T00:00Z', '2026-04-16T00:00:00.000Z'],
    ['2026-04-16T23:59:59.999Z', '2026-04-16T23:59:59.999Z'],
    ['2026-01-01T00:30+01:00', '2025-12-31T23:30:00.000Z'],
    ['2026-12-31T23:30-01:00', '2027-01-01T00:30:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2000-02-29', '2000-02-29T00:00:00.000Z'],
    ['1970-01-01', '1970-01-01T00:00:00.000Z'],
    ['1970-01-01T00:00Z', '1970-01-01T00:00:00.000Z'],
    ['1970-01-01T01:00+01:00', '1970-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['9999-12-31', '9999-12-31T00:00:00.000Z'],
    ['2026-04-16T07:10:04+23:59', '2026-04-15T07:11:04.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(parseIso(text)).toBe(Date.parse(expected));
    expect(parseInstant(text)).toBe(Date.parse(expected));
  });
});

describe('texts that are not an instant', () => {
  test.each([
    ['an empty text', ''],
    ['a day that February lacks', '2026-02-30'],
    ['29 February of a common year', '2026-02-29'],
    ['29 February of 2100', '2100-02-29'],
    ['29 February of 1900', '1900-02-29'],
    ['31 April', '2026-04-31T00:00Z'],
    ['month 0', '2026-00-10'],
    ['month 13', '2026-13-10'],
    ['day 0', '2026-04-00'],
    ['day 32', '2026-01-32'],
    ['hour 24', '2026-04-16T24:00Z'],
    ['minute 60', '2026-04-16T07:60Z'],
    ['a leap second', '2016-12-31T23:59:60Z'],
    ['offset hour 24', '2026-04-16T07:10+24:00'],
    ['offset minute 60', '2026-04-16T07:10+01:60'],
    ['an offset without colon', '2026-04-16T07:10:04+0200'],
    ['an offset of hours', '2026-04-16T07:10:04+02'],
    ['a local time without zone', '2026-04-16T07:10:04'],
    ['a date with a zone', '2026-04-16Z'],
    ['an hour without minutes', '2026-04-16T07Z'],
    ['a space for T', '2026-04-16 07:10:04Z'],
    ['a lower-case t', '2026-04-16t07:10:04Z'],
    ['a lower-case z', '2026-04-16T07:10:04z'],
    ['a comma before the fraction', '2026-04-16T07:10:04,5Z'],
    ['a point without fraction', '2026-04-16T07:10:04.Z'],
    ['a fraction of ten digits', '2026-04-16T07:10:04.1234567890Z'],
    ['a fraction of a minute', '2026-04-16T07:10.5Z'],
    ['a space before', ' 2026-04-16'],
    ['a newline after', '2026-04-16\n'],
    ['a short year', '226-04-16'],
    ['a signed year', '+002026-04-16'],
    ['a month of one digit', '2026-4-16'],
    ['the basic form', '20260416T071004Z'],
    ['a week date', '2026-W16-4'],
    ['an ordinal date', '2026-106'],
    ['the year before the epoch', '1969-12-31T23:59:59.999Z'],
    ['an offset that leads before the epoch', '1970-01-01T00:00:00+00:01'],
    ['an offset that leads after the year 9999', '9999-12-31T23:59:59-00:01'],
    ['year 0', '0000-01-01'],
    ['year 70', '0070-01-01'],
    ['Arabic digits', '٢٠٢٦-04-16'],
    ['words', 'yesterday'],
    ['an HTTP date', 'Thu, 16 Apr 2026 07:10:04 GMT'],
    ['NaN', 'NaN'],
    ['a property of every object', 'constructor'],
  ])('%s', (_, text) => {
    expect(parseIso(text)).toBeUndefined();
    expect(parseInstant(text)).toBeUndefined();
  });
});

describe('integers', () => {
  test.each<[string, number]>([
    ['0', 0],
    ['7', 7],
    ['1776323404123', 1_776_323_404_123],
    ['253402300799999', INSTANT_MAX_MS],
    ['253402300800000', INSTANT_MAX_MS + 1],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('%s is read as written', (text, expected) => {
    expect(parsePlainInteger(text)).toBe(expected);
    expect(parseInstant(text)).toBe(expected);
  });

  const spellings = [
    '1e3 0x10 0b1 +5 -5 -0 5.0 5. 05 00 1_000 1,000 ٣ ５ Infinity NaN null',
    '9007199254740992 9007199254740993 99999999999999999999999999',
  ].flatMap((line) => line.split(' '));

  test.each(['', ' 5', '5 ', '5\n', ...spellings])('%j is refused', (text) => {
    expect(parsePlainInteger(text)).toBeUndefined();
    expect(parseInstant(text)).toBeUndefined();
  });

  test('an integer is accepted in its plain spelling only', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (value) => {
        expect(parsePlainInteger(String(value))).toBe(value);
        expect(parsePlainInteger(`0${value}`)).toBeUndefined();
      }),
      RUNS,
    );
  });
});

test('every instant is read back from its text, in UTC and in any other zone', () => {
  const offset = fc.tuple(fc.constantFrom(-1, 1), fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }));
  fc.assert(
    fc.property(fc.integer({ min: 0, max: INSTANT_MAX_MS }), offset, (instantMs, [sign, hours, minutes]) => {
      const text = formatInstant(instantMs);
      expect(text).toBe(new Date(instantMs).toISOString());
      expect(parseIso(text)).toBe(instantMs);
      const localMs = instantMs + sign * (hours * 60 + minutes) * 60_000;
      if (!isInstant(localMs)) return;
      const two = (value: number) => String(value).padStart(2, '0');
      const zone = `${sign < 0 ? '-' : '+'}${two(hours)}:${two(minutes)}`;
      expect(parseIso(new Date(localMs).toISOString().replace('Z', zone))).toBe(instantMs);
    }),
    RUNS,
  );
});

test('date fields are accepted exactly when the calendar has such a date', () => {
  const field = (max: number) => fc.integer({ min: 0, max });
  fc.assert(
    fc.property(
      fc.integer({ min: 1970, max: 9999 }),
      field(14),
      fc.oneof(field(33), fc.integer({ min: 27, max: 33 })),
      field(25),
      field(61),
      field(61),
      (year, month, day, hour, minute, second) => {
        const two = (value: number) => String(value).padStart(2, '0');
        const text = `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}Z`;
        const date = new Date(Date.UTC(year, month - 1, day, hour, minute, second));
        const exists =
          date.getUTCMonth() === month - 1 &&
          date.getUTCDate() === day &&
          date.getUTCHours() === hour &&
          date.getUTCMinutes() === minute &&
          date.getUTCSeconds() === second;
        expect(parseIso(text)).toBe(exists ? date.getTime() : undefined);
      },
    ),
    RUNS,
  );
});

test('the parser returns an instant or undefined for any text', () => {
  const nearly = fc.stringMatching(/^[0-9]{1,5}-[0-9]{1,3}-[0-9]{1,3}(T[0-9:.]{0,12}[Z+-]?[0-9:]{0,6})?$/);
  fc.assert(
    fc.property(fc.oneof(fc.string(), nearly), (text) => {
      const instantMs = parseIso(text);
      if (instantMs !== undefined) expect(isInstant(instantMs)).toBe(true);
    }),
    RUNS,
  );
});

test.each([-1, 0.5, INSTANT_MAX_MS + 1, Number.NaN, Number.POSITIVE_INFINITY])(
  '%p cannot be written as a time',
  (value) => {
    expect(isInstant(value)).toBe(false);
    expect(() => formatInstant(value)).toThrow(DomainError);
  },
);
