import { parquetWriteBuffer } from 'hyparquet-writer';
import { CONDITION_ID, UP_ASSET } from '../../support/sample-records.ts';
import { type CaseMaker, type HostileCase, wholeFile } from './hostile-case.ts';

const ROWS = 400;
const FLIPS = 30;

/** A field of a Thrift struct in the compact protocol: its id and value. */
type Field = readonly [id: number, value: Thrift];
type Thrift =
  | { readonly i32: number }
  | { readonly i64: bigint }
  | { readonly binary: string }
  | { readonly list: readonly Thrift[]; readonly claimed?: number }
  | { readonly struct: readonly Field[] };

const TYPE = { i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;
const [BYTE_ARRAY, REQUIRED, OPTIONAL] = [6, 0, 1];
const [PLAIN, RLE, RLE_DICTIONARY] = [0, 3, 8];
const [UNCOMPRESSED, SNAPPY, GZIP, ZSTD] = [0, 1, 2, 6];
const [DATA_PAGE, DICTIONARY_PAGE] = [0, 2];

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  let left = value;
  while (left >= 128n) {
    bytes.push(Number(left & 127n) | 128);
    left >>= 7n;
  }
  return [...bytes, Number(left)];
}

const zigzag = (value: bigint) => varint(value >= 0n ? value * 2n : -value * 2n - 1n);
const kindOf = (value: Thrift) => Object.keys(value).find((key) => key in TYPE) as keyof typeof TYPE;

function encoded(value: Thrift): number[] {
  if ('i32' in value) return zigzag(BigInt(value.i32));
  if ('i64' in value) return zigzag(value.i64);
  if ('binary' in value) return [...varint(BigInt(value.binary.length)), ...Buffer.from(value.binary)];
  if ('struct' in value) return struct(value.struct);
  const first = value.list[0];
  const claimed = BigInt(value.claimed ?? value.list.length);
  return [
    0xf0 | (first === undefined ? TYPE.i32 : TYPE[kindOf(first)]),
    ...varint(claimed),
    ...value.list.flatMap(encoded),
  ];
}

function struct(fields: readonly Field[]): number[] {
  let last = 0;
  const bytes = fields.flatMap(([id, value]) => {
    const delta = id - last;
    last = id;
    return [(delta << 4) | TYPE[kindOf(value)], ...encoded(value)];
  });
  return [...bytes, 0];
}

const i32 = (value: number) => ({ i32: value });
const i64 = (value: number | bigint) => ({ i64: BigInt(value) });

interface Page {
  readonly kind: number;
  readonly values: number;
  readonly encoding: number;
  readonly bytes: readonly number[];
  /** The length in the header, instead of the real one. */
  readonly unpacked?: number;
  readonly packed?: number;
}

function pageBytes({ kind, values, encoding, bytes, unpacked, packed }: Page): number[] {
  const header: Field[] = [
    [1, i32(kind)],
    [2, i32(unpacked ?? bytes.length)],
    [3, i32(packed ?? bytes.length)],
    kind === DICTIONARY_PAGE
      ? [
          7,
          {
            struct: [
              [1, i32(values)],
              [2, i32(encoding)],
            ],
          },
        ]
      : [
          5,
          {
            struct: [
              [1, i32(values)],
              [2, i32(encoding)],
              [3, i32(RLE)],
              [4, i32(RLE)],
            ],
          },
        ],
  ];
  return [...struct(header), ...bytes];
}

interface Crafted {
  readonly rows: number | bigint;
  readonly pages: readonly Page[];
  readonly codec?: number;
  readonly repetition?: number;
  /** The columns of the schema in the footer. */
  readonly claimedColumns?: number;
  readonly footerBytes?: number;
}

