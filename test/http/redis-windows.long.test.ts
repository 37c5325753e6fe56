import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Allowance, Subject } from '../../src/domain/rate-window.ts';
import SCRIPT from '../../src/http/plugins/redis-windows.lua' with { type: 'text' };
import { RedisWindows } from '../../src/http/plugins/redis-windows.ts';
import { until } from '../fault/served.ts';
import { randomsOf } from '../support/random-books.ts';
import { HAS_REDIS, RedisServer } from '../support/redis.ts';

const SHORT_MS = 150;
/** Longer than by default: this machine may be busy. */
const WAIT_MS = 2000;

interface Window {
  readonly used: number;
  readonly endMs: number;
}

/** Windows by the definition: one request after the other. */
class Oracle {
  readonly #windows = new Map<string, Window>();

  charge(subjects: readonly Subject[], nowMs: number, windowMs: number) {
    const found = subjects.map(({ name }) => {
      const open = this.#windows.get(name);
      return open !== undefined && open.endMs > nowMs ? open : { used: 0, endMs: nowMs + windowMs };
    });
    const isAllowed = found.every(({ used }, nth) => used < subjects[nth]!.limit);
    const windows = found.map(({ used, endMs }) => ({ used: used + Number(isAllowed), endMs }));
    if (isAllowed) for (const [nth, { name }] of subjects.entries()) this.#windows.set(name, windows[nth]!);
    return { isAllowed, windows };
  }
}

