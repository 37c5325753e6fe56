import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { bytesOf, type CaseMaker, goodRecord, type HostileCase, joined, wholeFile } from './hostile-case.ts';

const MEBIBYTE = 1024 * 1024;
const RECORDS = 2000;
/** The places where compressed files are cut, as parts of their length. */
const CUTS = [0, 0.0005, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.9999];
const FLIPS = 12;

type Pack = (bytes: Uint8Array) => Buffer;

const PACKS: readonly (readonly [suffix: string, pack: Pack])[] = [
  ['gz', (bytes) => gzipSync(bytes)],
  ['zst', (bytes) => zstdCompressSync(bytes, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })],
];

/** Many records, compressed and then damaged by `spoil`: the first of them may be stored. */
function spoilt(
  title: string,
  suffix: string,
  pack: Pack,
  spoil: (packed: Buffer) => Uint8Array,
  expected: Partial<Pick<HostileCase, 'rejected' | 'damaged'>> = {},
): CaseMaker {
  return (startMs) => {
    const records = Array.from({ length: RECORDS }, (_, index) => goodRecord(startMs, index * 8));
    const packed = pack(joined(records.map((record) => JSON.stringify(record))));
    return {
      title: `${suffix}-${title}`,
      file: `packed.ndjson.${suffix}`,
      bytes: spoil(packed),
      kept: { beginningOf: records },
      rejected: 'any',
      damaged: true,
      ...expected,
    };
  };
}

function cutOff(): CaseMaker[] {
  return PACKS.flatMap(([suffix, pack]) =>
    CUTS.map((share) =>
      spoilt(`cut-off-at-${share}`, suffix, pack, (packed) => packed.subarray(0, Math.floor(packed.length * share)), {
        // A file shorter than the magic bytes is not recognised as compressed.
        damaged: share <= 0.0005 ? 'any' : true,
      }),
    ),
  );
}

/** The bytes before the checksum may decompress to anything: the case only expects an orderly end. */
function flipped(): CaseMaker[] {
  return PACKS.flatMap(([suffix, pack]) =>
    Array.from({ length: FLIPS }, (_, index) => {
      const maker = spoilt(
        `flipped-at-${index}-of-${FLIPS}`,
        suffix,
        pack,
        (packed) => {
          const at = Math.floor((packed.length * (index + 0.5)) / FLIPS);
          const copy = Buffer.from(packed);
          copy[at] = copy[at]! ^ 0x55;
          return copy;
        },
        { damaged: 'any' },
      );
      return (startMs: number): HostileCase => ({ ...maker(startMs), kept: 'any' });
    }),
  );
}

