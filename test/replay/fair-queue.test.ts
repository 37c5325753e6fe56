import { expect, test } from 'bun:test';
import { FairQueue } from '../../src/replay/fair-queue.ts';

/** Adds `count` pieces of work of an owner to the queue; each one notes its name. */
function work(queue: FairQueue, done: string[], owner: string, count: number): Promise<unknown> {
  const names = Array.from({ length: count }, (_, index) => `${owner}${index}`);
  const own = queue.of(owner);
  return Promise.all(names.map((name) => own.next().then(() => done.push(name))));
}

test('owners take turns, whatever number of pieces each has', async () => {
  const queue = new FairQueue();
  const done: string[] = [];
  await Promise.all([work(queue, done, 'a', 5), work(queue, done, 'b', 1), work(queue, done, 'c', 2)]);
  expect(done).toEqual(['a0', 'b0', 'c0', 'a1', 'c1', 'a2', 'a3', 'a4']);
});

test('a late owner waits for one piece of every other owner', async () => {
  const queue = new FairQueue();
  const done: string[] = [];
  const early = [work(queue, done, 'a', 100), work(queue, done, 'b', 100)];
  await queue.next();
  const before = done.length;
  expect(before).toBe(2);
  await work(queue, done, 'late', 1);
  expect(done.indexOf('late0') - before).toBeLessThanOrEqual(2);
  await Promise.all(early);
  expect(done).toHaveLength(201);
});

test('an owner that adds its next piece in its turn gets every second turn', async () => {
  const queue = new FairQueue();
  const done: string[] = [];
  const crowd = work(queue, done, 'a', 50);
  for (let step = 0; step < 10; step += 1) {
    await queue.of('b').next();
    done.push(`b${step}`);
  }
  await crowd;
  expect(done.slice(0, 20).filter((name) => name.startsWith('b'))).toHaveLength(10);
});

test('work without an owner runs in the order in which it was added, once, unless it is removed', async () => {
  const queue = new FairQueue();
  const done: string[] = [];
  const pieces = ['a', 'b', 'c', 'd'].map((name) => () => void done.push(name));
  for (const piece of pieces) queue.add(piece);
  queue.add(pieces[0]!);
  queue.remove(pieces[1]!);
  queue.remove(() => undefined);
  await queue.next();
  expect(done).toEqual(['a', 'c', 'd']);
});
