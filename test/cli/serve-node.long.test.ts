import { afterAll, beforeAll, expect, test } from 'bun:test';
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { RECORDS } from '../contract/recording.ts';
import { until } from '../fault/served.ts';
import { SECRET } from '../http/nodes.ts';
import { freePort } from '../judges/free-port.ts';
import { importRecords, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { BucketServer } from '../support/bucket-server.ts';
import { startChild } from '../support/child.ts';
import {
  EXECUTABLE,
  issueKey,
  printed,
  type RunningServer,
  runExecutable,
  startServer,
} from '../support/executable.ts';
import { scrapedFrom } from '../support/scraped.ts';
import { sealAll } from '../support/sealed.ts';
import { never, stubStorage } from '../support/stub-storage.ts';

const directory = temporaryDirectory();
const DATA = join(directory.path, 'node');
const SECRET_FILE = join(directory.path, 'node-secret');
writeFileSync(SECRET_FILE, `${SECRET}\n`, { mode: 0o600 });
const BOOKS = ['--books', 's3://books/live', '--node-secret-file', SECRET_FILE];

const archive = temporaryArchive();
let storage: BucketServer;
let home: RunningServer;
beforeAll(async () => {
  await importRecords(archive.archive, RECORDS);
  sealAll(archive.archive);
  storage = await BucketServer.start();
  home = await startServer(archive.path, BOOKS.slice(2));
});
afterAll(async () => {
  await home.stop();
  await storage[Symbol.asyncDispose]();
  archive[Symbol.dispose]();
  directory[Symbol.dispose]();
});

test.each<[string[], string]>([
  [['--node'], '--node needs --books and --home and --node-secret-file too'],
  [['--node', '--books', 's3://books', '--home', 'http://10.0.0.1:8080'], '--node needs --node-secret-file too'],
  [['--home', 'http://10.0.0.1:8080'], '--home is a setting of nodes: give --node too'],
  [['--node', '--home', 'http://10.0.0.1:8080/path'], "'http://10.0.0.1:8080/path' is not an origin"],
  [['--node', '--home', 'http://h', ...BOOKS, '--processes', '2'], 'a node is one process: leave --processes 2 out'],
  [['--node', '--home', 'http://h', ...BOOKS, '--demo'], '--demo has an archive of its own, and a node has none'],
  [['--node', '--home', 'http://h', '--books', 'books', ...BOOKS.slice(2)], "'books' is no bucket"],
  [['--node', '--home', 'http://h', '--cache-bytes', '10'], 'it must be a size like 64MB'],
])('Settings of a node that do not fit, %j, are refused before anything is created.', async (args, sentence) => {
  const data = join(directory.path, 'refused');
  const env = storage.environment;
  const { code, stderr } = await runExecutable(['serve', '--port', '0', '--data', data, ...args], { env });
  expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)]);
  expect(existsSync(data)).toBe(false);
});

