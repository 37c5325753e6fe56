import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { backUp } from '../../src/store/backup.ts';
import { expandInPlace, secretDigest, writeManifest } from '../support/backup-manifest.ts';
import { BackupWorkspaces, isServedTo } from '../support/backup-workspaces.ts';
import { hasDisk, smallDisk } from '../support/disks.ts';
import { EXECUTABLE, type Finished, runExecutable, startServer } from '../support/executable.ts';
import { LIGHT_MARKET, lightNdjson, writeLightRecording } from '../support/light-recording.ts';
import { contentDigest, storedIn } from '../support/stored.ts';

const workspaces = new BackupWorkspaces();
afterAll(async () => await workspaces[Symbol.asyncDispose]());

/** One sentence on stderr, nothing on stdout. */
function expectRefusal({ code, stdout, stderr }: Finished, expected: number, part: string): void {
  expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(stderr).toStartWith('bookreel: ');
  expect(stderr).toContain(part);
  expect(stderr).not.toContain('defect');
}

function flipSomeByte(path: string): void {
  using database = new Database(path);
  database.run(
    "UPDATE segments SET payload = CAST(substr(payload, 1, 40) || x'ff' || substr(payload, 42) AS BLOB) WHERE segment_id = (SELECT MIN(segment_id) FROM segments)",
  );
}

describe('backup --keep', () => {
  test('writes a backup of its own name, and says what it deleted', async () => {
    using workspace = await workspaces.archiveOf(5);
    const first = await workspace.run('backup', 'kept', '--keep', '1', '--data', 'data');
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(/\/kept\/bookreel-20\d\d-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z\n$/);
    expect(first.stderr).toMatch(
      /^\d+ bytes in 2 databases, [1-9]\d* bytes written, verified and restored; it has the key secret\n$/,
    );
    const [name] = workspace.names('kept');
    const older = name!.replace(/-20\d\d-/, '-2020-');
    renameSync(workspace.file(`kept/${name}`), workspace.file(`kept/${older}`));
    const second = await workspace.run('backup', 'kept', '--keep', '1', '--data', 'data', '--json');
    expect(JSON.parse(second.stdout)).toMatchObject({ deleted: [older], files: [{}, {}] });
    expect(workspace.names('kept')).toHaveLength(1);
  });

  test.skipIf(!hasDisk((parent) => smallDisk(parent, '1m')))(
    'on a full disk keeps the earlier ones, and leaves nothing (needs root)',
    async () => {
      using workspace = await workspaces.archiveOf(5);
      using disk = smallDisk(workspace.path, '64m')!;
      const kept = join(disk.path, 'kept');
      const back = async () => await workspace.run('backup', kept, '--keep', '1', '--data', 'data');
      expect((await back()).code).toBe(0);
      const before = readdirSync(kept);
      disk.fill(true);
      expectRefusal(await back(), 1, 'MB left, and this needs up to');
      expect(readdirSync(kept)).toEqual(before);
    },
  );

  test.each([
    [['--keep', '0'], 'it must be an integer from 1 to 10000'],
    [['--keep', '1.5'], 'it must be an integer from 1 to 10000'],
    [['--keep', '7', '--force'], "option '--keep <count>' cannot be used with option '--force'"],
  ])('refuses %p', async (options, sentence) => {
    using workspace = await workspaces.archiveOf(1);
    const { code, stderr } = await workspace.run('backup', 'kept', ...options, '--data', 'data');
    expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)]);
    expect(workspace.names()).toEqual(['data']);
  });
});

