import { describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { sourcesOf } from '../../src/import/source.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { CONDITION_ID, START_MS, sampleMarket, samplePrice, sampleSnapshot } from '../support/sample-records.ts';

const MARKET = JSON.stringify(sampleMarket());
const RECORDS = `${MARKET}\n${JSON.stringify(sampleSnapshot())}\n`;
const PLAIN = Buffer.from(RECORDS);
const GZIP = gzipSync(PLAIN);
const ZSTD = zstdCompressSync(PLAIN);

/** A market and many prices, so that there are records before a damaged middle. */
const MANY = Buffer.from(
  [MARKET, ...Array.from({ length: 20_000 }, (_, i) => JSON.stringify(priceAt(i)))].map((line) => `${line}\n`).join(''),
);

function priceAt(i: number) {
  // Varying digits, so that compression leaves enough bytes to cut.
  return samplePrice({ timestamp: START_MS + i, price: Number(Math.abs(Math.sin(i)).toFixed(12)) });
}

/** Writes files by name into a directory; an object is a subdirectory. */
interface Tree {
  readonly [name: string]: string | Uint8Array | Tree;
}

function write(directory: string, tree: Tree): void {
  mkdirSync(directory, { recursive: true });
  for (const [name, content] of Object.entries(tree)) {
    const path = join(directory, name);
    if (typeof content === 'string' || content instanceof Uint8Array) writeFileSync(path, content);
    else write(path, content);
  }
}

describe('a recording is recognised by its content', () => {
  const files: [name: string, content: string | Uint8Array][] = [
    ['plain.ndjson', PLAIN],
    ['plain.txt', PLAIN],
    ['plain.ndjson.gz', PLAIN],
    ['plain.parquet', PLAIN],
    ['no-extension', PLAIN],
    ['gzip.ndjson.gz', GZIP],
    ['gzip.ndjson', GZIP],
    ['gzip.zst', GZIP],
    ['zstd.ndjson.zst', ZSTD],
    ['zstd.ndjson.gz', ZSTD],
    ['zstd', ZSTD],
    // The frames of pzstd: each comes after one that is skipped and states its size.
    ['pzstd.ndjson.zst', Buffer.concat([Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0]), new Uint8Array(4), ZSTD])],
    ['two-members.gz', Buffer.concat([gzipSync(`${MARKET}\n`), gzipSync(JSON.stringify(sampleSnapshot()))])],
    [
      'two-frames.zst',
      Buffer.concat([
        zstdCompressSync(Buffer.from(`${MARKET}\n`)),
        zstdCompressSync(Buffer.from(JSON.stringify(sampleSnapshot()))),
      ]),
    ],
    ['after-blank-lines.log', `\n\n${RECORDS}`],
    ['after-a-byte-order-mark.json', `\uFEFF${RECORDS}`],
    ['after-a-line-of-something-else', `# made by hand\n${RECORDS}`],
  ];
  test.each(files)('not by its name: %s', async (name, content) => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const path = join(directory.path, name);
    writeFileSync(path, content);
    const { files, total } = await importPaths(place.archive, path);
    expect(files[0]!.format).toBe('bookreel NDJSON');
    expect(total).toMatchObject({ stored: 2, rejected: name === 'after-a-line-of-something-else' ? 1 : 0 });
  });

  const strangers: [string, string | Uint8Array][] = [
    ['text', 'Just some words.\n'],
    ['JSON of something else', '{"slug":"btc-updown-5m-1776323400","outcome":null}\n'],
    ['JSON with a type of something else', '{"type":"trade","price":0.5}\n'],
    ['CSV', 'timestamp,price\n1,0.5\n'],
    ['nothing', ''],
    ['blank lines', '\n\n \n'],
    ['bytes', Uint8Array.from({ length: 1000 }, (_, i) => (i * 37) % 256)],
    ['brackets without end', '['.repeat(2_000_000)],
    ['braces without end', '{"a":'.repeat(300_000)],
    ['a list of numbers', '[1, 2, 3]\n'],
    ['an object with an empty list of markets', '{"name": "x", "markets": []}'],
    ['a quote without end', '"feed_ts_ms,value'],
    ['an archive of something else', gzipSync('Just some words.\n')],
    ['a damaged archive', GZIP.subarray(0, 12)],
    ['records after more lines than are looked at', `${'x\n'.repeat(100)}${RECORDS}`],
  ];
  test.each(strangers)('%s is not recognised: skipped in a directory, an error when named', async (_, content) => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const path = join(directory.path, 'notes');
    writeFileSync(path, content);
    const report = await importPaths(place.archive, directory.path);
    expect(report).toMatchObject({ files: [], skipped: [path], total: { read: 0 } });
    const importing = importPaths(place.archive, path);
    expect(importing).rejects.toMatchObject({
      kind: 'unreadable',
      message: expect.stringContaining(`'${path}' is not a recording`),
    });
    await importing.catch(() => undefined);
  });

  test('a file with the name of a recording is read as one, so that its bad lines are reported', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const path = join(directory.path, 'monday.ndjson');
    writeFileSync(path, 'Just some words.\n');
    const report = await importPaths(place.archive, path);
    expect(report.rejections).toEqual([{ path, line: 1, kind: 'unknown', reason: 'the line is not JSON' }]);
  });

  test('a file with only the magic bytes of Parquet is reported as damaged', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const path = join(directory.path, 'books.parquet');
    writeFileSync(path, 'PAR1 and so on, but no footer');
    const report = await importPaths(place.archive, path);
    expect(report.files).toMatchObject([{ path, read: 0, error: expect.stringContaining('damaged or cut off') }]);
  });
});