test('A node waits for a catalog, answers 503 until it has keys, follows home, and stops when it is told to.', async () => {
  const metricsPort = await freePort();
  const words = ['serve', '--node', '--json', '--port', '0', '--data', DATA, '--home', home.origin, ...BOOKS];
  const command = [EXECUTABLE, ...words, '--metrics-port', String(metricsPort)];
  await using node = startChild(command, { env: { ...storage.environment } });
  await until('it says what it waits for', () => node.stderr().includes("there is no catalog in 's3://books/live'"));
  const published = await runExecutable(['publish', '--books', 's3://books/live', '--data', archive.path], {
    env: storage.environment,
  });
  expect(published.code).toBe(0);
  const [, origin] = await node.said(/"address": ?"([^"]+)"/);
  const state = async () => ((await (await fetch(`${origin}/readyz`)).json()) as { status: string }).status;
  await until('it is ready', async () => (await state()) === 'ready');
  const { key } = await issueKey(archive.path);
  const ask = async (path: string) => await fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
  await until('it has the key', async () => (await ask('/v1/coins')).status === 200);
  for (const path of ['/v1/coins', '/v1/btc/markets', '/v1/btc/prices']) {
    const atHome = await fetch(`${home.origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
    expect([path, await (await ask(path)).text()]).toEqual([path, await atHome.text()]);
  }
  const scraped = scrapedFrom(await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text());
  const described = new Set((await printed(['manual', 'operations'])).match(/\bbookreel_node_\w+/g));
  expect([...scraped.names].filter((name) => name.startsWith('bookreel_node_')).toSorted()).toEqual(
    [...described].toSorted(),
  );
  expect(scraped.sum('bookreel_node_catalog_number')).toBe(0);
  expect(scraped.sum('bookreel_node_forwarded_total')).toBe(1);
  node.kill('SIGTERM');
  expect(await node.exited).toBe(0);
  expect(node.stderr()).not.toContain(SECRET);
  expect(existsSync(join(DATA, 'accounts.db'))).toBe(false);
});

test('A node that waits for its catalog stops, and a directory with an archive of its own is refused.', async () => {
  const args = [
    'serve',
    '--node',
    '--port',
    '0',
    '--home',
    home.origin,
    '--books',
    's3://books/none',
    ...BOOKS.slice(2),
  ];
  await using waiting = startChild([EXECUTABLE, ...args, '--data', join(directory.path, 'waiting')], {
    env: { ...storage.environment },
  });
  await until('it waits', () => waiting.stderr().includes('waiting for the catalog'));
  waiting.kill('SIGTERM');
  expect(await waiting.exited).toBe(0);
  const own = join(directory.path, 'own');
  mkdirSync(own, { mode: 0o700 });
  await Bun.write(join(own, 'bookreel.db'), Bun.file(join(archive.path, 'bookreel.db')));
  const { code, stderr } = await runExecutable([...args, '--data', own], { env: storage.environment });
  expect([code, stderr]).toEqual([1, expect.stringContaining('has an archive of its own')]);
});

test('A node that is stopped does not ask again for a catalog that its storage does not send.', async () => {
  await using silent = stubStorage(never);
  const words = ['serve', '--node', '--port', '0', '--data', join(directory.path, 'silent'), '--home', home.origin];
  await using node = startChild([EXECUTABLE, ...words, ...BOOKS], { env: silent.environment });
  await silent.asked;
  node.kill('SIGTERM');
  expect([await node.exited, silent.requests]).toEqual([0, 1]);
});

test('A node whose copy of the catalog is damaged while it answers makes it again from the checkpoint, without a person.', async () => {
  const metricsPort = await freePort();
  const data = join(directory.path, 'damaged');
  const words = ['serve', '--node', '--json', '--port', '0', '--data', data, '--home', home.origin, ...BOOKS];
  const command = [EXECUTABLE, ...words, '--metrics-port', String(metricsPort)];
  await using node = startChild(command, { env: { ...storage.environment } });
  const [, origin] = await node.said(/"address": ?"([^"]+)"/);
  const { key } = await issueKey(archive.path);
  const ask = async (at: string) => {
    try {
      const answer = await fetch(`${at}/v1/btc/markets`, { headers: { authorization: `Bearer ${key}` } });
      return `${answer.status} ${await answer.text()}`;
    } catch {
      return 'none';
    }
  };
  const atHome = await ask(home.origin);
  expect(atHome).toStartWith('200 ');
  await until('it answers as home', async () => (await ask(origin!)) === atHome);
  const path = join(data, 'bookreel.db');
  const file = openSync(path, 'r+');
  const { size } = fstatSync(file);
  writeSync(file, Buffer.alloc(size - 100, 0xff), 0, size - 100, 100);
  closeSync(file);
  // Another state: what SQLite has in memory is read again.
  archive.archive.database.write(() => {
    archive.archive.database.query('UPDATE markets SET revision = revision + 1').run();
  });
  const published = await runExecutable(['publish', '--books', 's3://books/live', '--data', archive.path], {
    env: storage.environment,
  });
  expect(published.code).toBe(0);
  const sentence = `'${path}' is damaged: it is deleted, and made again from a checkpoint`;
  await until('it finds the damage', async () => {
    await ask(origin!);
    return node.stderr().includes(sentence);
  });
  // The server before this answers until its last connection has ended, also with what it has in memory.
  await until('the node has begun again', async () => {
    const scraped = await fetch(`http://127.0.0.1:${metricsPort}/metrics`)
      .then((answer) => answer.text())
      .catch(() => '');
    return scrapedFrom(scraped).sum('bookreel_node_damaged_catalogs_total') === 1;
  });
  const changed = await ask(home.origin);
  await until('it answers as home again', async () => (await ask(origin!)) === changed);
  expect(node.stderr().split(sentence)).toHaveLength(2);
  node.kill('SIGTERM');
  expect(await node.exited).toBe(0);
});

test('Commands that write do not accept the directory of a node; those that look do.', async () => {
  for (const words of [['seal'], ['import', join(directory.path, 'node-secret')], ['serve', '--port', '0']]) {
    const { code, stderr } = await runExecutable([...words, '--data', DATA]);
    expect([words, code, stderr]).toEqual([
      words,
      1,
      expect.stringContaining('belongs to a node, which only follows home'),
    ]);
  }
  expect((await runExecutable(['status', '--data', DATA])).code).toBe(0);
  expect((await runExecutable(['markets', '--data', DATA])).code).toBe(0);
});

test('doctor finds what keeps a node from its catalog and its home.', async () => {
  const findings = async (...args: string[]) => {
    const words = ['doctor', '--json', '--data', DATA, ...args];
    const { stdout } = await runExecutable(words, { env: storage.environment });
    const { checks } = JSON.parse(stdout) as { checks: { check: string; findings: string[] }[] };
    return checks.find(({ check }) => check === 'node')!.findings;
  };
  const other = join(directory.path, 'other-secret');
  writeFileSync(other, `${SECRET.toUpperCase()}\n`, { mode: 0o600 });
  const at = ['--home', home.origin];
  expect(await findings(...at, ...BOOKS)).toEqual([]);
  expect(await findings(...at, ...BOOKS, '--books', 's3://books/none')).toEqual([
    "'s3://books/none' has no catalog: run 'bookreel publish' at home",
  ]);
  expect(await findings(...at, ...BOOKS, '--node-secret-file', other)).toEqual([
    `home at ${home.origin} refuses the secret: it must be the same there`,
  ]);
  expect(await findings('--home', 'http://127.0.0.1:1', ...BOOKS)).toEqual([
    'home at http://127.0.0.1:1 is not reached: check that it runs, and the network between',
  ]);
  expect(await findings(...at, ...BOOKS, '--cache-bytes', '9999TB')).toEqual([
    `the disk of '${DATA}' is smaller than --cache-bytes 9999TB: lower that`,
  ]);
  expect(await findings(...at)).toEqual([
    '--home needs --books: it names the bucket of the catalog',
    '--home needs --node-secret-file: home and its nodes share it',
  ]);
});