describe('backup and restore', () => {
  test('give the whole archive back, with its keys, for its owner only', async () => {
    using workspace = await workspaces.archiveOf(500);
    const backup = await workspace.run('backup', 'copy', '--data', 'data');
    expect(backup).toMatchObject({ code: 0, stdout: `${workspace.file('copy')}\n` });
    expect(backup.stderr).toMatch(
      /^\d+ bytes in 2 databases, [1-9]\d* bytes written, verified; it has the key secret\n$/,
    );
    expect(workspace.names('copy')).toEqual(['accounts.db.zst', 'bookreel.db.zst', 'key-secret', 'manifest.json']);
    for (const name of workspace.names('copy'))
      expect(statSync(workspace.file(`copy/${name}`)).mode & 0o777).toBe(0o600);
    expect(statSync(workspace.file('copy')).mode & 0o777).toBe(0o700);
    expect(workspace.names()).toEqual(['copy', 'data']);
    expect(workspace.names('data')).toEqual(['accounts.db', 'bookreel.db', 'key-secret', 'last-backup.json']);

    const restored = await workspace.run('restore', 'copy', '--data', 'again');
    expect(restored).toMatchObject({ code: 0, stdout: 'again\n' });
    expect(contentDigest(workspace.file('again'))).toBe(contentDigest(workspace.file('data')));
    expect(readFileSync(workspace.file('again/key-secret'), 'utf8')).toBe(
      readFileSync(workspace.file('data/key-secret'), 'utf8'),
    );
    expect(workspace.names('again')).toEqual(['accounts.db', 'bookreel.db', 'key-secret', 'serve.lock']);
    for (const name of ['accounts.db', 'bookreel.db', 'key-secret'])
      expect(statSync(workspace.file(`again/${name}`)).mode & 0o777).toBe(0o600);
    expect(statSync(workspace.file('again')).mode & 0o777).toBe(0o700);
    expect(await isServedTo(workspace.file('again'), workspace.key)).toBe(true);
    expect((await workspace.run('verify', '--data', 'again')).code).toBe(0);
  });

  test('print their result as JSON with --json', async () => {
    using workspace = await workspaces.archiveOf(5);
    const backup = await workspace.run('backup', 'copy', '--data', 'data', '--json');
    const files = ['accounts.db', 'bookreel.db'].map((name) => {
      const bytes = Bun.zstdDecompressSync(readFileSync(workspace.file(`copy/${name}.zst`)));
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return { name, at: expect.stringMatching(/^20\d\d-.*Z$/), bytes: bytes.length, sha256 };
    });
    const keySecretSha256 = secretDigest(workspace.file('data'));
    const sealed = { files: 0, newFiles: 0, bytesWritten: 0 };
    expect(JSON.parse(backup.stdout)).toEqual({
      directory: workspace.file('copy'),
      files,
      keySecretSha256,
      sealed,
      writtenBytes: files.reduce((sum, { name }) => sum + statSync(workspace.file(`copy/${name}.zst`)).size, 0),
      deleted: [],
    });
    expect(JSON.parse(readFileSync(workspace.file('copy/manifest.json'), 'utf8'))).toEqual({
      format: 'bookreel-backup',
      version: 1,
      files,
      keySecretSha256,
    });
    const restored = await workspace.run('restore', 'copy', '--data', 'again', '--json');
    expect(JSON.parse(restored.stdout)).toEqual({ data: 'again', files, sealed, keptAs: [], refused: null });
  });

  test('have the accounts, grants and audit, and what a server wrote to activity.db', async () => {
    using workspace = await workspaces.archiveOf(3);
    const account = 'desk@example.com';
    await workspace.run('account', 'create', account, '--data', 'data');
    await workspace.run('account', 'grant', account, '--tier', 'pro', '--data', 'data');
    const shown = async (data: string) =>
      (await workspace.run('account', 'show', account, '--json', '--data', data)).stdout;
    const keys = async (data: string) => (await workspace.run('key', 'list', '--json', '--data', data)).stdout;
    const server = await startServer(workspace.file('data'));
    await fetch(`${server.origin}/v1/account`, { headers: { authorization: `Bearer ${workspace.key}` } });
    expect(await server.stop()).toBe(0);
    expect(await keys('data')).toContain('"lastUsedAt": "20');
    const { stdout } = await workspace.run('backup', 'copy', '--data', 'data', '--json');
    // Activity first: each later copy has all accounts and keys that it names.
    const { files } = JSON.parse(stdout) as { files: { name: string; at: string }[] };
    expect(files.map(({ name }) => name)).toEqual(['activity.db', 'accounts.db', 'bookreel.db']);
    expect(files.map(({ at }) => at)).toEqual(files.map(({ at }) => at).sort());
    expect((await workspace.run('restore', 'copy', '--data', 'again')).code).toBe(0);
    expect(await shown('again')).toBe(await shown('data'));
    expect(await keys('again')).toBe(await keys('data'));
    expect((await workspace.run('verify', '--data', 'again')).code).toBe(0);
  });

  test('work for an archive without keys or key secret', async () => {
    using workspace = await workspaces.archiveOf(5);
    for (const name of ['accounts.db', 'key-secret']) rmSync(workspace.file(`data/${name}`));
    expect((await workspace.run('backup', 'copy', '--data', 'data')).code).toBe(0);
    expect(workspace.names('copy')).toEqual(['bookreel.db.zst', 'manifest.json']);
    expect((await workspace.run('restore', 'copy', '--data', 'again')).code).toBe(0);
    expect((await workspace.run('key', 'create', '--tier', 'free', '--data', 'again')).code).toBe(0);
  });
});

