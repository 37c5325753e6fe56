import { gzipSync } from 'node:zlib';
import { CONDITION_ID, sampleCoinPrice, sampleMarket, sampleSnapshot } from '../../support/sample-records.ts';
import { badLines, type CaseMaker, goodRecord, type KeptRecord, oddLines, wholeFile } from './hostile-case.ts';

const MEBIBYTE = 1024 * 1024;
/** Maximum length of a line. */
const LINE_BYTES_MAX = 16 * MEBIBYTE;
const LEVELS_MAX = 10_001;

const snapshotWith = (fields: string) =>
  `{"type":"snapshot","conditionId":"${CONDITION_ID}","outcome":"up","timestamp":1776323404123,${fields}}`;
const levelsOf = (count: number, price: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => `{"price":${price(index)},"size":1}`).join(',');

/** Texts that are too deep, too wide or too long. */
function unbounded(): CaseMaker[] {
  const deep = (open: string, close: string, count: number, inside = '') =>
    `${open.repeat(count)}${inside}${close.repeat(count)}`;
  const keys = (count: number, value: string) =>
    Array.from({ length: count }, (_, index) => `"${index.toString(36)}":${value}`).join(',');
  return [
    badLines('arrays-a-million-deep', [deep('[', ']', 1_000_000)]),
    badLines('objects-a-million-deep', [deep('{"a":', '}', 1_000_000, '1')]),
    badLines('arrays-50000-deep-in-a-record', [snapshotWith(`"bids":${deep('[', ']', 50_000)},"asks":[]`)]),
    badLines('objects-20000-deep-with-an-exponent', [
      snapshotWith(`"x":${deep('{"a":', '}', 20_000, '1e0')},"bids":0`),
    ]),
    badLines('arrays-that-only-open', ['['.repeat(LINE_BYTES_MAX - 1), '['.repeat(100_000), '{"a":['.repeat(100_000)]),
    badLines('five-million-empty-objects', [snapshotWith(`"bids":[${'{},'.repeat(5_000_000)}{}],"asks":[]`)]),
    badLines('five-million-empty-arrays', [`[${'[],'.repeat(5_000_000)}[]]`]),
    badLines('eight-million-numbers', [`[${'1,'.repeat(8_000_000)}1]`]),
    badLines('four-million-exponents', [`[${'1e0,'.repeat(4_000_000)}1]`]),
    badLines('a-million-keys', [`{${keys(1_000_000, '1')}}`]),
    badLines('half-a-million-keys-with-exponents', [`{${keys(500_000, '1e0')}}`]),
    badLines('objects-of-300000-shapes', [`[${keys(300_000, '1').replaceAll(',', '},{').replace(/^/, '{')}}]`]),
    badLines('10002-levels', [
      snapshotWith(`"bids":[${levelsOf(LEVELS_MAX + 1, (i) => (i / 1e6).toFixed(6))}],"asks":[]`),
      snapshotWith(`"bids":[],"asks":[${levelsOf(LEVELS_MAX + 1, () => '0.5')}]`),
    ]),
    badLines('10001-levels-of-one-price', [snapshotWith(`"bids":[${levelsOf(LEVELS_MAX, () => '0.5')}],"asks":[]`)]),
    badLines('a-line-of-16-MB-and-a-byte', ['a'.repeat(LINE_BYTES_MAX + 1), ' '.repeat(LINE_BYTES_MAX + 1)]),
    badLines('a-text-of-10-MB-in-every-place', [
      JSON.stringify(sampleCoinPrice({ source: 's'.repeat(10 * MEBIBYTE) })),
      JSON.stringify(sampleSnapshot({ outcome: 'u'.repeat(10 * MEBIBYTE) })),
      JSON.stringify(sampleSnapshot({ conditionId: `0x${'e'.repeat(10 * MEBIBYTE)}` })),
    ]),
    badLines('a-name-of-6-MB', [`{"${'k\\u001b[31m'.repeat(500_000)}":1.00000000000000000000000001}`]),
    badLines('escapes-without-end', [`"${'\\'.repeat(2 * MEBIBYTE)}`, `"${'\\u0000'.repeat(500_000)}"`]),
    badLines('quotes-without-end', ['"'.repeat(MEBIBYTE + 1), `{"type":"market","slug":"${'"'.repeat(100_000)}`]),
  ];
}

