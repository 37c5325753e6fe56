import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import { importMapped } from '../mapping/mapped-import.ts';
import {
  CONDITION_ID,
  has,
  importNamed,
  importPath,
  MARKET,
  madeTar,
  madeZip,
  numbers,
  run,
  SLUG,
  snapshots,
  writeAll,
} from './made-archives.ts';

const LONG = `${'a-folder-with-a-long-name/'.repeat(6)}names-are-longer-than-100-bytes`;
const FILES = {
  'market.ndjson': MARKET,
  'sub/part-1.ndjson': snapshots([1, 2]),
  [`${LONG}/part-2.ndjson`]: snapshots([3, 4], 1_776_808_310_000),
  'notes.txt': 'not a recording\n',
};

/** Programs that make archives of the directory `in`, and how. */
const MADE: readonly (readonly [string, readonly string[], string])[] = [
  ['deflated.zip', ['zip'], '(cd in && zip -qr ../deflated.zip .)'],
  ['stored.zip', ['zip'], '(cd in && zip -q0r ../stored.zip .)'],
  ['zip64.zip', ['zip'], '(cd in && zip -qr -fz ../zip64.zip .)'],
  ['descriptors.zip', ['zip'], '(cd in && zip -qr - . | cat > ../descriptors.zip)'],
  [
    'python.zip',
    ['python3'],
    `python3 -c "
import zipfile, os
with zipfile.ZipFile('python.zip', 'w', zipfile.ZIP_DEFLATED) as z:
  for at, _, names in os.walk('in'):
    for n in names:
      with z.open(os.path.relpath(os.path.join(at, n), 'in'), 'w', force_zip64=True) as f: f.write(open(os.path.join(at, n), 'rb').read())"`,
  ],
  ['ustar.tar', ['tar'], 'tar -C in --format=ustar -cf ustar.tar .'],
  ['pax.tar', ['tar'], 'tar -C in --format=pax -cf pax.tar .'],
  ['gnu.tar', ['tar'], 'tar -C in --format=gnu -cf gnu.tar .'],
  ['absolute.tar', ['tar'], 'tar -P --format=gnu -cf absolute.tar "$PWD/in"'],
  ['a.tar.gz', ['tar'], 'tar -C in -czf a.tar.gz .'],
  ['a.tgz', ['tar'], 'tar -C in -czf a.tgz .'],
  ['a.tar.zst', ['tar', 'zstd'], 'tar -C in -c . | zstd -q > a.tar.zst'],
  ['a.tar.xz', ['tar', 'xz'], 'tar -C in -c . | xz > a.tar.xz'],
  [
    'python.tar',
    ['python3'],
    `python3 -c "
import tarfile
with tarfile.open('python.tar', 'w', format=tarfile.PAX_FORMAT) as t: t.add('in', arcname='.')"`,
  ],
];

