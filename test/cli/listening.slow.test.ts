import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { Elysia } from 'elysia';
import { Listener } from '../../src/cli/listening.ts';
import { respond } from '../../src/http/response/response.ts';

const WHERE = { host: '127.0.0.1', port: 0, idleSeconds: 30, log: { error: () => undefined, warn: () => undefined } };

test('draining waits for an answer that is not complete', async () => {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const app = new Elysia().get('/', async () => {
    asked.resolve();
    await released.promise;
    return 'made in the end';
  });
  const listening = new Listener(app, WHERE);
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
  released.resolve();
  await drained;
  await closed;
  expect(answer).toEndWith('made in the end');
  listening.stop();
});

test('A server that retires says that it closes each connection, but not with a body of unknown length: clients could take a part of that for the whole.', async () => {
  const app = new Elysia()
    .get('/known', ({ set }) => respond(set, 'known'))
    .get('/unknown', ({ set }) => respond(set, new ReadableStream({ start: (controller) => controller.close() })));
  const listening = new Listener(app, WHERE);
  const sockets = ['/known', '/unknown'].map((path) => ({ path, socket: connect(listening.port, '127.0.0.1') }));
  // Elysia sets its handlers again once its modules are there.
  await app.modules;
  const retired = listening.retire(500);
  const answers = sockets.map(async ({ path, socket }) => {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    let text = '';
    socket.on('data', (bytes) => {
      text += String(bytes);
    });
    while (!text.includes('\r\n\r\n')) await Bun.sleep(1);
    socket.destroy();
    return /^connection: close/im.test(text);
  });
  expect(await Promise.all(answers)).toEqual([true, false]);
  await retired;
  listening.stop();
});

test('an address that is in use is an error', async () => {
  const first = new Listener(new Elysia(), WHERE);
  const second = () => new Listener(new Elysia(), { ...WHERE, port: first.port });
  expect(second).toThrow('another program listens on it');
  first.stop();
});

test('idle connections are closed: before a request, within one, and between two', async () => {
  const listening = new Listener(new Elysia().get('/', 'here'), { ...WHERE, idleSeconds: 1 });
  const answers = await Promise.all(
    ['', 'GET / HTTP/1.1\r\nHost: local', 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'].map(async (sent) => {
      const socket = connect(listening.port, '127.0.0.1');
      let answer = '';
      socket.on('data', (chunk) => {
        answer += String(chunk);
      });
      if (sent !== '') socket.write(sent);
      await new Promise((resolve) => socket.once('close', resolve));
      return answer;
    }),
  );
  expect(answers).toEqual(['', '', expect.stringMatching(/^HTTP\/1\.1 200 [\s\S]*here$/)]);
  listening.stop();
});
