import { afterAll, describe, expect, test } from 'bun:test';
import { exchange, requestOf } from '../contract/raw-http.ts';
import { startService } from './service.ts';

const PAGE = { accept: 'text/html' };

const service = startService();
afterAll(() => service[Symbol.asyncDispose]());

async function shown(origin: string, path: string, headers: Record<string, string>): Promise<string> {
  const page = await fetch(`${origin}${path}`, { headers: { ...PAGE, ...headers } });
  expect(page.status).toBe(200);
  return await page.text();
}

/** The origins of the lines to copy. */
function originsIn(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/(https?:\/\/[^/\s]+)\/v1\/btc\/markets/g)].map((match) => match[1]!));
}

describe.each(['/', '/llms.txt'])('lines to copy from %s', (path) => {
  test.each([
    [{}, undefined],
    [{ host: 'books.example' }, 'http://books.example'],
    [{ host: 'Books.Example:8443' }, 'http://Books.Example:8443'],
    [{ host: '[::1]:8080' }, 'http://[::1]:8080'],
    [{ host: 'books.example', 'x-forwarded-proto': 'https' }, 'https://books.example'],
    [{ host: 'books.example', 'x-forwarded-proto': 'HTTPS, http' }, 'https://books.example'],
    [{ host: 'books.example', 'x-forwarded-proto': 'http' }, 'http://books.example'],
    [{ host: 'books.example', 'x-forwarded-proto': "javascript'&" }, 'http://books.example'],
    [{ host: 'books.example', 'x-forwarded-host': 'evil.example' }, 'http://books.example'],
  ])('with %j ask %p, where the client found the service', async (headers, origin) => {
    expect(originsIn(await shown(service.origin, path, headers))).toEqual(new Set([origin ?? service.origin]));
  });

  test.each(["a'b", 'a"b', 'a<b', 'a&b', '$(id)', '`id`', 'a b', 'a/b', 'a@b', 'a;b', 'a\\b', ''])(
    'are never made with the Host %j',
    async (host) => {
      const { status, body } = await exchange(service.origin, requestOf(path, [`Host: ${host}`, 'Accept: text/html']));
      expect(status).toBe(400);
      if (host !== '') expect(body).not.toContain(host);
    },
  );
});
