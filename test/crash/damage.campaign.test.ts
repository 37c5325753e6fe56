import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { chmodSync, copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { ACCOUNTS, RECORDINGS } from '../../src/store/database-file.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE, type Finished, runExecutable } from '../support/executable.ts';
import { LIGHT_START_MS, lightNdjson, writeLightRecording } from '../support/light-recording.ts';
import { ORDINARY_USER } from '../support/ordinary-user.ts';
import { REAL_BOOKS } from '../support/real-recordings.ts';
import { storedIn } from '../support/stored.ts';

const IMPORT = ['import', 'light.ndjson'];
/** Commands that open the accounts. */
const OPENING_ACCOUNTS = [
  ['serve', '--port', '0'],
  ['seed'],
  ['key', 'list'],
  ['key', 'create', '--tier', 'free'],
  ['account', 'list'],
  ['tier', 'list'],
];
/** Commands by the database that they open. */
const OPENING = {
  'bookreel.db': [['serve', '--port', '0'], ['seed'], IMPORT],
  'accounts.db': OPENING_ACCOUNTS,
};

/** Expects exit code 1, nothing on stdout, and one sentence that contains `reason`. */
function expectFailure({ code, stdout, stderr }: Finished, reason: string): void {
  expect(stderr).toContain(reason);
  expect(stderr).not.toContain('defect');
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
}

/** A working directory with a recording, and in `data` an archive with that recording and a key. */
async function workingDirectory(): Promise<Disposable & { readonly path: string; readonly data: string }> {
  const directory = temporaryDirectory();
  writeLightRecording(join(directory.path, 'light.ndjson'), 3000);
  const cwd = directory.path;
  expect((await runExecutable(['import', 'light.ndjson', '--data', 'data'], { cwd })).code).toBe(0);
  expect((await runExecutable(['key', 'create', '--tier', 'free', '--data', 'data'], { cwd })).code).toBe(0);
  return {
    path: cwd,
    data: join(cwd, 'data'),
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

describe('a recording that was cut off', () => {
  const SNAPSHOTS = 30_000;
  const whole = lightNdjson(SNAPSHOTS);

  test.each([
    ['.gz', gzipSync(whole)],
    ['.zst', zstdCompressSync(whole)],
  ])(
    '%s: the records before the cut are stored and reported, and the whole file adds the rest',
    async (suffix, packed) => {
      using directory = temporaryDirectory();
      const cwd = directory.path;
      const name = `cut.ndjson${suffix}`;
      for (const kept of [0.95, 0.5]) {
        rmSync(join(cwd, 'data'), { recursive: true, force: true });
        writeFileSync(join(cwd, name), packed.subarray(0, Math.floor(packed.length * kept)));
        const cut = await runExecutable(['import', name, '--data', 'data'], { cwd });
        expect(cut.code).toBe(1);
        expect(cut.stderr).toMatch(
          new RegExp(
            `^bookreel: '${name}' cannot be read to its end \\(.*\\): it is damaged or cut off; the records before the damage are stored\n$`,
          ),
        );
        const { integrity, series } = storedIn(join(cwd, 'data'));
        expect(integrity).toBe('ok');
        const books = series.filter(({ kind }) => kind === 'book');
        const stored = books.reduce((sum, { records }) => sum + records, 0);
        expect(stored).toBeGreaterThan(0);
        expect(stored).toBeLessThan(SNAPSHOTS);
        expect(cut.stdout).toContain(`${stored + 1} stored`);
        // The stored snapshots are the first ones: snapshots are 10 ms apart.
        expect(Math.max(...books.map(({ lastMs }) => lastMs))).toBe(LIGHT_START_MS + (stored - 1) * 10);
        writeFileSync(join(cwd, name), packed);
        const complete = await runExecutable(['import', name, '--data', 'data'], { cwd });
        expect(complete.code).toBe(0);
        expect(complete.stdout).toContain(`${SNAPSHOTS - stored} stored, ${stored + 1} duplicate`);
      }
    },
  );

  test.each([
    ['.gz', gzipSync(whole)],
    ['.zst', zstdCompressSync(whole, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })],
  ])('%s with a wrong byte in the middle is reported as damaged', async (suffix, packed) => {
    using directory = temporaryDirectory();
    const cwd = directory.path;
    const name = `garbled.ndjson${suffix}`;
    const garbled = Buffer.from(packed);
    garbled[Math.floor(garbled.length / 2)]! ^= 0xff;
    writeFileSync(join(cwd, name), garbled);
    const finished = await runExecutable(['import', name, '--data', 'data'], { cwd });
    expect(finished.code).toBe(1);
    expect(finished.stderr).toContain('it is damaged or cut off');
    expect(storedIn(join(cwd, 'data')).integrity).toBe('ok');
  });

  test('the files after a damaged one are still imported', async () => {
    using directory = temporaryDirectory();
    const cwd = directory.path;
    const packed = gzipSync(lightNdjson(100));
    writeFileSync(join(cwd, 'a.ndjson.gz'), packed.subarray(0, Math.floor(packed.length * 0.9)));
    writeFileSync(join(cwd, 'b.ndjson.gz'), packed);
    const finished = await runExecutable(['import', 'a.ndjson.gz', 'b.ndjson.gz', '--data', 'data', '--json'], { cwd });
    expect(finished.code).toBe(1);
    const report = JSON.parse(finished.stdout) as { files: { path: string; error?: string }[] };
    expect(report.files.map(({ path, error }) => [path, error !== undefined])).toEqual([
      ['a.ndjson.gz', true],
      ['b.ndjson.gz', false],
    ]);
    expect(storedIn(join(cwd, 'data')).series.filter(({ kind }) => kind === 'book')).toHaveLength(2);
  });
});

describe('a Parquet recording', () => {
  test.each([
    ['only its first four bytes', Buffer.from('PAR1')],
    [
      'random bytes between its magic numbers',
      Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(500, 7), Buffer.from('PAR1')]),
    ],
    ['a footer longer than itself', Buffer.from('PAR1....\xff\xff\xff\x7fPAR1', 'latin1')],
  ])('that is %s is damaged, and the exit code is 1', async (_, bytes) => {
    using directory = temporaryDirectory();
    const cwd = directory.path;
    writeFileSync(join(cwd, 'books.parquet'), bytes);
    const finished = await runExecutable(['import', 'books.parquet', '--data', 'data'], { cwd });
    expect(finished.code).toBe(1);
    expect(finished.stderr).toContain("'books.parquet' cannot be read as Parquet: it is damaged or cut off");
    expect(finished.stderr).not.toContain('defect');
    expect(finished.stdout).toContain(' 0 stored');
  });

  describe.skipIf(REAL_BOOKS === undefined)('of real books (needs real recordings)', () => {
    const real = REAL_BOOKS ?? '';
    const name = REAL_BOOKS === undefined ? '' : readdirSync(real).find((file) => file.endsWith('.parquet'))!;

    async function importChanged(change: (bytes: Buffer) => Buffer): Promise<Finished> {
      using directory = temporaryDirectory();
      const cwd = directory.path;
      copyFileSync(join(real, 'markets.ndjson'), join(cwd, 'markets.ndjson'));
      writeFileSync(join(cwd, 'books.parquet'), change(readFileSync(join(real, name))));
      return await runExecutable(['import', 'books.parquet', '--data', 'data'], { cwd });
    }

    test('is imported without changes', async () => {
      const { code, stderr } = await importChanged((bytes) => bytes);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    });

    test('that was cut off is damaged', async () => {
      const { code, stderr } = await importChanged((bytes) => bytes.subarray(0, bytes.length - 1000));
      expect(code).toBe(1);
      expect(stderr).toContain('it is damaged or cut off');
      expect(stderr).not.toContain('defect');
    });

    test('whose pages are overwritten but not its footer is refused, and the process does not crash', async () => {
      const { code, stderr } = await importChanged((bytes) => {
        const footerBytes = bytes.readUInt32LE(bytes.length - 8);
        return bytes.fill(0x5a, 1000, bytes.length - 8 - footerBytes);
      });
      expect(code).toBe(1);
      expect(stderr).toMatch(/damaged or cut off|books\.parquet:\d+: /);
      expect(stderr).not.toContain('defect');
    });

    test('without the column raw_data is an unknown format', async () => {
      const { code, stderr } = await importChanged((bytes) =>
        Buffer.from(bytes.toString('latin1').replaceAll('raw_data', 'row_data'), 'latin1'),
      );
      expect(code).toBe(1);
      expect(stderr).toContain("'books.parquet' is not a recording in a known format");
    });
  });
});

