import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readLastBackup } from '../../src/store/last-backup.ts';
import { ServeLock } from '../../src/store/serve-lock.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { BucketServer } from '../support/bucket-server.ts';
import { runCommand } from '../support/command.ts';
import { marketsOfBooks } from '../support/markets-of-books.ts';
import { contentDigest } from '../support/stored.ts';

test('A bucket takes the place of a directory in backup, restore and the setting backup-to, and its backups are recorded like others.', async () => {
  using directory = temporaryDirectory();
  await using server = await BucketServer.start();
  const data = join(directory.path, 'data');
  const lines = marketsOfBooks(0, 3, 20).map((line) => `${JSON.stringify(line)}\n`);
  writeFileSync(join(directory.path, 'records.ndjson'), lines.join(''));
  const run = async (words: string, more: Record<string, string> = {}) =>
    await runCommand(words.split(' '), { cwd: directory.path, env: { ...server.environment, ...more } });
  for (const words of ['import records.ndjson', 'seal', 'key create --tier pro']) {
    expect((await run(`${words} --data data`)).code).toBe(0);
  }

  const first = await run('backup s3://books/x --keep 1 --data data');
  expect(first.code).toBe(0);
  expect(first.stdout).toMatch(/^s3:\/\/books\/x\/bookreel-2\S+Z\n$/);
  expect(first.stderr).toMatch(
    /^\d+ bytes in 2 databases, 3 sealed markets, 3 new, [1-9]\d* bytes written, verified; it has the key secret\n$/,
  );
  expect(readLastBackup(data).directory).toBe(first.stdout.trim());
  const second = await run('backup --keep 1 --data data --json', { BOOKREEL_BACKUP_TO: 's3://books/x' });
  expect(second.stderr).toBe('');
  expect(JSON.parse(second.stdout)).toMatchObject({ writtenBytes: 0, deleted: [first.stdout.trim().slice(13)] });

  expect((await run('restore s3://books/x --data again')).code).toBe(0);
  expect(contentDigest(join(directory.path, 'again'))).toBe(contentDigest(data));
  const named = JSON.parse(second.stdout).directory;
  expect((await run(`restore ${named} --data named`)).code).toBe(0);
  expect(readdirSync(join(directory.path, 'named')).sort()).toEqual(
    ['accounts.db', 'bookreel.db', 'books', 'download.lock', 'key-secret', 'serve.lock'].sort(),
  );

  const requests = server.requests.length;
  expect(await run('restore s3://books/x --data again')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("'again' holds an archive"),
  });
  // It is refused before anything is downloaded.
  expect(server.requests).toHaveLength(requests);
  expect(await run(`restore ${first.stdout.trim()} --data gone`)).toMatchObject({
    code: 1,
    stderr: `bookreel: there is no backup '${first.stdout.trim().slice(13)}' in 's3://books/x': 'bookreel backup' writes one\n`,
  });
  expect(readdirSync(directory.path)).not.toContain('gone');

  for (const [words, sentence, variables] of [
    ['backup s3://books/x --force', 'backups in a bucket are never replaced', {}],
    ['backup s3://books/x', "there are no credentials for 's3://books/x'", { AWS_ACCESS_KEY_ID: '', HOME: '/' }],
    ['backup s3://books/../x', "'s3://books/../x' is no bucket: write it like s3://bucket/folder", {}],
  ] as const) {
    expect(await run(`${words} --data data`, variables)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(sentence),
    });
  }
  expect(readLastBackup(data).failedMs).toBeUndefined();
  expect(await run('backup s3://none --data data')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("has no bucket 'none'"),
  });
  expect(readLastBackup(data).reason).toContain("has no bucket 'none'");
});