/** Unusual but valid records. */
function odd(): CaseMaker[] {
  const price = (startMs: number, offsetMs: number, more: string) =>
    JSON.stringify(goodRecord(startMs, offsetMs)).replace('{', () => `{${more}`);
  const kept =
    (...offsets: number[]) =>
    (startMs: number) =>
      offsets.map((offset) => goodRecord(startMs, offset));
  const again = (startMs: number) => JSON.stringify(goodRecord(startMs, 8));
  const withPrice = (startMs: number, price: string) =>
    JSON.stringify(goodRecord(startMs, 8)).replace(/"price":[^}]+/, () => `"price":${price}`);
  const record = (startMs: number, value: number): KeptRecord => ({ ...goodRecord(startMs, 8), price: value });
  const million = JSON.stringify(Array.from({ length: 100_000 }, (_, index) => index));
  return [
    oddLines('the-last-of-duplicate-keys-counts', (ms) => [price(ms, 8, '"price":"x","type":"market",')], kept(8)),
    oddLines(
      'keys-called-like-parts-of-objects',
      (ms) => [
        price(ms, 8, '"__proto__":{"type":"market","price":-1},"constructor":{"prototype":1},"toString":null,'),
        price(ms, 16, '"hasOwnProperty":false,"valueOf":[],"__defineGetter__":1,"":{},'),
      ],
      kept(8, 16),
    ),
    oddLines('unknown-fields', (ms) => [price(ms, 8, `"extra":${million},"nested":[[[[[]]]]],`)], kept(8)),
    oddLines('unknown-numbers-of-many-digits-are-read', (ms) => [price(ms, 8, '"t":0.30000000000000004,')], kept(8)),
    oddLines('a-record-twice', (ms) => [again(ms), again(ms)], kept(8)),
    oddLines(
      'minus-zero',
      (ms) => [withPrice(ms, '-0')],
      (ms) => [record(ms, 0)],
    ),
    oddLines(
      'an-exponent',
      (ms) => [withPrice(ms, '7.00015e4')],
      (ms) => [record(ms, 70_001.5)],
    ),
    oddLines(
      'a-decimal-as-text',
      (ms) => [withPrice(ms, '"070001.5000"'.replace('0', ''))],
      (ms) => [record(ms, 70_001.5)],
    ),
    oddLines('blank-lines-and-blanks', (ms) => ['', '   ', '\t', ` \t${again(ms)} \t`, '\r', '\n\n\n'], kept(8)),
    oddLines('carriage-returns', (ms) => [`${again(ms)}\r`, '\r'], kept(8)),
    oddLines('a-byte-order-mark-in-the-middle', (ms) => [`\uFEFF${again(ms)}`], kept(8)),
    oddLines('escaped-names', (ms) => [again(ms).replace('"price"', '"\\u0070ric\\u0065"')], kept(8)),
    oddLines('times-as-milliseconds', (ms) => [JSON.stringify({ ...goodRecord(ms, 8), timestamp: ms + 8 })], kept(8)),
  ];
}