describe('a recording without read permission', () => {
  test.skipIf(ORDINARY_USER === undefined)(
    'is refused in one sentence, whether a file or a directory (needs an ordinary user)',
    async () => {
      using directory = temporaryDirectory();
      const cwd = directory.path;
      chmodSync(cwd, 0o777);
      for (const name of ['closed', 'half-open', join('half-open', 'closed')]) mkdirSync(join(cwd, name));
      for (const name of ['light.ndjson', join('half-open', 'light.txt')]) {
        writeLightRecording(join(cwd, name), 5);
        chmodSync(join(cwd, name), 0o000);
      }
      chmodSync(join(cwd, 'closed'), 0o000);
      chmodSync(join(cwd, 'half-open', 'closed'), 0o000);
      for (const [path, named] of [
        ['light.ndjson', 'light.ndjson'],
        ['closed', 'closed'],
        ['half-open/closed', 'half-open/closed'],
        ['half-open/light.txt', 'half-open/light.txt'],
        ['closed/inside.ndjson', 'closed/inside.ndjson'],
      ] as const) {
        expectFailure(asOrdinaryUser(['import', path, '--data', 'data'], cwd), `'${named}' cannot be read`);
      }
    },
  );
});

describe('a data directory', () => {
  const withPragma = (pragma: string) => (path: string) => {
    using database = new Database(path);
    database.run(pragma);
    database.run('PRAGMA wal_checkpoint(TRUNCATE)');
  };
  const overwritten = (path: string) => {
    const bytes = readFileSync(path);
    for (let page = 8192; page < bytes.length; page += 8192) bytes.fill(0xff, page, page + 200);
    writeFileSync(path, bytes);
  };

  test.each<[string, (path: string) => void, (file: keyof typeof OPENING) => string]>([
    [
      'a newer schema',
      withPragma('PRAGMA user_version = 99'),
      (file) =>
        `has schema 99, and this bookreel knows schemas up to ${file === 'bookreel.db' ? RECORDINGS.version : ACCOUNTS.version}: use the newer bookreel that wrote it`,
    ],
    [
      'a schema of earlier builds',
      withPragma('PRAGMA user_version = 0'),
      () =>
        'has schema 0, of an earlier bookreel: export it with the bookreel that wrote it, and import that into a new',
    ],
    ["another program's mark", withPragma('PRAGMA application_id = 1234'), () => 'belongs to another program'],
    [
      'a text file in place of the database',
      (path) => writeFileSync(path, 'To whom it may concern, '.repeat(1000)),
      () => 'is not a SQLite database',
    ],
    ['damaged pages', overwritten, () => 'is damaged: restore it from a backup'],
  ])('with %s is refused by every command, and does not change', async (_, change, reason) => {
    for (const file of ['bookreel.db', 'accounts.db'] as const) {
      using directory = await workingDirectory();
      const path = join(directory.data, file);
      change(path);
      const before = readFileSync(path);
      for (const command of OPENING[file]) {
        const finished = await runExecutable([...command, '--data', 'data'], { cwd: directory.path });
        expectFailure(finished, `'data/${file}' ${reason(file)}`);
        expect(readFileSync(path).equals(before)).toBe(true);
      }
    }
  });

  test('without its key secret is refused if it has keys, and gets a new secret if it has none', async () => {
    using directory = await workingDirectory();
    const secret = join(directory.data, 'key-secret');
    rmSync(secret);
    for (const command of OPENING_ACCOUNTS) {
      const finished = await runExecutable([...command, '--data', 'data'], { cwd: directory.path });
      expectFailure(finished, "'data/key-secret' is missing");
      expect(readdirSync(directory.data)).not.toContain('key-secret');
    }
    writeFileSync(secret, 'shortened');
    expectFailure(await runExecutable(['key', 'list', '--data', 'data'], { cwd: directory.path }), 'is damaged');
    const keyless = join(directory.path, 'keyless');
    await runExecutable(['seed', '--data', 'keyless'], { cwd: directory.path });
    rmSync(join(keyless, 'key-secret'));
    expect((await runExecutable(['tier', 'list', '--data', 'keyless'], { cwd: directory.path })).code).toBe(0);
    expect(readdirSync(keyless)).toContain('key-secret');
  });

  test.skipIf(ORDINARY_USER === undefined)(
    'without write or search permission is refused, with its name (needs an ordinary user)',
    async () => {
      using directory = await workingDirectory();
      const cwd = directory.path;
      chmodSync(cwd, 0o755);
      // Like a backup on a read-only medium.
      const archive = join(cwd, 'archive');
      cpSync(directory.data, archive, { recursive: true });
      for (const name of readdirSync(archive)) chmodSync(join(archive, name), 0o444);
      chmodSync(archive, 0o555);
      const closed = join(cwd, 'closed');
      mkdirSync(closed);
      chmodSync(closed, 0o000);
      // Commands that only read work in such an archive, see cli/read-only.long.test.ts.
      const writing = [['seed'], ['key', 'create', '--tier', 'free'], IMPORT];
      for (const [data, commands] of [
        ['archive', writing],
        ['closed', [...OPENING_ACCOUNTS, IMPORT]],
      ] as const) {
        for (const command of commands) {
          const finished = asOrdinaryUser([...command, '--data', data], cwd);
          expectFailure(finished, `'${data}/`);
          expect(finished.stderr).toMatch(/(?:check the directory|(?:check|change) its permissions)/);
          expect(finished.stderr).not.toContain('there is no archive');
        }
      }
      const new_ = asOrdinaryUser(['seed', '--data', 'archive/new'], cwd);
      expectFailure(new_, "'archive/new/");
    },
  );
});

function asOrdinaryUser(args: readonly string[], cwd: string): Finished {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...(ORDINARY_USER ?? []), EXECUTABLE, ...args], { cwd });
  return { code: exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
}
