import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { closeSync, copyFileSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { generateKey } from '../../src/domain/api-key.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { EXECUTABLE, runExecutable } from '../support/executable.ts';
import { writeLightRecording } from '../support/light-recording.ts';
import { fault } from './fault.ts';
import {
  type Answer,
  expectHonest,
  expectRecorded,
  expectUnavailable,
  NOT_READY,
  READY,
  type Served,
  serve,
  serveLight,
  until,
} from './served.ts';

const PAGE_BYTES = 8192;
const FILES = ['bookreel.db', 'bookreel.db-wal', 'bookreel.db-shm'];
const SNAPSHOTS = 140_000;
const ASKED = 140;
/** SQLite counts pages from 1. */
const ROOT_OF = 'SELECT rootpage AS page FROM sqlite_schema WHERE name = ?';

/** Root pages, counted from 0. */
/** The first page after those that every request needs: the schema, the roots of trees, and the first page below them. Counted from 0. */
function firstOfData(path: string): number {
  using sqlite = new Database(path, { readonly: true });
  return sqlite.query<{ last: number }, []>('SELECT MAX(rootpage) AS last FROM sqlite_master').get()!.last + 1;
}

function rootPages(path: string, names: readonly string[]): number[] {
  using sqlite = new Database(path, { readonly: true });
  return names.map((name) => sqlite.query<{ page: number }, [string]>(ROOT_OF).get(name)!.page - 1);
}

async function checkpointed(data: string): Promise<void> {
  // The last process that closes a database writes the log into the file.
  expect((await runExecutable(['key', 'list', '--data', data])).code).toBe(0);
}

/** Overwrites pages of a file, as a broken disk or another program would. */
function overwrite(path: string, pages: Iterable<number>, filler: (page: number) => Uint8Array): number {
  const file = openSync(path, 'r+');
  let count = 0;
  for (const page of pages) {
    writeSync(file, filler(page), 0, PAGE_BYTES, page * PAGE_BYTES);
    count += 1;
  }
  closeSync(file);
  return count;
}

function* pagesFrom(first: number, end: number, step: number): Generator<number> {
  for (let page = first; page < end; page += step) yield page;
}

/** Requests records of the whole recording; each answer must be right or a 503. */
async function sweep(served: Served): Promise<{ right: number; unavailable: number }> {
  const tally = { right: 0, unavailable: 0 };
  for (let index = 0; index < served.snapshots; index += Math.ceil(served.snapshots / ASKED)) {
    const honest = expectHonest(await served.nearest(index), index);
    tally[honest === 200 ? 'right' : 'unavailable'] += 1;
  }
  return tally;
}

const noise = () => crypto.getRandomValues(new Uint8Array(PAGE_BYTES));

fault(
  {
    what: 'Every fourth page of the recorded books is noise: /readyz stays 200, and only requests that need one get a 503.',
    expected: 'each answer is the recorded book or a 503; the service stays ready; verify and backup report the damage',
  },
  async () => {
    using directory = temporaryDirectory();
    await using served = await serveLight({ cwd: directory.path, snapshots: SNAPSHOTS });
    const path = join(served.data, 'bookreel.db');
    const pages = Math.floor(statSync(path).size / PAGE_BYTES);
    const hit = overwrite(path, pagesFrom(firstOfData(path), pages, 4), noise);
    const { right, unavailable } = await sweep(served);
    expect(unavailable).toBeGreaterThan(0);
    expect(right).toBeGreaterThan(0);
    expect(await served.ready()).toEqual(READY);
    expect((await served.ask('/v1/billing/tiers')).status).toBe(200);
    const checked = await runExecutable(['verify', '--data', served.data]);
    expect([1, 3]).toContain(checked.code);
    await served.stop();
    const backup = await runExecutable(['backup', join(directory.path, 'copy.backup'), '--data', served.data]);
    expect(backup.code).not.toBe(0);
    return `${hit} of ${pages} pages hit: ${right} answers right, ${unavailable} 503, 0 wrong; readyz 200; verify exits ${checked.code}, backup ${backup.code}`;
  },
);

fault(
  {
    what: 'the pages of keys and accounts are overwritten with noise while the archive is served',
    expected: 'no key is accepted and no data is sent: 503 for every key, valid or not, and /readyz is 503',
  },
  async () => {
    using directory = temporaryDirectory();
    await using served = await serveLight({ cwd: directory.path });
    const path = join(served.data, 'accounts.db');
    const roots = rootPages(path, ['accounts', 'api_keys', 'sqlite_autoindex_api_keys_2']);
    await served.stop();
    await using again = await serve(served);
    // Before the first request: the server caches the keys that it has read.
    overwrite(path, roots, noise);
    for (const authorization of [`Bearer ${served.key}`, `Bearer ${generateKey()}`]) {
      expectUnavailable(await again.ask('/v1/billing/tiers', { authorization }));
    }
    expect(await again.ready()).toEqual(NOT_READY);
    expect((await again.ask('/healthz')).status).toBe(200);
    return '503 for a right and an unknown key, readyz 503, healthz 200';
  },
);

fault(
  {
    what: 'the first page of the database is overwritten with zeros while it is served, and then restored',
    expected: 'each answer is right or a 503, /readyz agrees with them, and after the repair every answer is right',
  },
  async () => {
    using directory = temporaryDirectory();
    await using served = await serveLight({ cwd: directory.path });
    await checkpointed(served.data);
    const path = join(served.data, 'bookreel.db');
    const first = new Uint8Array(readFileSync(path).subarray(0, PAGE_BYTES));
    overwrite(path, [0], () => new Uint8Array(PAGE_BYTES));
    const tally = await sweep(served);
    const [code] = await served.ready();
    expect(code).toBe((await served.ask('/v1/billing/tiers')).status === 200 ? 200 : 503);
    const other = await runExecutable(['key', 'list', '--data', served.data]);
    overwrite(path, [0], () => first);
    await until('it is ready again', async () => (await served.ready())[0] === 200);
    expect((await sweep(served)).unavailable).toBe(0);
    expect((await runExecutable(['verify', '--data', served.data])).code).toBe(0);
    return `while damaged ${tally.right} right, ${tally.unavailable} 503, readyz ${code}, another command exits ${other.code}; then all right`;
  },
);

async function expectAllRefused(served: Served): Promise<void> {
  await until('requests are refused', async () => (await served.nearest(0)).status === 503);
  expect(await served.ready()).toEqual(NOT_READY);
  const answers: Answer[] = [await served.nearest(1), await served.ask('/v1/btc/markets')];
  for (const answer of answers) expectUnavailable(answer);
  expect((await served.ask('/healthz')).status).toBe(200);
}

fault(
  {
    what: 'the database file is deleted while it is served',
    expected: '503 and not ready instead of data that no longer exists; after a restore and a restart it is served',
  },
  async () => {
    using directory = temporaryDirectory();
    await using served = await serveLight({ cwd: directory.path });
    expect(await served.ready()).toEqual(READY);
    await checkpointed(served.data);
    const kept = FILES.map((name) => join(directory.path, `kept-${name}`));
    for (const [index, name] of FILES.entries()) copyFileSync(join(served.data, name), kept[index]!);
    for (const name of FILES) rmSync(join(served.data, name));
    await expectAllRefused(served);
    const said = served.server.stderr();
    expect(said).toContain('was deleted or replaced while in use');
    await served.stop();
    copyFileSync(kept[0]!, join(served.data, FILES[0]!));
    rmSync(join(served.data, FILES[1]!), { force: true });
    rmSync(join(served.data, FILES[2]!), { force: true });
    await using again = await serve(served);
    for (const index of [0, 1, 1999]) expectRecorded(await again.nearest(index), index);
    return '503, readyz 503 "database unavailable", healthz 200; stops in order; after a restart every record';
  },
);

fault(
  {
    what: 'The database is moved away and back: answers are 503 and it is not ready, then it is served again.',
    expected: '503 and not ready until it is back, then served without a restart',
  },
  async () => {
    using directory = temporaryDirectory();
    await using served = await serveLight({ cwd: directory.path });
    for (const name of FILES) renameSync(join(served.data, name), join(directory.path, name));
    await expectAllRefused(served);
    for (const name of FILES) renameSync(join(directory.path, name), join(served.data, name));
    await until('it is ready again', async () => (await served.ready())[0] === 200);
    for (const index of [0, 1, 1999]) expectRecorded(await served.nearest(index), index);
    return '503 while away, 200 after, 0 restarts';
  },
);

fault(
  {
    what: 'the database is replaced by another archive while it is served',
    expected: '503 and not ready: keys of the old archive get no data of the new one; a restart serves the new one',
  },
  async () => {
    using directory = temporaryDirectory();
    const other = join(directory.path, 'other');
    expect((await runExecutable(['seed', '--data', other])).code).toBe(0);
    const created = await runExecutable(['key', 'create', '--tier', 'free', '--data', other]);
    expect(created.code).toBe(0);
    await using served = await serveLight({ cwd: directory.path });
    for (const name of FILES) {
      rmSync(join(served.data, name));
      rmSync(join(served.data, name.replace('bookreel', 'accounts')));
    }
    for (const name of ['bookreel.db', 'accounts.db', 'key-secret']) {
      copyFileSync(join(other, name), join(served.data, name));
    }
    await expectAllRefused(served);
    await served.stop();
    await using again = await serve(served);
    expect(await again.ready()).toEqual(READY);
    expect((await again.nearest(0)).status).toBe(401);
    const authorization = `Bearer ${created.stdout.trim()}`;
    expect((await again.ask('/v1/billing/tiers', { authorization })).status).toBe(200);
    return '503 and readyz 503 until the restart; then old keys 401, new ones 200';
  },
);

fault(
  {
    what: 'the write-ahead log is deleted while an import writes into it and a server runs',
    expected: 'the import fails and the server is not ready; then the archive is sound and another import completes it',
  },
  async () => {
    using directory = temporaryDirectory();
    const recording = join(directory.path, 'more.ndjson');
    writeLightRecording(recording, SNAPSHOTS);
    await using served = await serveLight({ cwd: directory.path });
    const importing = ['import', recording, '--data', served.data];
    await using importer = startChild([EXECUTABLE, ...importing]);
    const wal = join(served.data, 'bookreel.db-wal');
    await until('the import writes', () => statSync(wal).size > 1_000_000);
    rmSync(wal);
    expect(await importer.exited).toBe(1);
    expect(importer.stderr()).toContain('was deleted or replaced while in use');
    await expectAllRefused(served);
    await served.stop();
    const checked = await runExecutable(['verify', '--data', served.data]);
    expect(checked.code).toBe(0);
    const completed = await runExecutable(importing);
    expect(completed.code).toBe(0);
    const [, stored, duplicate] = /(\d+) stored, (\d+) duplicate/.exec(completed.stdout)!.map(Number);
    expect(stored! + duplicate!).toBe(SNAPSHOTS + 1);
    await using again = await serve({ ...served, snapshots: SNAPSHOTS });
    expect((await sweep(again)).unavailable).toBe(0);
    return `import exits 1, readyz 503; then verify exits 0, ${duplicate} records were kept and ${stored} added`;
  },
);
