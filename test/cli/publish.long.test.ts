import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openArchive } from '../../src/store/archive.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { BucketServer } from '../support/bucket-server.ts';
import { startChild } from '../support/child.ts';
import { EXECUTABLE, runExecutable } from '../support/executable.ts';
import { marketsOfBooks } from '../support/markets-of-books.ts';
import { catalogRows, followerOf } from '../support/published.ts';
import { never, stubStorage } from '../support/stub-storage.ts';

/** A data directory, a storage, and commands on both. */
async function place() {
  const directory = temporaryDirectory();
  const server = await BucketServer.start();
  const env = { ...server.environment, BOOKREEL_BOOKS: 's3://books/live', BOOKREEL_DATA: join(directory.path, 'data') };
  const run = async (words: string) => await runExecutable(words.split(' '), { cwd: directory.path, env });
  const grow = async (from: number, count: number) => {
    const lines = marketsOfBooks(from, count, 20).map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(join(directory.path, 'records.ndjson'), lines.join(''));
    expect((await run('import records.ndjson')).code).toBe(0);
    expect((await run('seal')).code).toBe(0);
  };
  const rows = () => {
    const archive = openArchive(env.BOOKREEL_DATA, NOW_MS, { create: false });
    try {
      return catalogRows(archive.database);
    } finally {
      archive.database.close();
    }
  };
  const forgetWriter = () => {
    const writer = server.objects.get('live/publisher.json');
    if (writer !== undefined) writer.modifiedMs = 0;
  };
  const follower = async () => await followerOf(server, 's3://books/live', join(directory.path, crypto.randomUUID()));
  const dispose = async () => {
    directory[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
  };
  return { directory, server, env, run, grow, rows, follower, forgetWriter, [Symbol.asyncDispose]: dispose };
}

test('publish says what it has published, publish verify what is wrong, and publish prune what it has deleted', async () => {
  await using it = await place();
  await it.grow(0, 3);
  expect(await it.run('publish')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^published 3 markets, 3 files of [\d.]+ \wB: object 0\n$/),
    stderr: '',
  });
  await it.grow(3, 2);
  expect(JSON.parse((await it.run('publish --json')).stdout)).toEqual({
    ...{ number: 1, objects: 1, markets: 2, files: 2, fileBytes: expect.any(Number) },
  });
  expect((await it.run('publish')).stdout).toMatch(/^published 0 markets, 0 files of /);
  expect((await it.run('publish verify --deep')).stdout).toMatch(
    /^1 object, 1 checkpoint, 5 files of [\d.]+ \wB: 0 problems\n$/,
  );
  const [name] = it.server.names('live/books/');
  it.server.objects.get(name!)!.bytes[100]! ^= 1;
  expect((await it.run('publish verify')).code).toBe(0);
  const deep = await it.run('publish verify --deep --json');
  expect(deep.code).toBe(3);
  expect(JSON.parse(deep.stdout)).toMatchObject({ number: 1, objects: 1, checkpoints: 1, files: 5 });
  expect(JSON.parse(deep.stdout).problems).toEqual([expect.stringContaining(`'s3://books/${name}' is damaged`)]);
  it.server.objects.delete(name!);
  await it.run('publish');
  expect((await it.run('publish verify --deep')).code).toBe(0);
  expect((await it.run('delete --coin btc --before 2026-04-01T00:06:00Z --yes')).code).toBe(0);
  expect((await it.run('publish prune')).stdout).toBe(
    'deleted 0 files, 0 objects, 0 checkpoints; 1 file from tomorrow on\n',
  );
  expect(await it.run('publish --books none')).toMatchObject({
    code: 2,
    stderr: 'bookreel: name the bucket with --books, like --books s3://bucket/folder\n',
  });
});

test('doctor reports markets that wait for a publisher, unless one runs.', async () => {
  await using it = await place();
  const findings = async () => {
    const { checks } = JSON.parse((await it.run('doctor --json')).stdout) as {
      checks: { check: string; findings: string[] }[];
    };
    return checks.find(({ check }) => check === 'publication')!.findings;
  };
  expect(await findings()).toEqual([]);
  await it.grow(0, 3);
  expect(await findings()).toEqual([]);
  await it.run('publish');
  expect(await findings()).toEqual([]);
  await it.grow(3, 2);
  const sentence =
    "2 changed markets of the archive are not in 's3://books/live', and no process publishes them: run 'bookreel publish --books s3://books/live', or 'serve' with it";
  expect(await findings()).toEqual([sentence]);
  const lock = it.server.objects.get('live/publisher.json')!;
  it.server.objects.set('live/publisher.json', { bytes: Buffer.from('{"writer":"one"}'), modifiedMs: Date.now() });
  expect(await findings()).toEqual([]);
  it.server.objects.get('live/publisher.json')!.modifiedMs -= 120_000;
  expect(await findings()).toEqual([sentence]);
  it.server.objects.set('live/publisher.json', lock);
  await it.run('publish');
  expect(await findings()).toEqual([]);
});

test.each(['1', '2'])(
  'serve --books with %s processes publishes what changes, and ends its publisher',
  async (count) => {
    await using it = await place();
    await it.grow(0, 2);
    await using server = startChild([EXECUTABLE, 'serve', '--port', '0', '--processes', count], { env: it.env });
    await server.said(/http:/);
    while (it.server.names('live/checkpoints/').length === 0) await Bun.sleep(50);
    using follower = await it.follower();
    await it.grow(2, 2);
    while (JSON.stringify(catalogRows(follower.replica.database)) !== JSON.stringify(it.rows()))
      await follower.poll(true);
  },
);

test('publish --follow that is killed anywhere leaves a catalog with which the next one goes on', async () => {
  await using it = await place();
  await it.grow(0, 2);
  for (let round = 1; round <= 5; round += 1) {
    it.forgetWriter();
    const child = startChild([EXECUTABLE, 'publish', '--follow'], { env: it.env });
    await it.grow(2 * round, 2);
    await Bun.sleep(round * 60);
    await child[Symbol.asyncDispose]();
  }
  it.forgetWriter();
  expect((await it.run('publish')).code).toBe(0);
  using follower = await it.follower();
  expect(catalogRows(follower.replica.database)).toEqual(it.rows());
  expect((await it.run('publish verify --deep')).code).toBe(0);
});

/** Publishes to a storage with these answers, and ends the command at the first request. */
async function publishTo(answer: () => Response | Promise<Response>, end: (child: Bun.Subprocess) => void) {
  using directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  openArchive(data, NOW_MS, { create: true }).database.close();
  await using storage = stubStorage(answer);
  const words = ['publish', '--follow', '--for-parent', '--books', 's3://books/live', '--data', data];
  const child = Bun.spawn([EXECUTABLE, ...words], {
    env: storage.environment,
    ipc: () => undefined,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await storage.asked;
  end(child);
  const [code, output] = [await child.exited, await new Response(child.stderr).text()];
  return { code, output, requests: storage.requests };
}

for (const [name, end] of [
  ['a signal', (child: Bun.Subprocess) => child.kill('SIGTERM')],
  ['its server has gone', (child: Bun.Subprocess) => child.disconnect()],
] as const) {
  test(`publish ends soon after ${name}, also if the storage does not answer or is busy`, async () => {
    expect(await publishTo(never, end)).toEqual({ code: 0, output: '', requests: 1 });
    const busy = () => new Response('<Error><Code>SlowDown</Code></Error>', { status: 503 });
    expect(await publishTo(busy, end)).toMatchObject({ code: 0, output: '', requests: 1 });
  });
}
