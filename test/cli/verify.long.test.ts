import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bookCodec } from '../../src/segment/book-decoder.ts';
import { openArchive } from '../../src/store/archive.ts';
import { VerifyProgress } from '../../src/verify/progress.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import { importBytes, NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { writeManifest } from '../support/backup-manifest.ts';
import { runCommand } from '../support/command.ts';
import { otherBook, storeAsBefore } from '../support/earlier-archive.ts';
import { EXECUTABLE, runExecutable, startServer } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, LIGHT_MARKET, lightNdjson } from '../support/light-recording.ts';
import { ORDINARY_USER } from '../support/ordinary-user.ts';
import { sealAll } from '../support/sealed.ts';

interface VerifyDocument {
  readonly ok: boolean;
  readonly markets: readonly {
    readonly slug: string;
    readonly conditionId: string;
    readonly outcomes: readonly object[];
  }[];
  readonly problems: readonly { readonly kind: string; readonly segmentId: number | null; readonly sentence: string }[];
  readonly totals: Readonly<Record<string, number>>;
}

const verify = (data: string, ...args: string[]) => runCommand(['verify', '--data', data, ...args]);

/** A data directory with `count` snapshots of one market. */
async function lightArchive(count: number): Promise<Disposable & { readonly data: string; readonly path: string }> {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  const { code, stderr } = await runExecutable(['import', '-', '--data', data], { stdin: lightNdjson(count) });
  if (code !== 0) throw new Error(stderr);
  return { data, path: join(data, 'bookreel.db'), [Symbol.dispose]: () => directory[Symbol.dispose]() };
}

function change(path: string, sql: string): void {
  using database = new Database(path);
  database.run(sql);
}

