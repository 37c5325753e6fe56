import { describe, expect, test } from 'bun:test';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Importer } from '../../../src/import/importer.ts';
import { sourcesOf } from '../../../src/import/source.ts';
import { NOW_MS, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import {
  has,
  importNamed,
  importPath,
  MARKET,
  madeTar,
  madeZip,
  numbers,
  run,
  snapshots,
  writeAll,
} from './made-archives.ts';

const GOOD = { name: 'good.ndjson', content: MARKET + snapshots([1]) };
const BAD = snapshots([9], 1_776_808_400_000);
const MIB = 1024 * 1024;

/** The sentence about a container, whether the import failed with it or the report has it. */
function failureSentence({ report, error }: Awaited<ReturnType<typeof importNamed>>): string {
  return error === undefined ? (report.files.find((file) => file.error !== undefined)?.error ?? '') : String(error);
}

describe('a name leads nowhere', () => {
  test.each(['../up.ndjson', 'a/../../up.ndjson', '..', '/../up.ndjson'])(
    '%s is not read, and counted',
    async (name) => {
      for (const content of [madeZip([GOOD, { name, content: BAD }]), madeTar([GOOD, { name, content: BAD }])]) {
        using directory = temporaryDirectory();
        writeAll(directory.path, { 'in/a': content, 'in/b/up.txt': '' });
        const imported = await importPath(join(directory.path, 'in/a'), directory.path);
        expect(imported.sizes).toEqual([1]);
        expect(failureSentence(imported)).toContain(
          `'${name}' is not read because of a name that leads out of the container`,
        );
        expect(existsSync(join(directory.path, 'up.ndjson'))).toBe(false);
      }
    },
  );

  test.each(['/etc/abs.ndjson', '//abs.ndjson', './/./abs.ndjson'])('%s is one in the container', async (name) => {
    const inside = name.replaceAll(/(^|\/)(\.?\/)+/g, '$1').replace(/^\//, '');
    for (const content of [madeZip([GOOD, { name, content: BAD }]), madeTar([GOOD, { name, content: BAD }])]) {
      const { report, sizes } = await importNamed('a', content);
      expect(sizes).toEqual([1, 9]);
      expect(report.files.map(({ path }) => path).toSorted()).toEqual([`a/${inside}`, 'a/good.ndjson'].toSorted());
    }
  });

  test('separators of Windows are those of paths', async () => {
    const { report, sizes } = await importNamed('a.zip', madeZip([GOOD, { name: '..\\up.ndjson', content: BAD }]));
    expect(sizes).toEqual([1]);
    expect(report.files.at(0)?.error).toContain('a name that leads out of the container');
  });

  test('one of more than 1024 bytes is not read', async () => {
    const zip = madeZip([GOOD, { name: 'n'.repeat(1025), content: BAD }]);
    const imported = await importNamed('a.zip', zip);
    expect(imported.sizes).toEqual([1]);
    expect(failureSentence(imported)).toContain('is not read because of a name of more than 1024 bytes');
  });

  test('links and devices of a zip file are counted by their mode, those of a tar file by their type', async () => {
    const modes = [0o120777, 0o020666, 0o060666, 0o010666, 0o140777];
    const zip = madeZip([GOOD, ...modes.map((mode, index) => ({ name: `l${index}`, content: '/etc/passwd', mode }))]);
    const tar = madeTar([GOOD, ...['1', '2', '3', '4', '6', 'Z'].map((type) => ({ name: `l${type}`, type }))]);
    expect((await importNamed('a', zip)).report.notes).toEqual(["'a' has 5 links or devices, which are not read"]);
    expect((await importNamed('a', tar)).report.notes).toEqual(["'a' has 6 links or devices, which are not read"]);
  });
});

describe('a member that cannot be read does not take the others with it', () => {
  test.skipIf(!has('zip'))('one that is encrypted', async () => {
    using directory = temporaryDirectory();
    writeAll(directory.path, { 'good.ndjson': GOOD.content, 'secret.ndjson': BAD });
    run(
      directory.path,
      'sh',
      '-c',
      'zip -q a.zip good.ndjson && zip -q -P x a.zip secret.ndjson && zip -q -P x b.zip secret.ndjson',
    );
    const some = await importPath(join(directory.path, 'a.zip'), directory.path);
    expect(some.sizes).toEqual([1]);
    const sentence = "'secret.ndjson' is not read because of encryption: unpack it, and import the files in it";
    expect(failureSentence(some)).toEndWith(`a.zip': ${sentence}`);
    const all = await importPath(join(directory.path, 'b.zip'), directory.path);
    expect(failureSentence(all)).toContain(sentence);
  });

  test('one of an unknown method', async () => {
    const entries = [12, 14, 93, 9].map((method) => ({ name: `${method}.ndjson`, content: BAD, method }));
    const imported = await importNamed('a.zip', madeZip([GOOD, ...entries]));
    expect(imported.sizes).toEqual([1]);
    expect(failureSentence(imported)).toContain(
      "4 members, for example '12.ndjson', are not read because of an unknown method of compression",
    );
  });

  test.each([
    ['fewer bytes than it has', { size: 20 }, 'it has more bytes than the 20 that are stated'],
    ['more bytes than it has', { size: 100_000 }, 'of 100000 bytes'],
    ['another checksum', { crc: 1 }, 'its checksum differs'],
    ['more bytes than are read', { size: 0xfffffffe }, 'of 4294967294 bytes'],
  ])('one that states %s', async (_, stated, sentence) => {
    for (const method of [0, 8]) {
      const imported = await importNamed(
        'a.zip',
        madeZip([GOOD, { name: 'z.ndjson', content: BAD, method, ...stated }]),
      );
      expect(imported.sizes[0]).toBe(1);
      expect(imported.report.files.find(({ path }) => path === 'a.zip/z.ndjson')?.error).toContain(sentence);
    }
  });

  test('one whose bytes are those of another is damage', async () => {
    const again = numbers(50).map((index) => ({ ...GOOD, name: `${index}.ndjson`, isOverlapping: true }));
    const imported = await importNamed('a.zip', madeZip([GOOD, ...again]));
    expect(failureSentence(imported)).toContain('(its members overlap): it is damaged or cut off');
    // As many as the bytes of the file, with its list, could be.
    expect(imported.report.files.length).toBeLessThan(20);
  });

  test('holes of a sparse file are not taken for bytes', async () => {
    const tar = madeTar([GOOD, { name: 'sparse.ndjson', content: BAD, type: 'S' }]);
    expect(failureSentence(await importNamed('a.tar', tar))).toContain("'sparse.ndjson' is not read because of holes");
  });
});

describe('damage', () => {
  const lines = numbers(400).map((size) => snapshots([size], 1_776_808_300_000 + size));
  const members = numbers(8).map((part) => ({
    name: `part-${part}.ndjson`,
    content: (part === 1 ? MARKET : '') + lines.slice((part - 1) * 50, part * 50).join(''),
  }));
  const whole: readonly (readonly [string, Uint8Array])[] = [
    ['a.zip', madeZip(members)],
    ['a.tar', madeTar(members)],
    ['a.tar.gz', gzipSync(madeTar(members))],
  ];
  const cut = whole.flatMap(([name, content]) => numbers(9).map((tenths) => [name, tenths, content] as const));

  test.each(cut)(
    '%s cut off after %d tenths gives a sentence and a beginning of its records',
    async (name, tenths, content) => {
      const imported = await importNamed(name, content.slice(0, (content.length * tenths) / 10));
      expect(failureSentence(imported)).toContain(`'`);
      expect(failureSentence(imported)).toMatch(/damaged or cut off/);
      expect(imported.sizes).toEqual(numbers(imported.sizes.length));
      expect(imported.sizes.length).toBeLessThan(400);
      if (name === 'a.tar') expect(imported.sizes.length).toBeGreaterThan((tenths - 1) * 40 - 50);
      if (name === 'a.zip') expect(imported.sizes).toEqual([]);
      expect(imported.left).toEqual([]);
    },
  );

  test('a tar file without its end mark says so, and all members are read', async () => {
    const tar = madeTar(members);
    const imported = await importNamed('a.tar', tar.slice(0, tar.length - 1024));
    expect(imported.sizes).toHaveLength(400);
    expect(failureSentence(imported)).toContain('it ends before its end mark');
  });

  test('any flipped byte of a zip file gives its records, fewer, or a sentence, and never others', async () => {
    const zip = madeZip(members.slice(0, 2));
    for (let at = 3; at < zip.length; at += 61) {
      const flipped = zip.slice();
      flipped[at]! ^= 0x55;
      const { sizes, report, error } = await importNamed('a.zip', flipped);
      const isComplete = sizes.length === 100;
      const isSaid = error !== undefined || report.files.some((file) => file.error !== undefined);
      expect(sizes.every((size) => Number.isInteger(size) && size >= 1 && size <= 100) || isSaid).toBe(true);
      if (!isComplete) expect(isSaid || report.skipped.length > 0 || report.notes.length > 0).toBe(true);
    }
  });

  test.each([
    ['a checksum', (tar: Uint8Array) => tar.fill(0x37, 148, 154)],
    ['a size', (tar: Uint8Array) => tar.fill(0x41, 124, 135)],
    ['a negative size', (tar: Uint8Array) => tar.fill(0xff, 124, 136)],
  ])('%s of a tar header that is wrong ends the list', async (_, damage) => {
    const tar = madeTar([GOOD]);
    const second = damage(madeTar([{ name: 'z.ndjson', content: BAD }]));
    const imported = await importNamed('a.tar', Buffer.concat([tar.subarray(0, tar.length - 1024), second]));
    expect(imported.sizes).toEqual([1]);
    expect(failureSentence(imported)).toContain('(a header is not valid): it is damaged or cut off');
  });

  test('an extended header that states 2^60 bytes, or is never complete, is not read', async () => {
    for (const type of ['x', 'L']) {
      const tar = madeTar([GOOD, { name: 'ext', type, size: 8 ** 11 - 1 }]);
      const imported = await importNamed('a.tar', tar);
      expect(imported.sizes).toEqual([1]);
      expect(failureSentence(imported)).toContain('(a header is not complete)');
    }
  });

  test('one in a directory does not stop the import of the others', async () => {
    using directory = temporaryDirectory();
    writeAll(join(directory.path, 'in'), { 'a.zip': whole[0]![1].slice(0, 500), 'b.ndjson': MARKET });
    const imported = await importPath(join(directory.path, 'in'), directory.path);
    expect(imported.report.total.stored).toBe(1);
    expect(failureSentence(imported)).toContain(
      "a.zip' has no list of its members at its end: it is damaged or cut off",
    );
  });
});

describe('bounds', () => {
  test('more than 50,000 members are refused before one is read', async () => {
    const entries = numbers(50_001).map((index) => ({ name: `${index}`, content: '', method: 0 }));
    for (const [name, content] of [
      ['a.zip', madeZip(entries)],
      ['a.tar', madeTar(entries)],
    ] as const) {
      const { error, sizes } = await importNamed(name, content);
      expect(String(error)).toEndWith(`${name}' has more than 50000 members: unpack it, and import the files in it`);
      expect(sizes).toEqual([]);
    }
  });

  test('a bomb takes time and no memory, in whatever it is packed', async () => {
    const zeros = Buffer.alloc(128 * MIB);
    const gzipped = gzipSync(Buffer.concat([Buffer.from(MARKET + snapshots([1])), zeros, zeros]));
    const before = process.memoryUsage.rss();
    const packedTwice = await importNamed('a.zip', madeZip([{ name: 'a.ndjson.gz', content: gzipped }]));
    expect(packedTwice.report.files[0]?.error).toContain('expands to more than 8000 times its size');
    expect(packedTwice.sizes).toEqual([1]);
    const once = await importNamed(
      'a.zip',
      madeZip([{ name: 'a.ndjson', content: Buffer.concat([Buffer.from(MARKET), zeros]) }]),
    );
    expect(once.report.total).toMatchObject({ stored: 1, rejected: 1 });
    Bun.gc(true);
    expect(process.memoryUsage.rss() - before).toBeLessThan(300 * MIB);
  });
});

test('an import that is stopped leaves nothing behind, and what was read before is stored', async () => {
  using directory = temporaryDirectory();
  using place = temporaryArchive();
  using temporary = temporaryDirectory();
  const before = process.env.TMPDIR;
  process.env.TMPDIR = temporary.path;
  try {
    const many = snapshots(numbers(20_000));
    const tar = madeTar([
      { name: 'a.ndjson', content: MARKET + snapshots([1]) },
      { name: 'b.ndjson', content: many },
    ]);
    writeAll(directory.path, { 'a.tar.gz': gzipSync(tar) });
    const path = join(directory.path, 'a.tar.gz');
    for (const steps of [1, 3, 8]) {
      const controller = new AbortController();
      let reached = 0;
      const onProgress = () => {
        reached += 1;
        if (reached === steps) controller.abort();
      };
      const options = { clock: () => NOW_MS, signal: controller.signal, onProgress };
      const { stopped } = await new Importer(place.archive, options).run(sourcesOf([path]));
      expect(stopped).toBe(true);
      expect([...new Bun.Glob('**').scanSync({ cwd: temporary.path, onlyFiles: false })]).toEqual([]);
    }
    const aborted = { clock: () => NOW_MS, signal: AbortSignal.abort() };
    expect((await new Importer(place.archive, aborted).run(sourcesOf([path]))).stopped).toBe(true);
    expect(statSync(path).size).toBeGreaterThan(0);
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
});
