import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { Elysia } from 'elysia';
import { listenBehindDoorkeeper, listenDirectly } from '../../src/cli/listening.ts';
import { RateWindows } from '../../src/domain/rate-window.ts';

const WHERE = { hostname: '127.0.0.1', port: 0, idleSeconds: 30 };

const GUARD = {
  limits: {
    connectionsMax: 10,
    connectionsPerAddressMax: 10,
    requestMs: 10_000,
    headBytesMax: 16_384,
    targetBytesMax: 8192,
    bodyBytesMax: 65_536,
    idleMs: 30_000,
    readBytesPerSecondMin: 1024,
  },
  trustedProxies: [],
  addressWindows: new RateWindows(10),
  clocks: () => ({ monotonicMs: performance.now(), wallMs: Date.now() }),
};

test.each([
  ['directly', false],
  ['behind a doorkeeper', true],
])('draining waits for an answer that is still being made, %s', async (_, isGuarded) => {
  const asked = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const app = new Elysia().get('/', async () => {
    asked.resolve();
    await held.promise;
    return 'made in the end';
  });
  const listening = isGuarded ? listenBehindDoorkeeper(app, WHERE, GUARD) : listenDirectly(app, WHERE);
  const asking = connect(listening.port, '127.0.0.1');
  const closed = new Promise((resolve) => asking.once('close', resolve));
  asking.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  let answer = '';
  asking.on('data', (chunk) => {
    answer += String(chunk);
  });
  await asked.promise;
  let isDrained = false;
  const drained = listening.drain().then(() => {
    isDrained = true;
  });
  await Bun.sleep(100);
  expect(isDrained).toBe(false);
  held.resolve();
  await drained;
  await closed;
  expect(answer).toEndWith('made in the end');
  listening.stop();
});

test('an address that is taken is an error, and gives back what was taken with it', async () => {
  const first = listenBehindDoorkeeper(new Elysia(), WHERE, GUARD);
  const second = () => listenBehindDoorkeeper(new Elysia(), { ...WHERE, port: first.port }, GUARD);
  expect(second).toThrow(expect.objectContaining({ code: 'EADDRINUSE' }));
  first.stop();
});
