import { expect, test } from 'bun:test';
import { NOW_MS } from '../support/archive.ts';
import { type Service, startService } from './service.ts';

const LIMIT = 10;
const TIERS = '/v1/billing/tiers';

const ask = ({ origin }: Service, key: string | null, path = TIERS) =>
  fetch(`${origin}${path}`, key === null ? {} : { headers: { authorization: `Bearer ${key}` } });

async function useUp(service: Service): Promise<void> {
  for (let i = 0; i < LIMIT; i += 1) expect((await ask(service, service.key)).status).toBe(200);
}

const header = (response: Response, name: string) => Number(response.headers.get(name));

test('a window of a minute begins with a key’s first request, and the next window has a full limit', async () => {
  await using service = startService();
  service.passTime(12_345);
  await useUp(service);
  service.passTime(59_999);
  expect((await ask(service, service.key)).status).toBe(429);
  service.passTime(1);
  const renewed = await ask(service, service.key);
  expect(renewed.status).toBe(200);
  expect(header(renewed, 'x-ratelimit-remaining')).toBe(LIMIT - 1);
});

test('Retry-After counts down to the end of the window, and waiting this long is enough', async () => {
  await using service = startService();
  await useUp(service);
  for (const [passes, seconds] of [
    [0, 60],
    [1, 60],
    [999, 59],
    [30_500, 29],
    [28_499, 1],
  ] as const) {
    service.passTime(passes);
    const refused = await ask(service, service.key);
    expect(refused.status).toBe(429);
    expect(header(refused, 'retry-after')).toBe(seconds);
    expect(header(refused, 'x-ratelimit-reset')).toBe((NOW_MS + 60_000) / 1000);
  }
  service.passTime(1000);
  expect((await ask(service, service.key)).status).toBe(200);
});

test('setting the wall clock changes no limit', async () => {
  await using service = startService();
  await useUp(service);
  for (const wallMs of [NOW_MS + 86_400_000, NOW_MS - 86_400_000]) {
    service.setWallClock(wallMs);
    const refused = await ask(service, service.key);
    expect(refused.status).toBe(429);
    expect(header(refused, 'x-ratelimit-reset')).toBe((wallMs + 60_000) / 1000);
  }
  service.passTime(60_000);
  expect((await ask(service, service.key)).status).toBe(200);
});

test('an address without a valid key has its own window of a minute', async () => {
  await using service = startService();
  for (let i = 0; i < 600; i += 1) expect((await ask(service, null)).status).toBe(401);
  const refused = await ask(service, null);
  expect(refused.status).toBe(429);
  expect(refused.headers.has('www-authenticate')).toBe(false);
  expect((await ask(service, service.key)).status).toBe(200);
  service.passTime(60_000);
  expect((await ask(service, null)).status).toBe(401);
});

test('A rotated key keeps its id, its count and its minute, which began with the first request.', async () => {
  await using service = startService();
  await useUp(service);
  const { registry } = service;
  const { id } = registry.apiKeys.list()[0]!;
  const rotated = registry.database.write(() => registry.apiKeys.rotate(id, NOW_MS)).key;
  // The window belongs to the key, not to its secret: rotation does not reset the limit.
  expect((await ask(service, rotated)).status).toBe(429);
  expect((await ask(service, service.key)).status).toBe(401);
});