describe('backup', () => {
  test('has one state of the archive while a server and an import are running', async () => {
    using workspace = await workspaces.archiveOf(1);
    await using _server = await startServer(workspace.file('data'));
    const count = 30_000;
    writeLightRecording(workspace.file('light.ndjson'), count);
    const importing = runExecutable(['import', 'light.ndjson', '--data', 'data'], { cwd: workspace.path });
    let done = false;
    void importing.finally(() => (done = true));
    const copies: string[] = [];
    do {
      const name = `copy-${copies.length}`;
      expect(await workspace.run('backup', name, '--data', 'data')).toMatchObject({ code: 0 });
      copies.push(name);
    } while (!done && copies.length < 20);
    expect((await importing).code).toBe(0);
    const kept: number[] = [];
    for (const [index, name] of copies.entries()) {
      expect(await workspace.run('restore', name, '--data', `again-${index}`)).toMatchObject({ code: 0 });
      const { integrity, series } = storedIn(workspace.file(`again-${index}`));
      expect(integrity).toBe('ok');
      kept.push(series.filter(({ kind }) => kind === 'book').reduce((sum, { records }) => sum + records, 0));
    }
    expect(kept).toEqual([...kept].sort((a, b) => a - b));
    expect(kept.some((records) => records > 1 && records < count)).toBe(true);
  }, 120_000);

  test('replaces a backup only with --force', async () => {
    using workspace = await workspaces.archiveOf(20);
    await workspace.run('backup', 'copy', '--data', 'data');
    const first = readFileSync(workspace.file('copy/bookreel.db.zst'));
    await runExecutable(['import', '-', '--data', 'data'], { cwd: workspace.path, stdin: lightNdjson(500) });
    expectRefusal(
      await workspace.run('backup', 'copy', '--data', 'data'),
      1,
      'exists already: name another directory, or replace it with --force',
    );
    expect(readFileSync(workspace.file('copy/bookreel.db.zst')).equals(first)).toBe(true);
    expect((await workspace.run('backup', 'copy', '--force', '--data', 'data')).code).toBe(0);
    expect(readFileSync(workspace.file('copy/bookreel.db.zst')).equals(first)).toBe(false);
    expect(workspace.names()).toEqual(['copy', 'data']);
  });

  test('backup --force replaces a directory with our manifest, the databases and the key secret, and nothing else.', async () => {
    using workspace = await workspaces.archiveOf(3);
    await workspace.run('backup', 'copy', '--data', 'data');
    const other = { folder: ['notes'], project: ['app.js', 'manifest.json'], 'folder/notes': undefined };
    for (const [name, names] of Object.entries(other)) {
      if (names !== undefined) mkdirSync(workspace.file(name));
      for (const file of names ?? []) writeFileSync(workspace.file(`${name}/${file}`), '{"name": "Mine"}');
      expectRefusal(await workspace.run('backup', name, '--force', '--data', 'data'), 1, 'is not a backup');
      if (names !== undefined) expect(workspace.names(name)).toEqual(names);
    }
    // Copied, expanded and served: it is a data directory now, though it has a manifest.
    cpSync(workspace.file('copy'), workspace.file('live'), { recursive: true });
    expandInPlace(workspace.file('live'));
    expect(await isServedTo(workspace.file('live'), workspace.key)).toBe(true);
    const served = workspace.names('live');
    for (const name of ['copy/bookreel.db.before', 'copy/site']) {
      if (name.endsWith('site')) mkdirSync(workspace.file(name));
      else writeFileSync(workspace.file(name), 'mine');
      const refused = await workspace.run('backup', 'copy', '--force', '--data', 'data');
      expectRefusal(refused, 1, `copy' has '${name.slice(5)}', which no backup has`);
      rmSync(workspace.file(name), { recursive: true });
    }
    expectRefusal(await workspace.run('backup', 'live', '--force', '--data', 'data'), 1, 'which no backup has');
    expect(workspace.names('live')).toEqual(served);
    expect((await workspace.run('backup', 'copy', '--force', '--data', 'data')).code).toBe(0);
  });

  test('keeps a directory that is created during the copy', async () => {
    using workspace = await workspaces.archiveOf(3);
    const [data, target] = [workspace.file('data'), workspace.file('copy')];
    const check = async () => {
      mkdirSync(target);
      writeFileSync(join(target, 'notes'), 'mine');
    };
    const reasons = [
      [false, 'exists already'],
      [true, 'is not a backup'],
    ] as const;
    for (const [force, reason] of reasons) {
      await expect(backUp(data, target, Date.now, { force, check })).rejects.toThrow(reason);
      expect(workspace.names('copy')).toEqual(['notes']);
      expect(workspace.names()).toEqual(['copy', 'data']);
      rmSync(target, { recursive: true });
    }
  });

  test('A backup never has files of two archives: a restore is refused while it runs.', async () => {
    using workspace = await workspaces.archiveOf(3);
    using other = await workspaces.archiveOf(4);
    const data = workspace.file('data');
    await other.run('backup', workspace.file('other'), '--data', 'data');
    const codes: number[] = [];
    // The clock is read before each copy.
    const clock = () => {
      const args = ['restore', workspace.file('other'), '--force', '--data', data];
      codes.push(Bun.spawnSync([EXECUTABLE, ...args]).exitCode);
      return Date.now();
    };
    await backUp(data, workspace.file('copy'), clock, { force: false, check: async () => undefined });
    expect(codes).toEqual([4, 4]);
    expect((await workspace.run('restore', 'copy', '--data', 'again')).code).toBe(0);
    expect(await isServedTo(workspace.file('again'), workspace.key)).toBe(true);
    const replaced = () => {
      cpSync(join(data, 'bookreel.db'), join(data, 'newer'));
      renameSync(join(data, 'newer'), join(data, 'bookreel.db'));
      return Date.now();
    };
    const second = backUp(data, workspace.file('second'), replaced, { force: false, check: async () => undefined });
    await expect(second).rejects.toThrow('were just replaced: run this again');
    expect(workspace.names()).not.toContain('second');
  });

  test('with --force replaces the secret of another archive together with it', async () => {
    using workspace = await workspaces.archiveOf(20);
    using other = await workspaces.archiveOf(3);
    await workspace.run('backup', 'copy', '--data', 'data');
    const old = readFileSync(workspace.file('copy/key-secret'), 'utf8');
    expect((await workspace.run('backup', 'copy', '--force', '--data', other.file('data'))).code).toBe(0);
    expect(readFileSync(workspace.file('copy/key-secret'), 'utf8')).not.toBe(old);
    await workspace.run('restore', 'copy', '--data', 'again');
    expect(await isServedTo(workspace.file('again'), other.key)).toBe(true);
    expect(await isServedTo(workspace.file('again'), workspace.key)).toBe(false);
  });

  test('never goes into the data directory, by whatever name', async () => {
    using workspace = await workspaces.archiveOf(3);
    symlinkSync(workspace.file('data'), workspace.file('link'));
    for (const name of ['data/bookreel.db', 'data/key-secret', 'data/copy', 'link/bookreel.db', './data/../data/x']) {
      expectRefusal(
        await workspace.run('backup', name, '--force', '--data', 'data'),
        2,
        'lies in the data directory itself',
      );
    }
    for (const name of ['data', 'link'])
      expectRefusal(await workspace.run('backup', name, '--force', '--data', 'data'), 2, 'lies in the data directory');
    mkdirSync(workspace.file('data/deep/deeper'), { recursive: true });
    expectRefusal(await workspace.run('backup', 'data/deep/deeper/copy', '--data', 'data'), 2, 'lies in the data');
    rmSync(workspace.file('data/deep'), { recursive: true });
    // A directory that contains the data directory is not replaced, also if it has a manifest.
    await workspace.run('backup', 'copy', '--data', 'data');
    renameSync(workspace.file('data'), workspace.file('copy/data'));
    const contained = await workspace.run('backup', 'copy', '--force', '--data', 'copy/data');
    expectRefusal(contained, 2, "'copy' contains the data directory");
    renameSync(workspace.file('copy/data'), workspace.file('data'));
    expectRefusal(await workspace.run('backup', 'nowhere/copy', '--data', 'data'), 1, 'nowhere');
    expect(workspace.names('data')).toEqual(['accounts.db', 'bookreel.db', 'key-secret', 'last-backup.json']);
  });

  test('of a damaged archive names the segment, leaves no file and ends with exit code 3', async () => {
    using workspace = await workspaces.archiveOf(300);
    flipSomeByte(workspace.file('data/bookreel.db'));
    const { code, stdout, stderr } = await workspace.run('backup', 'copy', '--data', 'data');
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toMatch(/segment \d+/);
    expect(stderr).toContain("the copy of 'data' is not kept");
    expect(workspace.names()).toEqual(['data']);
    const bytes = readFileSync(workspace.file('data/bookreel.db'));
    for (let page = 8192; page < bytes.length; page += 8192) bytes.fill(0xff, page, page + 200);
    writeFileSync(workspace.file('data/bookreel.db'), bytes);
    expectRefusal(await workspace.run('backup', 'copy', '--data', 'data'), 3, 'damaged: restore it from a backup');
    expect(workspace.names()).toEqual(['data']);
  });

  test('Prices that contradict a winner are no damage: backup and restore accept the archive.', async () => {
    using workspace = await workspaces.archiveOf(3);
    const market = { ...LIGHT_MARKET, winner: 'down', priceStart: 1, priceEnd: 2 };
    await runExecutable(['import', '-', '--data', 'data'], {
      cwd: workspace.path,
      stdin: `${JSON.stringify(market)}\n`,
    });
    expect((await workspace.run('verify', '--data', 'data')).code).toBe(3);
    expect((await workspace.run('backup', 'copy', '--data', 'data')).code).toBe(0);
    expect((await workspace.run('restore', 'copy', '--data', 'again')).code).toBe(0);
  });

  test('of an archive that lost its key secret is refused', async () => {
    using workspace = await workspaces.archiveOf(3);
    rmSync(workspace.file('data/key-secret'));
    expectRefusal(await workspace.run('backup', 'copy', '--data', 'data'), 1, "key-secret' is missing");
    expect(workspace.names()).toEqual(['data']);
  });
});