describe('a recording that was cut off or damaged', () => {
  const flipped = (bytes: Uint8Array) => {
    const copy = Uint8Array.from(bytes);
    copy[copy.length >> 1]! ^= 0xff;
    return copy;
  };
  const gzip = gzipSync(MANY);
  // With a checksum, like the zstd command: without one a wrong byte may be missed.
  const zstd = zstdCompressSync(MANY, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  const damaged: [string, string, Uint8Array][] = [
    ['gzip without its end', 'a.ndjson.gz', gzip.subarray(0, gzip.length >> 1)],
    ['gzip without its checksum', 'a.ndjson.gz', gzip.subarray(0, -8)],
    ['gzip with a wrong byte', 'a.ndjson.gz', flipped(gzip)],
    ['gzip with something after it', 'a.ndjson.gz', Buffer.concat([gzip, Buffer.from('and more')])],
    ['zstd without its end', 'a.ndjson.zst', zstd.subarray(0, zstd.length >> 1)],
    ['zstd without its last bytes', 'a.ndjson.zst', zstd.subarray(0, -3)],
    ['zstd with a wrong byte', 'a.ndjson.zst', flipped(zstd)],
    ['zstd with something after it', 'a.ndjson.zst', Buffer.concat([zstd, Buffer.from('and more')])],
    ['zstd whose second frame has no end', 'a.ndjson.zst', Buffer.concat([zstd, zstd.subarray(0, 1000)])],
  ];
  test.each(damaged)(
    '%s is reported, what comes before is kept, and the next file is read',
    async (what, name, bytes) => {
      using place = temporaryArchive();
      using directory = temporaryDirectory();
      const path = join(directory.path, name);
      const next = join(directory.path, 'b.ndjson');
      writeFileSync(path, bytes);
      writeFileSync(next, RECORDS);
      const report = await importPaths(place.archive, path, next);
      const [cut, whole] = report.files;
      expect(cut!.error).toContain(`'${path}' cannot be read to its end`);
      expect(cut!.error).toContain('damaged or cut off');
      // After a wrong byte lines may be rejected, but the records before it are stored.
      if (!what.includes('wrong byte')) expect(cut!.rejected).toBe(0);
      expect(cut!.stored).toBeGreaterThan(1000);
      expect(whole).toMatchObject({ path: next, read: 2, rejected: 0, error: undefined });
    },
  );

  test('plain text that ends within a record has one bad line', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const path = join(directory.path, 'a.ndjson');
    writeFileSync(path, PLAIN.subarray(0, -10));
    const report = await importPaths(place.archive, path);
    expect(report.rejections).toEqual([{ path, line: 2, kind: 'unknown', reason: 'the line is not JSON' }]);
    expect(report.total.stored).toBe(1);
  });
});