describe('the members of a container are read as the files of a directory', () => {
  for (const [name, programs, command] of MADE) {
    test.skipIf(!has(...programs))(`${name}, which ${programs.join(' and ')} made`, async () => {
      using directory = temporaryDirectory();
      writeAll(join(directory.path, 'in'), FILES);
      run(directory.path, 'sh', '-c', command);
      const { report, sizes, left, error } = await importPath(join(directory.path, name), directory.path);
      expect(error).toBeUndefined();
      expect(sizes).toEqual([1, 2, 3, 4]);
      expect(report.total).toMatchObject({ read: 5, stored: 5, rejected: 0 });
      expect(report.files.every((file) => file.error === undefined)).toBe(true);
      expect(report.skipped).toHaveLength(1);
      expect(report.skipped[0]).toEndWith('/notes.txt');
      if (name !== 'absolute.tar') {
        expect(report.files.map(({ path }) => path)).toEqual([
          `${name}/market.ndjson`,
          `${name}/${LONG}/part-2.ndjson`,
          `${name}/sub/part-1.ndjson`,
        ]);
      }
      expect(left).toEqual([]);
    });
  }

  test('a member is itself compressed', async () => {
    const entries = [
      { name: 'a.ndjson.zst', content: zstdCompressSync(MARKET) },
      { name: 'b.ndjson.gz', content: gzipSync(snapshots([1, 2])) },
    ];
    for (const method of [0, 8]) {
      const zip = madeZip(entries.map((entry) => ({ ...entry, method })));
      expect((await importNamed('a.zip', zip)).sizes).toEqual([1, 2]);
    }
    expect((await importNamed('a.tar', madeTar(entries))).sizes).toEqual([1, 2]);
  });

  test('a compressed member of many chunks is read as one', async () => {
    // Digits of hashes are packed to half their size at best.
    const digits = numbers(16_384).map((index) => Bun.SHA256.hash(String(index), 'hex'));
    const content = `${MARKET}${snapshots([1])}${digits.join('')}\n${snapshots([2], 1_776_808_310_000)}`;
    using directory = temporaryDirectory();
    writeAll(directory.path, { content });
    const packed = [
      { name: 'a.ndjson.gz', content: gzipSync(content) },
      { name: 'a.ndjson.zst', content: zstdCompressSync(content) },
      ...(has('xz') ? [{ name: 'a.ndjson.xz', content: run(directory.path, 'xz', '-0c', 'content') }] : []),
    ];
    for (const entry of packed) {
      for (const container of [madeTar([entry]), madeZip([{ ...entry, method: 0 }]), madeZip([entry])]) {
        const { report, sizes } = await importNamed('a', container);
        expect(report.total).toMatchObject({ read: 4, stored: 3, rejected: 1 });
        expect(report.files[0]?.error).toBeUndefined();
        expect(sizes).toEqual([1, 2]);
      }
    }
  });

  test('market records are read first, wherever they are, and part 10 after part 9', async () => {
    const parts = [10, 9, 2].map((part) => ({
      name: `part-${part}.ndjson`,
      content: snapshots([part], 1_776_808_300_000 + part),
    }));
    for (const [name, content] of [
      ['a.zip', madeZip([...parts, { name: 'z.ndjson', content: MARKET }])],
      ['a.tar', madeTar([...parts, { name: 'z.ndjson', content: MARKET }])],
    ] as const) {
      const { report, sizes } = await importNamed(name, content);
      const read = report.files.map(({ path }) => path.slice(path.indexOf('/') + 1));
      expect(read).toEqual(['z.ndjson', 'part-2.ndjson', 'part-9.ndjson', 'part-10.ndjson']);
      expect(sizes).toEqual([2, 9, 10]);
    }
  });

  test('Parquet and SQLite are read from a copy that is removed', async () => {
    using directory = temporaryDirectory();
    const raw = (size: number) =>
      JSON.stringify({
        ...{ event_type: 'book', market: CONDITION_ID, asset_id: '1111', timestamp: String(1_776_808_300_000 + size) },
        ...{ bids: [{ price: '0.5', size: String(size) }], asks: [] },
      });
    const columnData = [{ name: 'raw_data', data: [raw(1), raw(2)], type: 'STRING' as const }];
    const parquet = new Uint8Array(parquetWriteBuffer({ columnData }));
    const market = { name: 'm.ndjson', content: MARKET };
    for (const [name, content] of [
      ['a.zip', madeZip([{ name: 'b.parquet', content: parquet }, market])],
      ['a.tar', madeTar([{ name: 'b.parquet', content: parquet }, market])],
      ['a.tar.gz', gzipSync(madeTar([{ name: 'b.parquet', content: parquet }, market]))],
    ] as const) {
      const { report, sizes, left } = await importNamed(name, content);
      expect(sizes).toEqual([1, 2]);
      expect(report.files.at(-1)?.format).toBe('Parquet of book messages');
      expect(left).toEqual([]);
    }
    // A damaged one is named by its place in the container.
    const cut = await importNamed('a.zip', madeZip([{ name: 'b.parquet', content: parquet.slice(0, 200) }, market]));
    expect(cut.report.files.at(-1)?.error).toBe(
      "'a.zip/b.parquet' cannot be read as Parquet: it is damaged or cut off",
    );
    expect(cut.left).toEqual([]);

    const path = join(directory.path, 'rows.db');
    using database = new Database(path);
    database.run('CREATE TABLE quotes (t INTEGER, bid REAL)');
    database.run('INSERT INTO quotes VALUES (1776808300, 0.5)');
    database.close();
    const mapping = `format = "sqlite"
[rows]
table = "quotes"
[time]
field = "t"
unit = "s"
[market]
slug = { value = "${SLUG}" }
[outcome]
value = "up"
[midpoints]
price = "bid"
`;
    using place = temporaryArchive();
    const zip = madeZip([{ name: 'rows.db', content: readFileSync(path) }, market]);
    const { files } = await importMapped(place.archive, mapping, zip, 'a.zip');
    expect(files.map(({ format, stored }) => [format, stored])).toEqual([
      ['bookreel NDJSON', 1],
      ['mapping my.toml', 1],
    ]);
  });

  test('one that is found in a directory is read too', async () => {
    using directory = temporaryDirectory();
    writeAll(join(directory.path, 'in'), {
      'a.zip': madeZip([{ name: 'b.ndjson', content: snapshots([1]) }]),
      'c.tar.gz': gzipSync(madeTar([{ name: 'm.ndjson', content: MARKET }])),
    });
    const { report, sizes } = await importPath(join(directory.path, 'in'), directory.path);
    expect(report.files.map(({ path }) => path)).toEqual(['in/c.tar.gz/m.ndjson', 'in/a.zip/b.ndjson']);
    expect(sizes).toEqual([1]);
  });

  test('what macOS adds is skipped', async () => {
    const names = ['__MACOSX/._b.ndjson', 'sub/._b.ndjson', '.DS_Store', 'sub/.DS_Store'];
    const entries = [{ name: 'b.ndjson', content: MARKET }, ...names.map((name) => ({ name, content: MARKET }))];
    for (const content of [madeZip(entries), madeTar(entries)]) {
      const { report } = await importNamed('a', content);
      expect(report.files.map(({ path }) => path)).toEqual(['a/b.ndjson']);
      expect(report.skipped.toSorted()).toEqual(names.map((name) => `a/${name}`).toSorted());
      expect(report.notes).toEqual([]);
    }
  });

  test('two members of one name are both read, because nothing says which counts', async () => {
    const entries = [
      { name: 'a.ndjson', content: MARKET + snapshots([1]) },
      { name: 'a.ndjson', content: snapshots([2], 1_776_808_301_000) },
    ];
    for (const content of [madeZip(entries), madeTar(entries)])
      expect((await importNamed('a', content)).sizes).toEqual([1, 2]);
  });

  test.skipIf(!has('tar', 'zip'))('links are counted and not followed', async () => {
    using directory = temporaryDirectory();
    writeAll(directory.path, { 'in/a.ndjson': MARKET + snapshots([1]), 'secret.ndjson': snapshots([7], 1) });
    symlinkSync('../secret.ndjson', join(directory.path, 'in/link.ndjson'));
    run(
      directory.path,
      'sh',
      '-c',
      'ln in/a.ndjson in/hard.ndjson && tar -C in -cf a.tar . && cd in && zip -qry ../a.zip .',
    );
    for (const [name, note] of [
      ['a.tar', "'a.tar' has 2 links or devices, which are not read"],
      ['a.zip', "'a.zip' has 1 link or device, which is not read"],
    ] as const) {
      const { report, sizes } = await importPath(join(directory.path, name), directory.path);
      expect(sizes).toEqual([1]);
      expect(report.notes).toEqual([note]);
    }
  });
});

