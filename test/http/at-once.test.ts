import { expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { callAtOnce, callHooksAtOnce } from '../../src/http/plugins/at-once.ts';
import { startService } from './service.ts';

const request = (path: string) => new Request(`http://localhost${path}`);
const answer = () => new Response('answer');

/** A service whose hooks and handlers look as if they returned promises, and one that does. */
function serviceOf() {
  const plugin = new Elysia()
    .derive(() => Object.fromEntries([['derived', true]]))
    .get('/now', () => answer())
    .get('/late', () => Bun.sleep(1).then(answer))
    .get('/broken', () => Bun.sleep(1).then(() => Promise.reject(new Error('late'))))
    .get('/thrown', () => {
      throw new Error('at once');
    });
  callAtOnce(plugin, (error) => new Response(`answered ${(error as Error).message}`, { status: 500 }));
  const app = new Elysia()
    .onRequest(() => undefined)
    .onError(({ error }) => new Response(`hook got ${(error as Error).message}`, { status: 500 }))
    .use(plugin);
  callHooksAtOnce(app.event.request);
  return app;
}

test('a handler that returns no promise answers without one', async () => {
  const app = serviceOf();
  const given: unknown = app.fetch(request('/now'));
  expect(given).toBeInstanceOf(Response);
  expect(await (given as Response).text()).toBe('answer');
});

test('a promise is awaited, and its error is answered', async () => {
  const app = serviceOf();
  expect(await (await app.fetch(request('/late'))).text()).toBe('answer');
  const broken = await app.fetch(request('/broken'));
  expect([broken.status, await broken.text()]).toEqual([500, 'answered late']);
});

test('an error that is thrown reaches onError', async () => {
  const thrown = await serviceOf().fetch(request('/thrown'));
  expect([thrown.status, await thrown.text()]).toEqual([500, 'hook got at once']);
});

test('the service answers requests for tiers without a promise', async () => {
  await using service = startService();
  const asked = new Request('http://localhost/v1/billing/tiers', {
    headers: { authorization: `Bearer ${service.key}` },
  });
  const given: unknown = service.app.fetch(asked);
  expect(given).toBeInstanceOf(Response);
  expect((given as Response).status).toBe(200);
});
