import { expect, test } from 'bun:test';
import { createKey } from '../../src/account/account-keys.ts';
import { parse, receivedUntilClosed, requestOf } from '../contract/raw-http.ts';
import { NOW_MS } from '../support/archive.ts';
import { startService } from './service.ts';

const HOST = 'Host: localhost';

test('No answer to HEAD has a body, with any status, in process and over a socket.', async () => {
  await using service = startService();
  const { app, registry, origin } = service;
  const request = { account: 'test@localhost', name: undefined, tier: 'free', requestsPerMinute: 1000 };
  const { key } = createKey(registry, NOW_MS, request);
  for (let i = 0; i < 10; i += 1) await service.app.handle(asked('/v1/billing/tiers', 'GET', service.key));
  service.drain();
  for (const [status, path, token] of [
    [400, '/v1/btc/markets?limit=0', key],
    [400, '/v1/%ZZ', key],
    [400, '/%ZZ', undefined],
    [401, '/v1/btc/markets', undefined],
    [403, '/v1/eth/markets', key],
    [404, '/v1/btc/markets', key],
    [404, '/v1/nothing', key],
    [404, '/nothing', undefined],
    [429, '/v1/billing/tiers', service.key],
    [503, '/readyz', undefined],
  ] as const) {
    const get = await app.handle(asked(path, 'GET', token));
    const length = String((await get.bytes()).length);
    expect({ path, status: get.status, isEmpty: length === '0' }).toEqual({ path, status, isEmpty: false });
    const head = await app.handle(asked(path, 'HEAD', token));
    expect({ path, status: head.status, body: head.body }).toEqual({ path, status, body: null });
    expect(head.headers.get('content-length')).toBe(length);
    expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'));

    const headers = [HOST, ...(token === undefined ? [] : [`Authorization: Bearer ${token}`])];
    const first = `${[`HEAD ${path} HTTP/1.1`, ...headers].join('\r\n')}\r\n\r\n`;
    const sent = parse(await receivedUntilClosed(origin, first + requestOf('/healthz', [HOST])));
    expect({ path, status: sent.status }).toEqual({ path, status });
    expect(sent.headers.get('content-length')).toBe(length);
    expect(sent.body).toStartWith('HTTP/1.1 200 OK\r\n');
  }
});

function asked(path: string, method: string, key: string | undefined): Request {
  return new Request(`http://localhost${path}`, {
    method,
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  });
}