describe('a zip file of another program is refused by its own name', () => {
  test.each([
    ['book.xlsx', ['[Content_Types].xml', 'xl/workbook.xml'], 'an Office file (xlsx): convert it to Parquet'],
    ['arrays.npz', ['x.npy', 'y.npy'], 'an archive of NumPy (npz), such as those of hftbacktest'],
  ])('%s', async (name, names, kind) => {
    const zip = madeZip(names.map((member) => ({ name: member, content: MARKET })));
    const { error, sizes } = await importNamed(name, zip);
    expect(String(error)).toContain(`cannot be imported as it is, because it is ${kind}`);
    expect(sizes).toEqual([]);
  });
});

describe('a container in a container is refused with one sentence', () => {
  test.each([
    ['inner.zip', 'a zip file', madeZip([{ name: 'a.ndjson', content: MARKET }])],
    ['inner.tar', 'a tar file', madeTar([{ name: 'a.ndjson', content: MARKET }])],
    ['inner.tar.gz', 'a tar file', gzipSync(madeTar([{ name: 'a.ndjson', content: MARKET }]))],
  ])('%s', async (name, kind, content) => {
    const entries = [
      { name: 'b.ndjson', content: MARKET + snapshots([1]) },
      { name, content },
    ];
    for (const outer of [madeZip(entries), madeTar(entries)]) {
      const { report, sizes } = await importNamed('outer', outer);
      expect(sizes).toEqual([1]);
      expect(report.files).toHaveLength(1);
      expect(report.notes).toEqual([
        `'outer/${name}' cannot be imported as it is, because it is ${kind}: unpack it, and import the files in it`,
      ]);
    }
  });
});