describe('restore', () => {
  test('refuses a directory with an archive, and with --force renames that archive', async () => {
    using workspace = await workspaces.withBackup();
    await runExecutable(['import', '-', '--data', 'data'], { cwd: workspace.path, stdin: lightNdjson(900) });
    const later = contentDigest(workspace.file('data'));
    expectRefusal(await workspace.run('restore', 'copy', '--data', 'data'), 1, "'data' holds an archive");
    expect(contentDigest(workspace.file('data'))).toBe(later);
    // The directory was that of a node before.
    writeFileSync(workspace.file('data/bookreel.db.replica'), '');
    for (const number of [1, 2]) {
      const { code, stderr } = await workspace.run('restore', 'copy', '--force', '--data', 'data');
      expect(code).toBe(0);
      expect(stderr).toContain(
        `the previous archive is now data/bookreel.db.before-restore-${number}, data/accounts.db.before-restore-${number}`,
      );
    }
    expect(storedIn(workspace.file('data')).series.find(({ kind }) => kind === 'book')?.records).toBe(20);
    // The key secret is the same, so it is not renamed.
    expect(workspace.names('data').filter((name) => !/-(?:wal|shm)$/.test(name))).toEqual([
      ...['accounts.db', 'accounts.db.before-restore-1', 'accounts.db.before-restore-2'],
      ...['bookreel.db', 'bookreel.db.before-restore-1', 'bookreel.db.before-restore-2'],
      ...['key-secret', 'last-backup.json', 'serve.lock'],
    ]);
    mkdirSync(workspace.file('old'));
    for (const name of ['accounts.db', 'bookreel.db'])
      renameSync(workspace.file(`data/${name}.before-restore-1`), workspace.file(`old/${name}`));
    expect(contentDigest(workspace.file('old'))).toBe(later);
  });

  test('renames the key secret of that archive too', async () => {
    using workspace = await workspaces.withBackup();
    using other = await workspaces.archiveOf(3);
    expect((await workspace.run('restore', 'copy', '--force', '--data', other.file('data'))).code).toBe(0);
    expect(other.names('data')).toContain('key-secret.before-restore-1');
    expect(await isServedTo(other.file('data'), workspace.key)).toBe(true);
    expect(await isServedTo(other.file('data'), other.key)).toBe(false);
  });

  test('restore --market and --day take markets into an archive that is served, and leave those that it has.', async () => {
    using workspace = await workspaces.archiveOf(40);
    const { slug } = LIGHT_MARKET;
    await workspace.run('seal', '--data', 'data');
    expect((await workspace.run('backup', 'copy', '--data', 'data')).code).toBe(0);
    const before = (await workspace.run('export', '--data', 'data')).stdout;
    const some = (...args: string[]) => workspace.run('restore', 'copy', '--data', 'data', ...args);
    const present = 'the archive has 1 such market already: replace with --force';
    expectRefusal(await some('--market', slug), 1, present);
    await using server = await startServer(workspace.file('data'));
    expect((await workspace.run('delete', '--market', slug, '--all', '--yes', '--data', 'data')).code).toBe(0);
    expect(await some('--market', slug)).toEqual({ code: 0, stdout: '1 market restored\n', stderr: '' });
    const headers = { authorization: `Bearer ${workspace.key}` };
    expect((await fetch(`${server.origin}/v1/btc/markets/${slug}/snapshots`, { headers })).status).toBe(200);
    expect((await workspace.run('export', '--data', 'data')).stdout).toBe(before);
    expectRefusal(await some('--day', '2026-04-16'), 1, present);
    expect(await some('--day', '2026-04-16', '--force')).toMatchObject({
      stdout: '1 market restored, 1 of them in place of another state\n',
    });
    expect(JSON.parse((await some('--day', '2026-04-16', '--force', '--json')).stdout)).toEqual({
      ...{ restored: 1, replaced: 1, present: 0 },
    });
    expectRefusal(await some('--day', '2026-04-17'), 1, "'copy' has no market that began on this day");
    expectRefusal(await some('--market', 'nosuch'), 1, "'copy' has no market with the conditionId or slug 'nosuch'");
    for (const wrong of [
      ['--day', '2026-4-16'],
      ['--day', '2026-04-16', '--market', slug],
      ['--market', slug, '--revoked', 'x'],
    ]) {
      expect((await some(...wrong)).code).toBe(2);
    }
    expect(workspace.names('data').filter((name) => name.includes('partial'))).toEqual([]);
  });

  test('restore refuses a directory that is served or used by another command, with exit code 4.', async () => {
    using workspace = await workspaces.withBackup();
    {
      await using _server = await startServer(workspace.file('data'));
      for (const force of [[], ['--force']]) {
        expectRefusal(
          await workspace.run('restore', 'copy', ...force, '--data', 'data'),
          4,
          'is being served by another bookreel',
        );
      }
    }
    using database = new Database(workspace.file('data/bookreel.db'));
    database.query('SELECT COUNT(*) FROM markets').get();
    expectRefusal(
      await workspace.run('restore', 'copy', '--force', '--data', 'data'),
      4,
      'is being used by another command',
    );
    expect(workspace.names('data').filter((name) => name.includes('restore') || name.includes('partial'))).toEqual([]);
  });

  test('restore refuses a backup that differs from its manifest, creates no directory, and ends with exit code 3.', async () => {
    using workspace = await workspaces.withBackup(300);
    const names = workspace.names('copy');
    const whole = new Map(names.map((name) => [name, readFileSync(workspace.file(`copy/${name}`))]));
    const refusedFor = async (name: string, bytes: Uint8Array | undefined, reason: string) => {
      const path = workspace.file(`copy/${name}`);
      if (bytes === undefined) rmSync(path);
      else writeFileSync(path, bytes);
      for (const data of [['again'], ['data', '--force']])
        expectRefusal(await workspace.run('restore', 'copy', '--data', ...data), 3, `'copy/${name}' ${reason}`);
      writeFileSync(path, whole.get(name)!);
    };
    for (const name of ['accounts.db.zst', 'bookreel.db.zst']) {
      const bytes = whole.get(name)!;
      const flipped = Buffer.from(bytes);
      flipped[bytes.length - 1]! ^= 1;
      for (const other of [flipped, bytes.subarray(0, bytes.length >> 1), Buffer.from('a letter '.repeat(3000))])
        await refusedFor(name, other, 'was changed after the backup, or is damaged');
      await refusedFor(name, undefined, 'is missing');
    }
    const manifest = whole.get('manifest.json')!.toString();
    for (const text of [
      '',
      '{}',
      '[]',
      'null',
      manifest.replace('bookreel-backup', 'x'),
      manifest.replace('"accounts.db"', '"../x"'),
    ])
      await refusedFor('manifest.json', Buffer.from(text), 'is damaged');
    expect(workspace.names()).toEqual(['copy', 'data']);
    expect((await workspace.run('verify', '--data', 'data')).code).toBe(0);
    expect(workspace.names('data').filter((name) => name.includes('restore') || name.includes('partial'))).toEqual([]);
  });

  test('of a damaged archive with a manifest that fits names the segment and ends with exit code 3', async () => {
    using workspace = await workspaces.withBackup(300);
    expandInPlace(workspace.file('copy'));
    flipSomeByte(workspace.file('copy/bookreel.db'));
    writeManifest(workspace.file('copy'));
    const { code, stdout, stderr } = await workspace.run('restore', 'copy', '--data', 'again');
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toMatch(/segment \d+/);
    expect(stderr).toContain("the copy of 'copy' is not kept");
    expect(workspace.names()).toEqual(['copy', 'data']);
  });

  test('restore accepts only the key secret that the manifest names, in the backup or in the data directory.', async () => {
    using workspace = await workspaces.withBackup();
    renameSync(workspace.file('copy/key-secret'), workspace.file('elsewhere'));
    expectRefusal(await workspace.run('restore', 'copy', '--data', 'again'), 1, "copy/key-secret' is missing");
    expect(workspace.names()).not.toContain('again');
    for (const name of ['accounts.db', 'bookreel.db']) rmSync(workspace.file(`data/${name}`));
    expect((await workspace.run('restore', 'copy', '--data', 'data')).code).toBe(0);
    expect(await isServedTo(workspace.file('data'), workspace.key)).toBe(true);
    // A secret of another archive, in the data directory and in the backup.
    using other = await workspaces.archiveOf(3);
    for (const name of ['accounts.db', 'activity.db', 'bookreel.db']) rmSync(workspace.file(`data/${name}`));
    writeFileSync(workspace.file('data/key-secret'), readFileSync(other.file('data/key-secret')));
    expectRefusal(await workspace.run('restore', 'copy', '--data', 'data'), 1, "copy/key-secret' is missing");
    writeFileSync(workspace.file('copy/key-secret'), readFileSync(other.file('data/key-secret')));
    expectRefusal(await workspace.run('restore', 'copy', '--data', 'again'), 3, "key-secret' was changed after");
    writeFileSync(workspace.file('copy/key-secret'), 'shortened');
    expectRefusal(await workspace.run('restore', 'copy', '--data', 'again'), 1, 'is damaged');
  });

  test.each([
    ['missing', "there is no backup 'missing'"],
    ['data', "there is no backup 'data'"],
  ])('of %s is refused, and nothing is made', async (name, reason) => {
    using workspace = await workspaces.withBackup(3);
    const { code, stderr } = await workspace.run('restore', name, '--data', 'again');
    expect(code).not.toBe(0);
    expect(stderr).toContain(reason);
    expect(stderr).not.toContain('defect');
    expect(workspace.names()).not.toContain('again');
  });

  test.each([
    [99, 'has schema 99, and this bookreel knows schemas up to'],
    [3, 'has schema 3, of an earlier bookreel: export it with'],
  ])('of what a bookreel of schema %p wrote is refused, and so is its backup', async (version, reason) => {
    using workspace = await workspaces.withBackup(3);
    expandInPlace(workspace.file('copy'));
    for (const path of ['copy/bookreel.db', 'data/bookreel.db']) {
      using database = new Database(workspace.file(path));
      database.run(`PRAGMA user_version = ${version}`);
    }
    writeManifest(workspace.file('copy'));
    expectRefusal(await workspace.run('restore', 'copy', '--data', 'again'), 1, `bookreel.db' ${reason}`);
    expectRefusal(await workspace.run('backup', 'other', '--data', 'data'), 1, `'data/bookreel.db' ${reason}`);
    expect(workspace.names()).toEqual(['copy', 'data']);
  });

  test('renames the files that a killed process left with the archive, so that the new archive does not read them', async () => {
    using workspace = await workspaces.withBackup();
    mkdirSync(workspace.file('again'));
    // The write-ahead log of an archive whose database was deleted.
    const writer = Bun.spawn([EXECUTABLE, 'serve', '--port', '0', '--data', 'gone'], {
      cwd: workspace.path,
      stdout: 'pipe',
      stderr: 'ignore',
    });
    for await (const _ of writer.stdout) break;
    writer.kill('SIGKILL');
    await writer.exited;
    renameSync(workspace.file('gone/bookreel.db-wal'), workspace.file('again/bookreel.db-wal'));
    expect((await workspace.run('restore', 'copy', '--data', 'again')).code).toBe(0);
    expect(workspace.names('again')).toContain('bookreel.db.before-restore-1-wal');
    expect((await workspace.run('verify', '--data', 'again')).code).toBe(0);
    expect(storedIn(workspace.file('again')).markets).toBe(1);
  });
});