describe.skipIf(!HAS_REDIS)('windows in Redis', () => {
  let redis: RedisServer;
  const changes: boolean[] = [];
  const open = async (options: { url?: string; waitMs?: number } = {}) => {
    const windows = new RedisWindows({
      url: redis.fullUrl,
      onChange: (isAway) => changes.push(isAway),
      waitMs: WAIT_MS,
      ...options,
    });
    await windows.open();
    return windows;
  };
  const subject = (name: string, limit: number) => [{ name, limit }];
  const chargeAll = async (windows: RedisWindows, subjects: readonly Subject[], times: number) =>
    await Promise.all(Array.from({ length: times }, () => windows.charge(subjects)));
  const allowedOf = (counts: readonly (readonly Allowance[] | undefined)[]) =>
    counts.filter((allowances) => allowances?.every(({ allowed }) => allowed));
  const isBack = (windows: RedisWindows) =>
    until('Redis is back', async () => (await windows.peek(subject('back', 1))) !== undefined);

  beforeAll(async () => {
    redis = await RedisServer.start();
  });
  afterAll(() => redis[Symbol.asyncDispose]());
  beforeEach(async () => {
    await redis.send('FLUSHALL');
    changes.length = 0;
  });

  test('The script counts as one request after the other does, at any time.', async () => {
    const [random, oracle] = [randomsOf(7), new Oracle()];
    const below = (max: number) => Math.floor(random() * max);
    for (let step = 0; step < 400; step += 1) {
      const groups = Array.from({ length: below(5) }, () => ({
        requests: 1 + below(5),
        subjects: Array.from({ length: 1 + below(2) }, (_, nth) => ({
          name: `${nth}:${below(4)}`,
          limit: 1 + below(9),
        })),
      }));
      const all = groups.flatMap(({ subjects }) => subjects);
      const args = groups.flatMap(({ requests, subjects }) => [
        requests,
        subjects.length,
        ...subjects.map(({ limit }) => limit),
      ]);
      const command = [all.length, ...all.map(({ name }) => name), Date.now() + 1e6, SHORT_MS, ...args];
      const [nowMs, ...counted] = (await redis.send('EVAL', SCRIPT, ...command.map(String))) as number[];
      const expected = groups.flatMap(({ requests, subjects }) => {
        const outcomes = Array.from({ length: requests }, () => oracle.charge(subjects, nowMs!, SHORT_MS));
        const { windows } = outcomes.findLast(({ isAllowed }) => isAllowed) ?? outcomes[0]!;
        const allowed = outcomes.filter(({ isAllowed }) => isAllowed).length;
        return [allowed, ...windows.flatMap(({ used, endMs }) => [used, endMs])];
      });
      expect(counted).toEqual(expected);
      await Bun.sleep(below(20));
    }
  });

  test('Requests that arrive together get what they would get one after the other.', async () => {
    using windows = await open();
    const [random, oracle] = [randomsOf(8), new Oracle()];
    const below = (max: number) => Math.floor(random() * max);
    for (let step = 0; step < 100; step += 1) {
      const asked = Array.from({ length: 1 + below(12) }, () =>
        Array.from({ length: 1 + below(2) }, (_, nth) => ({ name: `${nth}:${below(4)}`, limit: 1 + below(40) })),
      );
      const answers = await Promise.all(asked.map((subjects) => windows.charge(subjects)));
      // Requests with the same subjects are counted together, where the first of them is.
      for (const nth of [...Map.groupBy(asked.keys(), (place) => JSON.stringify(asked[place])).values()].flat()) {
        const { isAllowed, windows: counted } = oracle.charge(asked[nth]!, 0, Infinity);
        const expected = asked[nth]!.map(({ limit }, place) => ({
          ...{ allowed: isAllowed, limit },
          remaining: Math.max(0, limit - counted[place]!.used),
        }));
        expect(answers[nth]).toMatchObject(expected);
      }
    }
    expect(changes).toEqual([]);
  });

  test('A thousand requests at once of three servers get exactly the limit, with all places in the window.', async () => {
    const servers = [await open(), await open(), await open()];
    const counts = await Promise.all(servers.map((windows) => chargeAll(windows, subject('a', 300), 334)));
    const remaining = allowedOf(counts.flat()).map((allowances) => allowances![0]!.remaining);
    expect(remaining.sort((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, nth) => nth));
    const [endMs, nowMs] = [Number(await redis.send('HGET', 'bookreel:a', 'end')), Date.now()];
    const [peeked] = (await servers[0]!.peek(subject('a', 301)))!;
    expect(peeked).toMatchObject({
      allowed: true,
      limit: 301,
      remaining: 1,
      resetEpochSeconds: Math.ceil(endMs / 1000),
    });
    expect(peeked!.retryAfterSeconds).toBeLessThanOrEqual(Math.ceil((endMs - nowMs) / 1000));
    for (const windows of servers) windows[Symbol.dispose]();
  });

  test('More subjects than fit in one script are counted.', async () => {
    using windows = await open();
    const counts = await Promise.all(Array.from({ length: 1700 }, (_, nth) => windows.charge(subject(`${nth}`, 1))));
    expect(allowedOf(counts)).toHaveLength(1700);
  });

  test('A request of an address and its network counts for both or for neither.', async () => {
    using windows = await open();
    const of = (client: string) => [
      { name: client, limit: 2 },
      { name: 'network', limit: 3 },
    ];
    const outcomes = [];
    for (const client of ['a', 'a', 'a', 'b', 'b']) outcomes.push((await windows.charge(of(client)))?.[0]?.allowed);
    expect(outcomes).toEqual([true, true, false, true, false]);
    expect([await redis.used('a'), await redis.used('b'), await redis.used('network')]).toEqual([2, 1, 3]);
  });

  test('A Redis that is stopped counts nothing later that was given up; afterwards it counts again.', async () => {
    using windows = await open();
    expect(allowedOf(await chargeAll(windows, subject('a', 10), 3))).toHaveLength(3);
    redis.signal('SIGSTOP');
    expect(await chargeAll(windows, subject('a', 10), 4)).toEqual([undefined, undefined, undefined, undefined]);
    expect(windows.charge(subject('a', 10))).toBeUndefined();
    redis.signal('SIGCONT');
    await isBack(windows);
    expect(await redis.used('a')).toBe(3);
    expect((await windows.charge(subject('a', 10)))![0]!.remaining).toBe(6);
    expect(changes).toEqual([true, false]);
  });

  test('A Redis that is killed is found again when it is started, and a key gets one more window.', async () => {
    using windows = await open();
    expect(allowedOf(await chargeAll(windows, subject('a', 2), 5))).toHaveLength(2);
    await redis.kill();
    expect((await windows.charge(subject('a', 2))) ?? 'alone').toBe('alone');
    await redis.start();
    await isBack(windows);
    expect(allowedOf(await chargeAll(windows, subject('a', 2), 5))).toHaveLength(2);
    expect(changes).toEqual([true, false]);
  });

  test('A Redis that is emptied, or loses its scripts, counts on.', async () => {
    using windows = await open();
    expect(allowedOf(await chargeAll(windows, subject('a', 2), 5))).toHaveLength(2);
    await redis.send('SCRIPT', 'FLUSH');
    expect(allowedOf(await chargeAll(windows, subject('a', 2), 5))).toHaveLength(0);
    await redis.send('FLUSHALL');
    expect(allowedOf(await chargeAll(windows, subject('a', 2), 5))).toHaveLength(2);
    expect(changes).toEqual([]);
  });

  test('A Redis without memory for more is away until it has some; this is said once.', async () => {
    using windows = await open();
    await redis.send('CONFIG', 'SET', 'maxmemory', '1');
    expect(await windows.charge(subject('a', 2))).toBeUndefined();
    const rejected = async () =>
      Number(/evalsha:.*failed_calls=(\d+)/.exec(String(await redis.send('INFO', 'commandstats')))![1]);
    const before = await rejected();
    await until('it was tried again twice', async () => (await rejected()) >= before + 2);
    expect(windows.charge(subject('a', 2))).toBeUndefined();
    await redis.send('CONFIG', 'SET', 'maxmemory', '0');
    await isBack(windows);
    expect(await redis.used('a')).toBe(0);
    expect(changes).toEqual([true, false]);
  });

  test.each([
    ['a wrong password', () => redis.fullUrl.replace(/:[^:@]+@/, ':wrong@')],
    ['nobody at its address', () => 'redis://127.0.0.1:1/0'],
  ])('A process without an answer of Redis counts alone, which is said once. (%s)', async (_, url) => {
    using windows = await open({ url: url() });
    expect(windows.charge(subject('a', 2))).toBeUndefined();
    await Bun.sleep(1100);
    expect(changes).toEqual([true]);
    const { samples } = windows.metrics().find(({ name }) => name === 'bookreel_rate_windows_alone_total')!;
    expect([...samples()]).toEqual([{ value: 1 }]);
  });

  test('A Redis that is too far away is not asked, which is said once.', async () => {
    const [delayMs, waitMs] = [30, 50];
    let tries = 0;
    const later = (work: () => unknown) => void setTimeout(work, delayMs);
    using proxy = Bun.listen<{ to?: Promise<Bun.Socket> }>({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        open: (from) => {
          tries += 1;
          const socket = { data: (_: Bun.Socket, bytes: Buffer) => later(() => from.write(bytes)) };
          from.data = { to: Bun.connect({ hostname: '127.0.0.1', port: redis.port, socket }) };
        },
        data: (from, bytes) => later(async () => (await from.data.to)?.write(bytes)),
        close: (from) => void from.data.to?.then((to) => to.end()),
      },
    });
    using windows = await open({ url: redis.fullUrl.replace(`:${redis.port}/`, `:${proxy.port}/`), waitMs });
    await until('it was tried again twice', () => tries >= 3);
    expect(windows.charge(subject('a', 2))).toBeUndefined();
    expect(changes).toEqual([true]);
  });

  test('A window of a clock that was set back since ends at once.', async () => {
    using windows = await open();
    await redis.send('HSET', 'bookreel:a', 'used', '5', 'end', String(Date.now() + 3_600_000));
    expect(await windows.charge(subject('a', 5))).toMatchObject([
      { allowed: true, remaining: 4, retryAfterSeconds: 60 },
    ]);
  });
});
