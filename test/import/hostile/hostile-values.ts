import {
  sampleCoinPrice,
  sampleGap,
  sampleMarket,
  samplePrice,
  sampleQuote,
  sampleSnapshot,
} from '../../support/sample-records.ts';
import { badLines, type CaseMaker } from './hostile-case.ts';

type Sample = (fields?: Readonly<Record<string, unknown>>) => object;

const SAMPLES: Readonly<Record<string, Sample>> = {
  market: sampleMarket,
  snapshot: sampleSnapshot,
  quote: sampleQuote,
  price: samplePrice,
  coinPrice: sampleCoinPrice,
  gap: sampleGap,
};

/** The text of a record in which `path` (`bids.0.price`) is written as `raw`. */
function recordWith(type: string, path: string, raw: string): string {
  const record = structuredClone(SAMPLES[type]!()) as Record<string, unknown>;
  const names = path.split('.');
  let place: Record<string, unknown> = record;
  for (const name of names.slice(0, -1)) place = place[name] as Record<string, unknown>;
  place[names.at(-1)!] = '\u0001';
  return JSON.stringify(record).replace(JSON.stringify('\u0001'), () => raw);
}

/** Fields with a number, and whether it must be between 0 and 1. */
const NUMBERS: readonly (readonly [type: string, path: string, isPrice: boolean])[] = [
  ['snapshot', 'bids.0.price', true],
  ['snapshot', 'bids.1.size', false],
  ['snapshot', 'asks.0.price', true],
  ['snapshot', 'asks.0.size', false],
  ['quote', 'bidPrice', true],
  ['quote', 'bidSize', false],
  ['quote', 'askPrice', true],
  ['quote', 'askSize', false],
  ['price', 'price', true],
  ['coinPrice', 'price', false],
  ['market', 'volume', false],
  ['market', 'liquidity', false],
  ['market', 'priceStart', false],
  ['market', 'priceEnd', false],
];

/** Literals that no field may have; some are not JSON. */
const NO_NUMBERS: readonly (readonly [name: string, ...raw: string[]])[] = [
  ['not-a-number', 'NaN', '"NaN"', '-NaN', 'nan', '"nan"'],
  ['infinite', 'Infinity', '-Infinity', '"Infinity"', '"-Infinity"', '"∞"'],
  ['beyond-doubles', '1e999', '-1e999', '"1e999"', '1e400', `1${'0'.repeat(400)}`],
  ['tiny-exponents', '1e-400', '"1e-9999"', '1e-99999999999'],
  ['huge-exponents', '"1e99999999999999999999"', '1e99999999999999999999'],
  ['written-otherwise', '0x10', '"0x10"', '"0b1"', '"1_000"', '"1,5"', '" 1"', '"1 "', '"+1"', '01', '.5', '5.'],
  ['negative', '-0.5', '"-0.5"', '-1e-9', '-123456789'],
  ['too-many-digits', '0.12345678901234567', '"0.1234567890123456789"', '123456789012345678901'],
  ['other-types', 'true', '"x"', '""', '[]', '[0.5]', '{}', '{"price":0.5}'],
  ['digits-without-end', `"${'1'.repeat(200_000)}"`, `0.${'0'.repeat(200_000)}1`, `"1${'0'.repeat(300_000)}1"`],
];
const NO_PRICES = ['1.5', '1.01', '1.0000000000000002', '1.000000000001', '"2"', '1e1', '-0.000001'];

/** A line in which one field has a bad value. */
interface BadLine {
  readonly field: string;
  readonly raw: string;
  readonly line: string;
}

/** Every bad value in every field, for tests that check the reason for each line. */
export function badValueLines(): BadLine[] {
  const linesOf = (type: string, path: string, raws: readonly string[]) =>
    raws.map((raw) => ({ field: path.split('.').at(-1)!, raw, line: recordWith(type, path, raw) }));
  return [
    ...NUMBERS.flatMap(([type, path, isPrice]) =>
      linesOf(type, path, [...NO_NUMBERS.flatMap(([, ...raws]) => raws), ...(isPrice ? NO_PRICES : [])]),
    ),
    ...Object.entries(FIELDS).flatMap(([type, fields]) =>
      fields.flatMap(([field, ...more]) => linesOf(type, field, [...NO_FIELDS, ...more])),
    ),
    ...TIMES.flatMap(([type, field]) => linesOf(type, field, NO_TIMES)),
  ];
}

function badNumbers(): CaseMaker[] {
  return NUMBERS.flatMap(([type, path, isPrice]) => {
    const lines = (raws: readonly string[]) => raws.map((raw) => recordWith(type, path, raw));
    const name = `${type}-${path.replaceAll('.', '-')}`;
    const cases = NO_NUMBERS.map(([what, ...raws]) => badLines(`${name}-${what}`, lines(raws)));
    return isPrice ? [...cases, badLines(`${name}-outside-0-to-1`, lines(NO_PRICES))] : cases;
  });
}