test('Commands warn of a bucket that is reached without encryption, and of a damaged earlier backup.', async () => {
  using directory = temporaryDirectory();
  await using server = await BucketServer.start();
  writeFileSync(
    join(directory.path, 'records.ndjson'),
    marketsOfBooks(0, 1, 5)
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  );
  const run = async (words: string, AWS_ENDPOINT_URL = server.origin) =>
    await runCommand(words.split(' '), { cwd: directory.path, env: { ...server.environment, AWS_ENDPOINT_URL } });
  expect((await run('import records.ndjson --data data')).code).toBe(0);
  // Another name of loopback, which the program does not know.
  const open = server.origin.replace('127.0.0.1', '0.0.0.0');
  const warning = `traffic to and from '${open}' is not encrypted: anybody on the way can read the key secret, the accounts and the recordings; name an endpoint with https://\n`;
  for (const words of ['backup s3://books --data data', 'restore s3://books --data again']) {
    const { code, stderr } = await run(words, open.replace('//', '//who:secret@'));
    expect([code, stderr.slice(0, warning.length)]).toEqual([0, warning]);
    expect(stderr).not.toContain('secret@');
  }
  const [name] = server.names('backups/');
  server.objects.set(name!, { bytes: Buffer.from('{'), modifiedMs: 0 });
  const words = 'backup s3://books --keep 2 --data data';
  const { code, stderr } = await run(words);
  expect([code, stderr.split('\n')]).toEqual([
    0,
    [expect.stringMatching(/verified$/), expect.stringMatching(/^no earlier backup was deleted, because 'book/), ''],
  ]);
  expect(JSON.parse((await run(`${words} --json`)).stdout).warning).toBeUndefined();
});

test('A restore that was interrupted downloads only the rest, alone, and leaves nothing of the download.', async () => {
  using directory = temporaryDirectory();
  await using server = await BucketServer.start();
  const data = join(directory.path, 'data');
  mkdirSync(data, { mode: 0o700 });
  const lines = marketsOfBooks(0, 12, 20).map((line) => `${JSON.stringify(line)}\n`);
  writeFileSync(join(directory.path, 'records.ndjson'), lines.join(''));
  const run = async (words: string) =>
    await runCommand(words.split(' '), { cwd: directory.path, env: server.environment });
  for (const words of ['import records.ndjson', 'seal', 'backup s3://books']) {
    expect((await run(`${words} --data data`)).code).toBe(0);
  }
  const downloads = () => server.requests.filter(({ method, name }) => method === 'GET' && name.startsWith('files/'));
  server.requests.length = 0;
  server.fault = () => (downloads().length > 8 ? { status: 403, code: 'AccessDenied' } : undefined);
  expect((await run('restore s3://books --data again')).code).toBe(1);
  const before = downloads().map(({ name }) => name);
  server.fault = () => undefined;
  server.requests.length = 0;
  const lock = ServeLock.take(join(directory.path, 'again'), 'download');
  expect(await run('restore s3://books --data again')).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("'again' is being restored from a bucket by another bookreel"),
  });
  // The list of markets says how much room is needed.
  expect(downloads().length).toBeLessThanOrEqual(1);
  lock.release();
  server.requests.length = 0;
  expect((await run('restore s3://books --data again')).code).toBe(0);
  // A list of markets, which is asked for again, is not stored.
  const again = downloads().filter(({ name }) => before.slice(0, 6).includes(name));
  expect(again.length).toBeLessThanOrEqual(1);
  expect(contentDigest(join(directory.path, 'again'))).toBe(contentDigest(data));
  expect(readdirSync(join(directory.path, 'again')).filter((name) => name.startsWith('restore'))).toEqual([]);
});

test('A market is restored from a bucket without the files of others; one that is refused leaves nothing, also where the disk has no room.', async () => {
  using directory = temporaryDirectory();
  await using server = await BucketServer.start();
  const data = join(directory.path, 'data');
  mkdirSync(data, { mode: 0o700 });
  const lines = marketsOfBooks(0, 6, 20).map((line) => `${JSON.stringify(line)}\n`);
  writeFileSync(join(directory.path, 'records.ndjson'), lines.join(''));
  const run = async (words: string) =>
    await runCommand(words.split(' '), { cwd: directory.path, env: server.environment });
  for (const words of ['import records.ndjson', 'seal', 'backup s3://books']) {
    expect((await run(`${words} --data data`)).code).toBe(0);
  }
  using archive = new Database(join(data, 'bookreel.db'), { readonly: true });
  const sealed = archive
    .query<{ name: string }, []>("SELECT 'files/' || LOWER(HEX(digest)) AS name FROM sealed_markets")
    .all()
    .map(({ name }) => name);
  const [{ slug } = { slug: '' }] = archive.query<{ slug: string }, []>('SELECT slug FROM markets LIMIT 1').all();
  const left = () => readdirSync(data).filter((name) => name.startsWith('restore'));
  /** The number of requests for files of sealed markets. */
  const requested = async (words: string, code: number, text: string) => {
    server.requests.length = 0;
    const done = await run(`restore s3://books ${words}`);
    expect([done.code, done.stdout + done.stderr]).toEqual([code, expect.stringContaining(text)]);
    expect(left()).toEqual([]);
    return server.requests.filter(({ method, name }) => method === 'GET' && sealed.includes(name)).length;
  };
  expect(sealed).toHaveLength(6);
  expect(await requested(`--market ${slug} --force --data data`, 0, '1 market restored, 1 of them in place')).toBe(1);
  expect(await requested('--market nothing --data data', 1, "no market with the conditionId or slug 'nothing'")).toBe(
    0,
  );
  expect(await requested(`--market ${slug} --data nowhere`, 1, 'nowhere')).toBe(0);
  expect(server.requests).toEqual([]);
  expect(readdirSync(directory.path)).not.toContain('nowhere');

  const [name] = server.names('backups/');
  const object = server.objects.get(name!)!;
  const manifest = JSON.parse(object.bytes.toString());
  manifest.files[0].bytes = 1e15;
  object.bytes = Buffer.from(JSON.stringify(manifest));
  for (const words of [`--market ${slug} --force --data data`, '--force --data data'])
    expect(await requested(words, 1, 'and this needs up to 2000000000.')).toBe(0);
});