/** Bytes that are not text, and texts in other encodings. */
function encodings(): CaseMaker[] {
  const bytes = (...values: number[]) => Uint8Array.from(values);
  const market = JSON.stringify(sampleMarket());
  const utf16 = (littleEndian: boolean) => {
    const little = Buffer.from(`\uFEFF${market}\n${market}\n`, 'utf16le');
    return littleEndian ? little : Buffer.from(little).swap16();
  };
  const within = (...values: number[]) =>
    Buffer.concat([Buffer.from('{"type":"gap","reason":"'), bytes(...values), Buffer.from('"}')]);
  return [
    badLines('invalid-UTF-8', [within(0xff), within(0xc3, 0x28), within(0xe2, 0x82), within(0xf5, 0x80, 0x80, 0x80)]),
    badLines('overlong-UTF-8', [within(0xc0, 0xaf), within(0xe0, 0x80, 0xaf), within(0xf0, 0x80, 0x80, 0xaf)]),
    badLines('surrogates-in-UTF-8', [within(0xed, 0xa0, 0x80), within(0xed, 0xb0, 0x80)]),
    badLines('Latin-1', [within(0xe9, 0x74, 0xe9)]),
    badLines('NUL-bytes', [bytes(0), bytes(0, 0, 0, 0), within(0), Buffer.alloc(4096)]),
    badLines('control-characters', ['\u001b[2J\u001b[31m', '\u0007\u0008', '\u009b31m', '\u202Egnp.exe']),
    badLines('a-break-in-a-text', ['{"type":"gap","reason":"a', 'b"}']),
    badLines('words-for-values', ['undefined', 'null', 'true', '[]', '""', '0', "{'type':'gap'}", '{"type":"gap",}']),
    badLines('comments', ['// a comment', '/* one */', '# one', ';']),
    badLines('other-languages', ['<xml/>', '---', 'key: value', '(lisp)', 'SELECT 1;', '{"type":"gap"} trailing']),
    badLines('types-that-are-none', [
      '{"type":"trade"}',
      '{"type":"constructor"}',
      '{"type":"__proto__"}',
      '{"type":["gap"]}',
      '{"type":null}',
      '{"type":1}',
      '{}',
      '{"Type":"gap"}',
    ]),
    badLines('unknown-markets', [
      JSON.stringify(sampleSnapshot({ conditionId: `0x${'0'.repeat(64)}` })),
      JSON.stringify(sampleSnapshot({ conditionId: '0xdead' })),
    ]),
    // No line of it is read: the report names the file, and says what it is.
    wholeFile('UTF-16-little-endian', 'utf16.ndjson', utf16(true), { rejected: 0 }),
    wholeFile('UTF-16-big-endian', 'utf16.ndjson', utf16(false), { rejected: 0 }),
    wholeFile('old-Mac-line-ends', 'mac.ndjson', `${market}\r${market}\r`, { rejected: 1 }),
    wholeFile('only-a-byte-order-mark', 'bom.ndjson', '\uFEFF', { rejected: 'some' }),
    wholeFile('half-a-byte-order-mark', 'bom.ndjson', bytes(0xef, 0xbb), { rejected: 'some' }),
    wholeFile('only-newlines', 'newlines.ndjson', '\n'.repeat(5_000_000), { rejected: 0 }),
    wholeFile('nothing', 'nothing.ndjson', '', { rejected: 0 }),
    wholeFile('a-megabyte-of-zeros', 'zeros.ndjson', new Uint8Array(MEBIBYTE), { rejected: 1 }),
    wholeFile('noise', 'noise.ndjson', noise(MEBIBYTE), { rejected: 'some' }),
    wholeFile('a-picture', 'picture.ndjson', bytes(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0), { rejected: 'some' }),
    wholeFile('an-archive-of-files', 'files.ndjson', Buffer.concat([Buffer.from('PK\u0003\u0004'), noise(5000)]), {
      rejected: 0,
      damaged: true,
    }),
    wholeFile('a-program', 'program.ndjson', Buffer.concat([Buffer.from('\u007fELF'), noise(5000)]), {
      rejected: 'some',
    }),
    wholeFile('a-tar-within-gzip', 'tar.ndjson.gz', gzipSync(Buffer.concat([Buffer.alloc(1024), noise(3000)])), {
      rejected: 'some',
    }),
  ];
}

/** Pseudo-random bytes of a seed. */
function noise(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let i = 0; i < length; i += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

/** Texts that may break a parser. */
export function hostileTexts(): CaseMaker[] {
  return [...unbounded(), ...odd(), ...encodings()];
}