describe('a directory', () => {
  test('Files of a directory are read by name, numbers in names by value, so part 10 follows part 9.', async () => {
    using directory = temporaryDirectory();
    write(directory.path, {
      'z.ndjson': '',
      'capture-10.jsonl': '',
      'capture-9.jsonl': '',
      'markets.ndjson.zst': '',
      'markets.ndjson': '',
      'a.ndjson': '',
      'B.ndjson': '',
      markets: { 'x.ndjson': '', 'markets.ndjson.gz': '', deeper: { 'a.ndjson': '' }, 'y.ndjson': '' },
      'other-markets.ndjson': '',
    });
    const found = sourcesOf([directory.path]);
    expect(found.every(({ named }) => !named)).toBe(true);
    expect(found.map(({ path }) => relative(directory.path, path))).toEqual([
      'markets.ndjson',
      'markets.ndjson.zst',
      'a.ndjson',
      'B.ndjson',
      'capture-9.jsonl',
      'capture-10.jsonl',
      'markets/markets.ndjson.gz',
      'markets/deeper/a.ndjson',
      'markets/x.ndjson',
      'markets/y.ndjson',
      'other-markets.ndjson',
      'z.ndjson',
    ]);
  });

  test('may have files that are not recordings: they are skipped and listed', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    write(directory.path, {
      LICENSE: 'words\n',
      'a.ndjson': JSON.stringify(sampleSnapshot()),
      'markets.ndjson': MARKET,
      sub: { 'b.csv': 'a,b\n' },
    });
    const report = await importPaths(place.archive, directory.path);
    expect(report.skipped.map((path) => relative(directory.path, path))).toEqual(['LICENSE', 'sub/b.csv']);
    expect(report.total).toMatchObject({ stored: 2, rejected: 0 });
  });

  test('is searched through links to files, not through links to directories or broken links', async () => {
    using directory = temporaryDirectory();
    using elsewhere = temporaryDirectory();
    write(elsewhere.path, { 'real.ndjson': RECORDS });
    symlinkSync(join(elsewhere.path, 'real.ndjson'), join(directory.path, 'link.ndjson'));
    symlinkSync(elsewhere.path, join(directory.path, 'linked-directory'));
    symlinkSync(directory.path, join(directory.path, 'loop'));
    symlinkSync('/nowhere/at/all', join(directory.path, 'dangling.ndjson'));
    expect(sourcesOf([directory.path]).map(({ path }) => relative(directory.path, path))).toEqual(['link.ndjson']);
  });

  test('is read once if a file in it is named too', () => {
    using directory = temporaryDirectory();
    write(directory.path, { 'a.ndjson': '', 'b.ndjson': '' });
    const [a, b] = ['a.ndjson', 'b.ndjson'].map((name) => join(directory.path, name));
    expect(sourcesOf([b!, directory.path, b!]).map(({ path }) => path)).toEqual([b!, a!]);
  });
});

describe('a path', () => {
  test('to a Parquet file adds the market records of its directory', () => {
    using directory = temporaryDirectory();
    write(directory.path, { 'books.parquet': 'PAR1', 'more.parquet': 'PAR1', 'markets.ndjson.gz': '', 'a.ndjson': '' });
    const path = (name: string) => join(directory.path, name);
    expect(sourcesOf([path('books.parquet'), path('more.parquet')]).map((source) => source.path)).toEqual(
      ['markets.ndjson.gz', 'books.parquet', 'more.parquet'].map(path),
    );
    expect(sourcesOf([path('a.ndjson')]).map((source) => source.path)).toEqual([path('a.ndjson')]);
  });

  test('that does not exist is an error before anything is read', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    write(directory.path, { 'a.ndjson': RECORDS });
    const missing = join(directory.path, 'missing.ndjson');
    const importing = importPaths.bind(undefined, place.archive, join(directory.path, 'a.ndjson'), missing);
    expect(importing()).rejects.toMatchObject({ kind: 'unreadable', message: expect.stringContaining(missing) });
    expect(place.archive.markets.findByConditionId(CONDITION_ID)).toBeUndefined();
  });

  test.skipIf(process.getuid?.() === 0)('to a file that may not be read is reported (skipped for root)', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    write(directory.path, { 'a.ndjson': RECORDS });
    const path = join(directory.path, 'a.ndjson');
    chmodSync(path, 0);
    expect(importPaths(place.archive, path)).rejects.toMatchObject({ kind: 'unreadable' });
  });
});

test('A file whose name is not UTF-8 is not read, and the sentence says to rename it.', async () => {
  using place = temporaryArchive();
  using directory = temporaryDirectory();
  writeFileSync(Buffer.from(`${directory.path}/caf\u00e9.ndjson`, 'latin1'), RECORDS);
  const { files } = await importPaths(place.archive, directory.path);
  expect(files[0]!.error).toContain('cannot be read: rename it, its name is not UTF-8');
});