/** Wrong headers and trailers. */
function lying(): CaseMaker[] {
  const gz = PACKS[0]![1];
  const zst = PACKS[1]![1];
  const at =
    (offset: number, ...values: number[]) =>
    (packed: Buffer) => {
      const copy = Buffer.from(packed);
      copy.set(values, offset < 0 ? copy.length + offset : offset);
      return copy;
    };
  const whole = { damaged: false, rejected: 0 } as const;
  return [
    spoilt('wrong-checksum', 'gz', gz, at(-8, 1, 2, 3, 4)),
    spoilt('wrong-length', 'gz', gz, at(-4, 0xff, 0xff, 0xff, 0x7f)),
    spoilt('unknown-method', 'gz', gz, at(2, 7)),
    spoilt('reserved-flags', 'gz', gz, at(3, 0xe0), { damaged: 'any' }),
    spoilt('no-trailer', 'gz', gz, (packed) => packed.subarray(0, -8)),
    spoilt('noise-after-the-end', 'gz', gz, (packed) => Buffer.concat([packed, Buffer.from('\u0001\u0002garbage')]), {
      damaged: 'any',
    }),
    spoilt('then-a-member-cut-off', 'gz', gz, (packed) => Buffer.concat([packed, packed.subarray(0, 100)])),
    spoilt(
      'a-name-that-climbs',
      'gz',
      gz,
      (packed) =>
        Buffer.concat([
          Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]),
          Buffer.from('../../../../../tmp/climbed\0'),
          packed.subarray(10),
        ]),
      whole,
    ),
    spoilt(
      'a-name-of-a-megabyte',
      'gz',
      gz,
      (packed) =>
        Buffer.concat([
          Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]),
          Buffer.alloc(MEBIBYTE, 65),
          Buffer.from([0]),
          packed.subarray(10),
        ]),
      whole,
    ),
    spoilt('wrong-checksum', 'zst', zst, at(-4, 1, 2, 3, 4)),
    spoilt('reserved-bit', 'zst', zst, at(4, 0x08), { damaged: 'any' }),
    spoilt('unknown-dictionary', 'zst', zst, at(4, 0x27), { damaged: 'any' }),
    spoilt('noise-after-the-end', 'zst', zst, (packed) => Buffer.concat([packed, Buffer.from('garbage')])),
    spoilt('then-a-frame-cut-off', 'zst', zst, (packed) => Buffer.concat([packed, packed.subarray(0, 60)])),
    spoilt('skippable-frames-around', 'zst', zst, (packed) => Buffer.concat([skippable(1000), packed, skippable(0)]), {
      damaged: 'any',
    }),
    wholeFile('zst-absurd-window', 'window.ndjson.zst', Buffer.from('28b52ffd00f8010000', 'hex'), { damaged: true }),
    wholeFile('zst-window-of-4-GB', 'window.ndjson.zst', Buffer.from('28b52ffd00b0050000410a', 'hex'), {
      damaged: 'any',
    }),
    wholeFile('zst-claims-16-exabytes', 'size.ndjson.zst', Buffer.from('28b52ffde0ffffffffffffffff010000', 'hex'), {
      damaged: true,
    }),
    wholeFile('zst-a-skippable-frame-that-is-not-there', 'skip.ndjson.zst', Buffer.from('502a4d18ffffffff00', 'hex'), {
      damaged: 'any',
    }),
    wholeFile('gz-only-a-mark', 'mark.ndjson.gz', Buffer.from('1f8b', 'hex'), { damaged: 'any' }),
    wholeFile('gz-of-nothing', 'nothing.ndjson.gz', gzipSync(''), { rejected: 0 }),
    wholeFile('zst-of-nothing', 'nothing.ndjson.zst', zstdCompressSync(Buffer.from('')), { rejected: 0 }),
    wholeFile('gz-in-gz', 'twice.ndjson.gz', gzipSync(gzipSync('{"type":"gap"}\n')), { rejected: 'some' }),
    wholeFile('zst-in-gz', 'twice.ndjson.gz', gzipSync(zstdCompressSync(Buffer.from('{}\n'))), { rejected: 'some' }),
    wholeFile(
      'ten-thousand-empty-members',
      'members.ndjson.gz',
      Buffer.concat(Array.from({ length: 10_000 }, () => gzipSync(''))),
      {
        rejected: 0,
      },
    ),
    wholeFile(
      'ten-thousand-empty-frames',
      'frames.ndjson.zst',
      Buffer.concat(Array.from({ length: 10_000 }, () => zstdCompressSync(Buffer.from('')))),
      {
        rejected: 0,
      },
    ),
  ];
}

function skippable(length: number): Buffer {
  const header = Buffer.from('502a4d1800000000', 'hex');
  header.writeUInt32LE(length, 4);
  return Buffer.concat([header, Buffer.alloc(length)]);
}

/** Decompression bombs: the content is `unit`, repeated up to `mebibytes`. */
function bombs(): CaseMaker[] {
  const bomb = (title: string, suffix: string, unit: string | Uint8Array, mebibytes: number, damaged: boolean) => {
    const pack = PACKS.find(([known]) => known === suffix)![1];
    const piece = pack(filled(bytesOf(unit), 64 * MEBIBYTE));
    const packed = Buffer.concat(Array.from({ length: mebibytes / 64 }, () => piece));
    return wholeFile(`${suffix}-${title}`, `bomb.ndjson.${suffix}`, packed, { damaged, rejected: damaged ? 'any' : 1 });
  };
  const line = '{"type":"snapshot","bids":[{"price":0.5,"size":1}],';
  return [
    bomb('a-gigabyte-of-zeros', 'gz', Uint8Array.of(0), 1024, false),
    bomb('a-gigabyte-of-zeros', 'zst', Uint8Array.of(0), 1024, true),
    bomb('a-gigabyte-of-one-line', 'gz', line, 1024, false),
    bomb('a-gigabyte-of-one-line', 'zst', line, 1024, true),
    bomb('a-bomb-of-newlines', 'zst', '\n', 128, true),
    wholeFile('gz-a-bomb-in-a-bomb', 'bomb.ndjson.gz', gzipSync(gzipSync(Buffer.alloc(64 * MEBIBYTE))), {
      rejected: 'some',
    }),
    wholeFile(
      'zst-lines-of-16-MB',
      'bomb.ndjson.zst',
      Buffer.concat(
        Array.from({ length: 12 }, () =>
          zstdCompressSync(Buffer.from(`{"type":"gap","reason":"${'é'.repeat(8 * MEBIBYTE - 100)}"}\n`)),
        ),
      ),
      { rejected: 'any', damaged: 'any' },
    ),
  ];
}

/** `unit` repeated up to `length` bytes. */
function filled(unit: Uint8Array, length: number): Buffer {
  return Buffer.alloc(length, unit);
}

/** Compressed files that are damaged, have wrong headers, or are decompression bombs. */
export function hostilePacked(): CaseMaker[] {
  return [...cutOff(), ...flipped(), ...lying(), ...bombs()];
}
