import { expect, test } from 'bun:test';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { openArchive } from '../../src/store/archive.ts';
import { ServeLock } from '../../src/store/serve-lock.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { BUN } from '../support/executable.ts';
import { marketStatement } from '../support/markets.ts';

/** Takes the lock of the directory in its argument, prints a line, and holds the lock until its input or the process ends. */
const HOLDER = `
  import { ServeLock } from ${JSON.stringify(join(import.meta.dir, '../../src/store/serve-lock.ts'))};
  const lock = ServeLock.take(process.argv.at(-1));
  process.stdout.write('held\\n');
  for await (const _ of process.stdin) {}
  lock.release();
`;

/** Another process that holds the lock. */
async function holder(directory: string) {
  const child = Bun.spawn([...BUN, '-e', HOLDER, directory], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const { value } = await child.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toBe('held\n');
  return child;
}

function takeFails(directory: string): void {
  let thrown: unknown;
  try {
    ServeLock.take(directory).release();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ name: 'DomainError', kind: 'in-use', message: expect.stringContaining(directory) });
}

test('a second server of the same process is refused until the first releases the lock', () => {
  using directory = temporaryDirectory();
  const lock = ServeLock.take(directory.path);
  takeFails(directory.path);
  takeFails(directory.path);
  lock.release();
  ServeLock.take(directory.path).release();
});

test('a second server of another process is refused until the first releases the lock', async () => {
  using directory = temporaryDirectory();
  const child = await holder(directory.path);
  takeFails(directory.path);
  child.stdin.end();
  expect(await child.exited).toBe(0);
  ServeLock.take(directory.path).release();
});

test('the lock of a server that was killed is free', async () => {
  using directory = temporaryDirectory();
  const child = await holder(directory.path);
  takeFails(directory.path);
  child.kill('SIGKILL');
  await child.exited;
  const lock = ServeLock.take(directory.path);
  takeFails(directory.path);
  lock.release();
});

test('other commands work while a server runs, and servers of two directories are independent', () => {
  using one = temporaryDirectory();
  using two = temporaryDirectory();
  const locks = [ServeLock.take(one.path), ServeLock.take(two.path)];
  const archive = openArchive(one.path, NOW_MS, { create: true });
  archive.database.write(() => archive.markets.put(marketStatement(1), NOW_MS));
  archive.database.close();
  for (const lock of locks) lock.release();
});

test('a missing data directory is created, accessible to its owner only', () => {
  using parent = temporaryDirectory();
  const directory = join(parent.path, 'deep', 'data');
  const lock = ServeLock.take(directory);
  expect((statSync(directory).mode & 0o777).toString(8)).toBe('700');
  lock.release();
});

test('another process sees whether a server runs, without a file of its own and without keeping one from starting', async () => {
  using temporary = temporaryDirectory();
  const { path } = temporary;
  expect(ServeLock.isTaken(path)).toBe(false);
  expect(statSync(join(path, 'serve.lock'), { throwIfNoEntry: false })).toBeUndefined();
  const child = await holder(path);
  expect(ServeLock.isTaken(path)).toBe(true);
  child.kill('SIGKILL');
  await child.exited;
  expect(ServeLock.isTaken(path)).toBe(false);
  ServeLock.take(path).release();
});