describe('verify', () => {
  test('of the seeded archive finds no problem, and prints a line for each market with a weakness', async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'data');
    await runCommand(['seed', '--data', data]);
    const { code, stdout, stderr } = await verify(data);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^MARKET +SNAPSHOTS +PROBLEMS +OBSERVATIONS$/);
    expect(lines.at(-1)).toMatch(
      /^60 markets, \d+ snapshots, \d+ records in \d+ segments: no problems \(\d+ records\/s\)$/,
    );
    expect(lines.filter((line) => /^simulated-\S+ +up \d+, down \d+ +0 +\S/.test(line)).length).toBeGreaterThan(40);
  });

  test('as JSON has the same for every market, in one document', async () => {
    using place = await lightArchive(300);
    const { code, stdout, stderr } = await verify(place.data, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { ok, markets, problems, totals } = JSON.parse(stdout) as VerifyDocument;
    expect({ ok, problems }).toEqual({ ok: true, problems: [] });
    expect(totals).toMatchObject({ markets: 1, snapshots: 300, problems: 0, damage: 0 });
    expect(totals.recordsPerSecond).toBeGreaterThan(0);
    expect(markets).toHaveLength(1);
    expect(markets[0]).toMatchObject({
      slug: LIGHT_MARKET.slug,
      conditionId: LIGHT_CONDITION_ID,
      problems: 0,
      gaps: [],
      neverClosed: true,
      winnerDoubt: null,
    });
    expect(markets[0]!.outcomes).toMatchObject([
      {
        ...{ outcome: 'up', mirrored: false, snapshots: 150, crossed: 0, oneSided: 0, empty: 0, placeholder: 0 },
        ...{ beforeWindow: 0, afterWindow: 0, first: '2026-04-16T07:10:00.000Z', last: '2026-04-16T07:10:02.980Z' },
        ...{
          secondsWithout: 86_397,
          longestSilence: {
            from: '2026-04-16T07:10:02.980Z',
            to: '2026-04-17T07:10:00.000Z',
            milliseconds: 86_397_020,
          },
        },
        frozen: { ranges: 0, milliseconds: 0, longest: null },
      },
      { outcome: 'down', snapshots: 150 },
    ]);
  });

  test('of an archive without markets is one document too', async () => {
    using directory = temporaryDirectory();
    await runCommand(['key', 'create', '--tier', 'free', '--data', directory.path]);
    const { code, stdout } = await verify(directory.path, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, markets: [], problems: [] });
    expect((await verify(directory.path)).stdout).toStartWith(
      '0 markets, 0 snapshots, 0 records in 0 segments: no problems',
    );
  });

  test('names a segment with one changed byte, and ends with exit code 3', async () => {
    using place = await lightArchive(300);
    change(
      place.path,
      "UPDATE segments SET payload = CAST(substr(payload, 1, 40) || x'ff' || substr(payload, 42) AS BLOB) WHERE segment_id = 2",
    );
    const { code, stdout, stderr } = await verify(place.data);
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
    const sentences = stdout.split('\n').filter((line) => line.includes('does not match its digest'));
    expect(sentences).toHaveLength(1);
    expect(sentences[0]).toMatch(
      /^market btc-updown-24h-1776323400 \(0xabab.*\), (?:up|down) \S+, segment 2, 2026-04-16T07:10:0\S+Z–2026-04-16T07:10:0\S+Z: the segment does not match/,
    );
    expect(stdout).toMatch(/: 1 problem \(/);
    const document = JSON.parse((await verify(place.data, '--json')).stdout) as VerifyDocument;
    expect(document).toMatchObject({
      ok: false,
      problems: [{ kind: 'segment', segmentId: 2, sentence: sentences[0]! }],
    });
  });

  test('of a file whose pages are damaged says so in one sentence, without a stack, exit code 3', async () => {
    using place = await lightArchive(300);
    const bytes = readFileSync(place.path);
    for (let page = 8192; page < bytes.length; page += 8192) bytes.fill(0xff, page, page + 200);
    const first = Buffer.from(bytes);
    first.fill(0xff, 100, 300);
    for (const damaged of [bytes, first, Buffer.from('To whom it may concern, '.repeat(1000))]) {
      writeFileSync(place.path, damaged);
      const { code, stdout, stderr } = await verify(place.data);
      expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
      expect(stdout).toMatch(/damaged|is not a SQLite database|malformed/);
      expect(stdout).not.toMatch(/defect|\.ts\b|\bat \S+ \(|undefined/);
    }
  });

  test('names the instants at which recordings contradict once for each outcome, exit code 3, and notes gaps with books inside', async () => {
    using place = await lightArchive(300);
    const archive = openArchive(place.data, NOW_MS, { create: false });
    const market = archive.markets.findByConditionId(LIGHT_CONDITION_ID)!;
    const books = [...archive.snapshots.slices(market, 'up', 0, NOW_MS)].flatMap(({ payload }) =>
      bookCodec.decode(payload),
    );
    const others = books.slice(20, 50).map(({ timestampMs, book }) => ({ timestampMs, book: otherBook(book) }));
    storeAsBefore(archive, market, 'up', others);
    archive.database.write(() => {
      const [fromMs, toMs] = [books[100]!.timestampMs, books[110]!.timestampMs];
      archive.gaps.add(market.key, {
        fromMs,
        toMs,
        reason: 'the recorded book of up differs from the changes before it in 1 level',
      });
    });
    archive.database.close();
    const { code, stdout, stderr } = await verify(place.data);
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
    expect(stdout).toContain(
      `market ${LIGHT_MARKET.slug} (${LIGHT_CONDITION_ID}), up book, 2026-04-16T07:10:00.400Z: at 30 instants, of which this is the first, different imports stored different books: import the best recording again, which keeps the book that its hashes prove`,
    );
    expect(stdout).toContain('1 gap has stored books inside: import the best recording again');
    expect(stdout).toMatch(/: 1 problem \(/);
    const { problems, totals, markets } = JSON.parse((await verify(place.data, '--json')).stdout) as VerifyDocument;
    expect(problems).toMatchObject([{ kind: 'contradiction', segmentId: null }]);
    expect(totals).toMatchObject({ problems: 1, damage: 0 });
    expect(markets[0]!.outcomes).toMatchObject([
      { contradicting: 30, coveredGaps: 1 },
      { contradicting: 0, coveredGaps: 0 },
    ]);
  });

  test('reports a missing key secret when there are keys', async () => {
    using place = await lightArchive(3);
    await runCommand(['key', 'create', '--tier', 'free', '--data', place.data]);
    rmSync(join(place.data, 'key-secret'));
    const { code, stdout } = await verify(place.data);
    expect(code).toBe(3);
    expect(stdout).toContain("key-secret' is missing");
    expect(readdirSync(place.data)).not.toContain('key-secret');
  });

  test('works while a server is running and changes nothing of its directory', async () => {
    using place = await lightArchive(2000);
    await using server = await startServer(place.data);
    const names = () => readdirSync(place.data).sort();
    const before = names();
    const { code, stdout } = await verify(place.data);
    expect(code).toBe(0);
    expect(stdout).toContain('1 market, 2000 snapshots');
    expect(names()).toEqual(before);
    expect((await fetch(`${server.origin}/readyz`)).status).toBe(200);
  });

  test('with --market reads only the named markets, and refuses unknown names', async () => {
    using place = await lightArchive(30);
    const named = JSON.parse(
      (await verify(place.data, '--json', '--market', LIGHT_MARKET.slug, '--market', LIGHT_CONDITION_ID)).stdout,
    ) as VerifyDocument;
    expect(named.markets).toHaveLength(1);
    const { code, stdout, stderr } = await verify(place.data, '--market', 'nobody');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      "bookreel: no market has the conditionId or slug 'nobody': a server lists them at /v1/{coin}/markets\n",
    );
  });

  test.each([[['verify']], [['verify', '--json']], [['backup', 'copy.db']]])(
    '%j without an archive says so and creates nothing',
    async (args) => {
      using directory = temporaryDirectory();
      const { code, stdout, stderr } = await runExecutable([...args, '--data', 'missing'], { cwd: directory.path });
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      const sentence = args.includes('--json') ? (JSON.parse(stderr) as { error: string }).error : stderr;
      expect(sentence.replace('bookreel: ', '')).toStartWith("there is no archive in 'missing'");
      expect(readdirSync(directory.path)).toEqual([]);
    },
  );

  test('refuses an archive of another version, and other files', async () => {
    using place = await lightArchive(3);
    for (const version of [3, 99]) {
      change(place.path, `PRAGMA user_version = ${version}`);
      const said = `has schema ${version}`;
      expect(await verify(place.data)).toMatchObject({ code: 1, stderr: expect.stringContaining(said) });
    }
    change(place.path, 'PRAGMA application_id = 1234');
    expect(await verify(place.data)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('belongs to another program'),
    });
  });

  test.each([
    ['has the trigger "other"', 'CREATE TRIGGER other AFTER INSERT ON gaps BEGIN DELETE FROM api_keys; END'],
    ['has the view "other"', 'CREATE VIEW other AS SELECT * FROM api_keys'],
    ['has the table "other"', 'CREATE TABLE other (note TEXT)'],
    ['has the table "other"', 'CREATE VIRTUAL TABLE other USING fts5(note)'],
    ['has the index "other"', 'CREATE INDEX other ON gaps (reason)'],
    ['has the view "gaps"', 'DROP TABLE gaps; CREATE VIEW gaps AS SELECT 1 AS market_key'],
    ['has the table "given_ids"', 'ALTER TABLE given_ids ADD COLUMN note TEXT'],
    ['lacks the index "markets_by_name"', 'DROP INDEX markets_by_name'],
  ])('A schema that differs is the only problem, and restore refuses it. (%s)', async (difference, sql) => {
    using place = await lightArchive(3);
    change(place.path, sql);
    const sentence = `'${place.path}' ${difference}, unlike an archive of this program: restore from a backup that nobody changed`;
    const { code, stdout } = await verify(place.data, '--json');
    const { problems } = JSON.parse(stdout) as VerifyDocument;
    expect({ code, problems }).toEqual({
      code: 3,
      problems: [expect.objectContaining({ kind: 'database', sentence })],
    });
    const data = join(place.data, '..', 'restored');
    const backup = join(place.data, '..', 'backup');
    mkdirSync(backup);
    cpSync(place.path, join(backup, 'bookreel.db'));
    writeManifest(backup);
    const restored = await runCommand(['restore', backup, '--data', data]);
    expect({ ...restored, stderr: '' }).toEqual({ code: 1, stdout: '', stderr: '' });
    expect(restored.stderr).toContain(`bookreel.db' ${difference}, unlike an archive of this program`);
    expect(existsSync(data)).toBe(false);
  });

  test('goes on where a run was interrupted and says so, and with --all begins again', async () => {
    using place = temporaryArchive();
    const { archive, path } = place;
    await importBytes(archive, lightNdjson(300));
    sealAll(archive);
    archive.database.close();
    const before = await verify(path, '--json');
    const nowMs = Date.now();
    const interrupted = async () => {
      using progress = new VerifyProgress(path, nowMs, true);
      const onProgress = () => {
        throw new Error('interrupted');
      };
      await expect(verifyDirectory(path, { clock: () => nowMs, progress, onProgress })).rejects.toThrow();
    };
    const withoutTimes = (stdout: string) => stdout.replaceAll(/"(?:elapsedMs|recordsPerSecond)":\d+/g, '');
    for (const args of [['--json'], ['--json', '--jobs', '2']]) {
      await interrupted();
      const { code, stdout, stderr } = await verify(path, ...args);
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: `continues a run that was interrupted: 1 market was verified since ${new Date(nowMs).toISOString()}; --all reads it again\n`,
      });
      expect(withoutTimes(stdout)).toBe(withoutTimes(before.stdout));
    }
    await interrupted();
    expect(await verify(path, '--all')).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(path).filter((name) => name.startsWith('verify'))).toEqual([]);
    expect((await verify(path, '--all', '--market', LIGHT_MARKET.slug)).code).toBe(2);
  });

  test.skipIf(ORDINARY_USER === undefined)('works where nothing may be written (needs an ordinary user)', async () => {
    using place = await lightArchive(200);
    await runCommand(['key', 'create', '--tier', 'pro', '--data', place.data]);
    using directory = temporaryDirectory();
    chmodSync(directory.path, 0o755);
    const medium = join(directory.path, 'medium');
    mkdirSync(medium);
    for (const name of ['accounts.db', 'bookreel.db', 'key-secret']) cpSync(join(place.data, name), join(medium, name));
    for (const name of readdirSync(medium)) chmodSync(join(medium, name), 0o444);
    chmodSync(medium, 0o555);
    const { exitCode, stdout, stderr } = Bun.spawnSync([
      ...(ORDINARY_USER ?? []),
      EXECUTABLE,
      'verify',
      '--data',
      medium,
    ]);
    chmodSync(medium, 0o755);
    expect({ exitCode, stderr: stderr.toString() }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout.toString()).toContain('200 snapshots');
    expect(readdirSync(medium).sort()).toEqual(['accounts.db', 'bookreel.db', 'key-secret']);
  });
});