/** A file of one column `raw_data` with any footer and page headers. */
function crafted({ rows, pages, codec = UNCOMPRESSED, repetition = REQUIRED, claimedColumns, footerBytes }: Crafted) {
  const body = pages.flatMap(pageBytes);
  const hasDictionary = pages[0]?.kind === DICTIONARY_PAGE;
  const dictionary = hasDictionary ? pageBytes(pages[0]!).length : 0;
  const offsets: Field[] = [[9, i64(4 + dictionary)], ...(hasDictionary ? [[11, i64(4)] as const] : [])];
  const meta: Field[] = [
    [1, i32(BYTE_ARRAY)],
    [2, { list: [i32(PLAIN), i32(RLE_DICTIONARY)] }],
    [3, { list: [{ binary: 'raw_data' }] }],
    [4, i32(codec)],
    [5, i64(rows)],
    [6, i64(body.length)],
    [7, i64(body.length)],
    ...offsets,
  ];
  const chunk: Thrift = {
    struct: [
      [2, i64(4)],
      [3, { struct: meta }],
    ],
  };
  const group: Thrift = {
    struct: [
      [1, { list: [chunk] }],
      [2, i64(body.length)],
      [3, i64(rows)],
    ],
  };
  const root: Thrift = {
    struct: [
      [4, { binary: 'schema' }],
      [5, i32(1)],
    ],
  };
  const column: Thrift = {
    struct: [
      [1, i32(BYTE_ARRAY)],
      [3, i32(repetition)],
      [4, { binary: 'raw_data' }],
      [6, i32(0)],
    ],
  };
  const schema: Thrift =
    claimedColumns === undefined ? { list: [root, column] } : { list: [root, column], claimed: claimedColumns };
  const footer = struct([
    [1, i32(1)],
    [2, schema],
    [3, i64(rows)],
    [4, { list: [group] }],
  ]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footerBytes ?? footer.length);
  return Buffer.concat([Buffer.from('PAR1'), Buffer.from(body), Buffer.from(footer), length, Buffer.from('PAR1')]);
}

const plainText = (text: string) => [...new Uint8Array(Uint32Array.of(text.length).buffer), ...Buffer.from(text)];
const dictionary: Page = { kind: DICTIONARY_PAGE, values: 1, encoding: PLAIN, bytes: plainText('{}') };
const run = (count: number, value: number) => [...varint(BigInt(count) * 2n), value];
const MANY = 500_000_000;

/** Pages and footers that claim more than there is. */
function promising(): CaseMaker[] {
  const dataPage = (values: number, bytes: readonly number[], encoding = RLE_DICTIONARY): Page => ({
    ...{ kind: DATA_PAGE, values, encoding, bytes },
  });
  const levels = (count: number) => {
    const bytes = run(count, 0);
    return [...new Uint8Array(Uint32Array.of(bytes.length).buffer), ...bytes];
  };
  const files: [title: string, file: Crafted, damaged?: boolean][] = [
    ['half-a-billion-values-of-no-bits', { rows: MANY, pages: [dictionary, dataPage(MANY, [0])] }],
    ['half-a-billion-values-of-no-bits-in-ten-rows', { rows: 10, pages: [dictionary, dataPage(MANY, [0])] }],
    ['half-a-billion-values-in-a-run', { rows: MANY, pages: [dictionary, dataPage(MANY, [1, ...run(MANY, 0)])] }],
    ['a-run-longer-than-its-page', { rows: 10, pages: [dictionary, dataPage(10, [1, ...run(MANY, 0)])] }, false],
    ['half-a-billion-nulls', { rows: MANY, repetition: OPTIONAL, pages: [dataPage(MANY, levels(MANY), PLAIN)] }],
    [
      'a-run-of-nulls-longer-than-its-page',
      { rows: 9, repetition: OPTIONAL, pages: [dataPage(9, levels(MANY), PLAIN)] },
      false,
    ],
    ['a-dictionary-of-half-a-billion', { rows: 1, pages: [{ ...dictionary, values: MANY }, dataPage(1, [0])] }],
    ['negative-values', { rows: 1, pages: [dataPage(-1, plainText('{}'), PLAIN)] }],
    ['negative-page-sizes', { rows: 1, pages: [{ ...dataPage(1, plainText('{}'), PLAIN), packed: -5, unpacked: -5 }] }],
    ['negative-rows', { rows: -5, pages: [dataPage(1, plainText('{}'), PLAIN)] }],
    ['rows-beyond-numbers', { rows: 2n ** 62n, pages: [dataPage(1, plainText('{}'), PLAIN)] }],
    ['a-text-of-4-GB', { rows: 1, pages: [dataPage(1, [0xff, 0xff, 0xff, 0xff, 1], PLAIN)] }],
    ['a-billion-columns', { rows: 1, pages: [dataPage(1, plainText('{}'), PLAIN)], claimedColumns: 1_000_000_000 }],
    ['a-footer-of-4-GB', { rows: 1, pages: [dataPage(1, plainText('{}'), PLAIN)], footerBytes: 0xffff_fff0 }],
    ['a-footer-of-nothing', { rows: 1, pages: [dataPage(1, plainText('{}'), PLAIN)], footerBytes: 0 }],
    ...[SNAPPY, GZIP, ZSTD].map((codec): [string, Crafted] => [
      `a-page-of-2-GB-in-codec-${codec}`,
      { rows: 1, codec, pages: [{ ...dataPage(1, plainText('{}'), PLAIN), unpacked: 2 ** 31 - 1 }] },
    ]),
  ];
  return files.map(([title, file, damaged = true]) =>
    wholeFile(`parquet-${title}`, 'crafted.parquet', crafted(file), { damaged, rejected: 'any' }),
  );
}