describe.skipIf(!has('mkfifo'))('from a pipe, with one sentence and nothing stored,', () => {
  const tar = madeTar([{ name: 'a.ndjson', content: MARKET }]);
  test.each([
    [
      'zip',
      madeZip([{ name: 'a.ndjson', content: MARKET }]),
      'a zip file cannot be read from a pipe: give the name of the file',
    ],
    ['tar', tar, 'a tar file cannot be read from a pipe: give the name of the file'],
    ['tar.gz', gzipSync(tar), 'a tar file cannot be read from a pipe: give the name of the file'],
    ['xz', Buffer.from('\u00fd7zXZ\0\0', 'latin1'), 'xz cannot be read from a pipe: decompress it on the way'],
  ])('%s is refused', async (_, content, sentence) => {
    using directory = temporaryDirectory();
    writeAll(directory.path, { content });
    run(directory.path, 'mkfifo', 'pipe');
    const writer = Bun.spawn(['sh', '-c', 'cat content > pipe'], { cwd: directory.path });
    const { error, sizes } = await importPath(join(directory.path, 'pipe'), directory.path);
    expect(String(error)).toContain(sentence);
    expect(sizes).toEqual([]);
    await writer.exited;
  });
});

describe('a container without a recording is refused', () => {
  test.each([
    ['a.zip', madeZip([{ name: 'notes.txt', content: 'nothing' }])],
    ['empty.zip', madeZip([])],
    ['a.tar', madeTar([{ name: 'notes.txt', content: 'nothing' }])],
  ])('%s', async (name, content) => {
    const { error } = await importNamed(name, content);
    expect(String(error)).toContain('has no member that is a recording in a known format');
  });
});

describe.skipIf(!has('xz'))('xz', () => {
  const COUNT = 5000;
  const LINES = MARKET + snapshots(numbers(COUNT));
  const xzOf = (text: string, ...args: string[]): Uint8Array => {
    using directory = temporaryDirectory();
    writeAll(directory.path, { a: text });
    return run(directory.path, 'xz', '-c', ...args, 'a');
  };
  const packed = (...args: string[]) => xzOf(LINES, ...args);

  test.each([
    ['of the strongest level', packed('-9e')],
    ['of several blocks', packed('--block-size=64KiB')],
    ['of several streams', Buffer.concat([packed(), xzOf('\n')])],
  ])('%s is read', async (_, content) => {
    const { sizes, error } = await importNamed('a.ndjson.xz', content);
    expect(error).toBeUndefined();
    expect(sizes).toEqual(numbers(COUNT));
  });

  test.each(numbers(9))(
    'cut off after %d tenths, it keeps the records before the damage and says so',
    async (tenths) => {
      const whole = packed('--block-size=64KiB');
      const { report, sizes, error } = await importNamed('a.ndjson.xz', whole.slice(0, (whole.length * tenths) / 10));
      const sentence = error === undefined ? report.files[0]?.error : String(error);
      expect(sentence).toContain("a.ndjson.xz'");
      expect(sizes).toEqual(numbers(sizes.length));
      expect(sizes.length).toBeLessThan(COUNT);
      if (tenths === 9) expect(sizes.length).toBeGreaterThan(COUNT / 2);
    },
  );

  test('flipped bits are noticed', async () => {
    const whole = packed();
    whole[whole.length >> 1]! ^= 0xff;
    const { report } = await importNamed('a.ndjson.xz', whole);
    expect(report.files[0]?.error).toContain('its xz data are not valid');
  });

  test.each([
    ['--lzma2=dict=128MiB', 'its dictionary is larger than 64 MiB, decompress it with xz -d'],
    ['--check=sha256', 'it uses an xz option that is not supported, decompress it with xz -d'],
  ])('%s is refused with what to do', async (option, sentence) => {
    const { report, error } = await importNamed('a.ndjson.xz', packed(option));
    expect(error === undefined ? report.files[0]?.error : String(error)).toContain(sentence);
  });
});