const NO_FIELDS = ['{"a":1}', '[[]]'];
/** Every field by type of record, with further bad values. */
const FIELDS: Readonly<Record<string, readonly (readonly [field: string, ...more: string[]])[]>> = {
  market: [
    ['conditionId', '7', '"0x"', `"0x${'a'.repeat(65)}"`, `"0x${'a'.repeat(1_000_000)}"`, '"../../etc/passwd"'],
    ['slug', '7', '"../../x"', '"a/b"', '"a\\u0000b"', '"\\ud800"', `"${'s'.repeat(1_000_000)}"`],
    ['symbol', '7', '""', '"b tc"', '"../btc"', `"${'b'.repeat(1_000_000)}"`],
    ['timeframe', '5', '"5M"', '"constructor"', '"__proto__"', '""'],
    ['outcomes', '"up"', '["up"]', '["up","up"]', '["up","down","up"]', '["constructor","__proto__"]', 'null'],
    ['clobTokenIds', '["1","1"]', '["1"]', '["-1","2"]', '["1e5","2"]', `["${'1'.repeat(101)}","2"]`, '[null,null]'],
    ['startTime', '"2026-04-16T07:15:00Z"', '"2026-02-30T00:00:00Z"', 'null'],
    ['endTime', '"2026-04-16T07:10:00Z"', '"yesterday"', 'null'],
    ['marketId', '-1', '1.5', '"1a"', '9007199254740993', 'true'],
    ['eventId', '-1', '1.5', '"1a"', '9007199254740993', 'true'],
    ['active', '1', '"true"', '0'],
    ['closed', '1', '"true"', '0'],
    ['winner', '1', '"toString"', '"yes"', 'false'],
    ['resolvedAt', '"never"', '1776323400', '-1'],
    ['createdAt', '"2026-13-01"', '1776323400'],
    ['updatedAt', '"2026-00-01"', '1776323400'],
  ],
  snapshot: [
    ['conditionId', '7', 'null'],
    ['outcome', '7', '"constructor"', '"upp"', 'null'],
    ['timestamp', 'null', 'true', '"x"', '1e300', '1776323400'],
    ['assetId', '-1', '"0x1"'],
    ['id', '0', '-1', '1.5', '"0"', '"01"', '9007199254740993', '"9007199254740993"', 'true'],
    ['bids', 'null', '7', '"[]"', '[null]', '[1]', '["x"]', '[[0.5,1]]', '[{"price":0.5}]', '[{"size":1}]'],
    ['asks', 'null', '7', '{"0":{"price":0.5,"size":1}}', '[{"price":0.5,"size":1},{"price":0.5,"size":2}]'],
    ['mirrored', '1', '"true"'],
  ],
  quote: [
    ['bidPrice', 'null'],
    ['bidSize', '0'],
    ['askPrice', 'null'],
    ['askSize', '0'],
    ['outcome', 'null', '"hasOwnProperty"'],
    ['id', '0', '1e400'],
  ],
  price: [
    ['kind', '7', 'null', '"constructor"', '"Mid"'],
    ['price', 'null'],
    ['outcome', '["up"]', 'null'],
  ],
  coinPrice: [
    ['symbol', 'null', '"é"'],
    ['source', 'null', '7', '""', '"\\ud800"', `"${'s'.repeat(1_000_000)}"`],
    ['timestamp', '"2026-04-16T07:10:04.123"', '"2026-04-16 07:10:04Z"', '-1', '1.5'],
    ['id', '"x"'],
  ],
  gap: [
    ['conditionId', 'null'],
    ['from', '"2026-04-16T07:12:00Z"', 'null', '"0000-00-00"'],
    ['to', '"2026-04-16T07:10:00Z"', 'null', '"2026-04-31"'],
    ['reason', 'null', '7', '""', '"\\udfff"', `"${'r'.repeat(1_000_000)}"`],
  ],
};

function badFields(): CaseMaker[] {
  return Object.entries(FIELDS).flatMap(([type, fields]) =>
    fields.map(([field, ...more]) =>
      badLines(
        `${type}-${field}-of-a-wrong-kind`,
        [...NO_FIELDS, ...more].map((raw) => recordWith(type, field, raw)),
      ),
    ),
  );
}

/** Times that do not exist or are incomplete. */
const NO_TIMES = [
  ...['"2026-02-29T00:00:00Z"', '"2026-04-31T00:00:00Z"', '"2026-04-16T24:00:00Z"', '"2026-04-16T07:60:00Z"'],
  ...['"2026-13-01T00:00:00Z"', '"2026-04-16 07:10:04Z"', '"Thu, 16 Apr 2026 07:10:04 GMT"', '"now"', '""', '1.5'],
  ...['"2026-04-16T07:10:60Z"', '"2026-04-16T07:10:04"', '"16.04.2026"', '"+002026-04-16T00:00:00Z"'],
  ...['"9999-12-31T23:59:59.999-23:59"', '"10000-01-01"', '"1969-12-31"', '-1', '253402300800000', '1e20'],
  ...['9007199254740993', '"9007199254740993"', '1776323400', '"1776323400"', `"${'0'.repeat(2_000_000)}1776323400"`],
  ...['"2026-04-16T07:10:04.1234567890Z"', `"2026-04-16T07:10:04.${'1'.repeat(1_000_000)}Z"`],
];

const TIMES = [
  ['snapshot', 'timestamp'],
  ['quote', 'timestamp'],
  ['price', 'timestamp'],
  ['coinPrice', 'timestamp'],
  ['gap', 'to'],
] as const;

function badTimes(): CaseMaker[] {
  return TIMES.map(([type, field]) =>
    badLines(
      `${type}-${field}-that-is-no-time`,
      NO_TIMES.map((raw) => recordWith(type, field, raw)),
    ),
  );
}

/** Invalid numbers, types and times: one file per kind of record, field and fault. */
export function hostileValues(): CaseMaker[] {
  return [...badNumbers(), ...badFields(), ...badTimes()];
}