/** Real messages in a scraper's file, then damaged. */
function spoilt(): CaseMaker[] {
  const base = (startMs: number) => {
    const messages = Array.from({ length: ROWS }, (_, index) =>
      JSON.stringify({
        ...{ market: CONDITION_ID, asset_id: UP_ASSET, timestamp: String(startMs + index * 8), event_type: 'book' },
        bids: [{ price: '0.4', size: String(100 + index) }],
        asks: [{ price: '0.6', size: '7.25' }],
      }),
    );
    return Buffer.from(parquetWriteBuffer({ columnData: [{ name: 'raw_data', data: messages, type: 'STRING' }] }));
  };
  const file = (title: string, spoil: (bytes: Buffer) => Uint8Array, more: Partial<HostileCase> = {}): CaseMaker => {
    return (startMs) => ({
      title: `parquet-${title}`,
      file: 'books.parquet',
      bytes: spoil(base(startMs)),
      kept: 'any',
      rejected: 'any',
      damaged: 'any',
      ...more,
    });
  };
  return [
    file('whole', (bytes) => bytes, { kept: ROWS, rejected: 0, damaged: false }),
    ...[0.0005, 0.1, 0.5, 0.9, 0.99].map((share) =>
      file(`cut-off-at-${share}`, (bytes) => bytes.subarray(0, Math.max(5, Math.floor(bytes.length * share))), {
        kept: 0,
        damaged: true,
      }),
    ),
    ...Array.from({ length: FLIPS }, (_, index) =>
      file(`flipped-at-${index}-of-${FLIPS}`, (bytes) => {
        // The first half of the flips is in the page headers, the second in the footer.
        const footer = bytes.readUInt32LE(bytes.length - 8);
        const at =
          index % 2 === 0 ? 4 + index : bytes.length - 8 - footer + Math.floor((footer * (index + 0.5)) / FLIPS);
        const copy = Buffer.from(bytes);
        copy[at] = [0xff, 0x7f, 0x80, 0x00, copy[at]! ^ 0x11][index % 5]!;
        return copy;
      }),
    ),
  ];
}

/** Parquet that is cut off, damaged, or a decompression bomb. */
export function hostileParquet(): CaseMaker[] {
  return [...promising(), ...spoilt()];
}
