import { describe, expect, test } from 'bun:test';
import { isIP } from 'node:net';
import fc from 'fast-check';
import { ClientAddresses } from '../../src/http/plugins/client-address.ts';
import { parseIpNetwork } from '../../src/http/plugins/ip-address.ts';
import { startEdge } from './edge-service.ts';

const TRUSTED = ['127.0.0.0/8', '::1', '10.0.0.0/8', '2001:db8:ffff::/48'].map((text) => parseIpNetwork(text)!);

const clientOf = (peer: string | null, headers: Readonly<Record<string, string>> = {}, trusted = TRUSTED) => {
  const server = { requestIP: () => (peer === null ? null : { address: peer }) };
  return new ClientAddresses(trusted, () => server).of(new Request('http://localhost/', { headers }));
};

describe('the client of a request', () => {
  test.each([
    ['127.0.0.1', undefined, '127.0.0.1'],
    ['127.0.0.1', '', '127.0.0.1'],
    ['127.0.0.1', '192.0.2.1', '192.0.2.1'],
    ['192.0.2.9', '192.0.2.1', '192.0.2.9'],
    ['10.9.9.9', '192.0.2.1, 10.1.1.1', '192.0.2.1'],
    ['10.9.9.9', '198.51.100.7, 192.0.2.1, 10.1.1.1', '192.0.2.1'],
    ['::ffff:10.9.9.9', '192.0.2.1', '192.0.2.1'],
    ['::1', '::ffff:192.0.2.1', '192.0.2.1'],
    ['::1', '2001:DB8:0:0::1', '2001:db8::1'],
    ['::1', '[2001:db8::1]:443', '2001:db8::1'],
    ['::1', '192.0.2.1:52000', '192.0.2.1'],
    ['::1', '192.0.2.1,2001:db8:ffff::5', '192.0.2.1'],
    ['::1', '10.0.0.1, 10.0.0.2', '10.0.0.1'],
    ['::1', '192.0.2.1, unknown', '::1'],
    ['::1', '192.0.2.1, unknown, 10.0.0.2', '10.0.0.2'],
    ['::1', '192.0.2.1,, 10.0.0.2', '10.0.0.2'],
    ['::1', ',10.0.0.2', '10.0.0.2'],
    ['::1', '10.0.0.2,', '::1'],
    ['::1', '192.0.2.1, 10.0.0.300', '::1'],
    ['::1', '192.0.2.1, 10.0.0.2 10.0.0.3', '::1'],
    ['::1', '192.0.2.1:http', '::1'],
    ['::1', '"192.0.2.1"', '::1'],
    ['::1', `192.0.2.1${', 10.0.0.2'.repeat(15)}`, '192.0.2.1'],
    ['::1', `192.0.2.1${', 10.0.0.2'.repeat(16)}`, '10.0.0.2'],
    ['fe80::1%eth0', '192.0.2.1', 'fe80::1'],
    [null, '192.0.2.1', 'unknown'],
  ] as const)('of the peer %p with X-Forwarded-For: %p is %p', (peer, header, expected) => {
    expect(clientOf(peer, header === undefined ? {} : { 'x-forwarded-for': header })).toBe(expected);
  });

  test.each([
    ['for=192.0.2.1', '192.0.2.1'],
    ['For=192.0.2.1;proto=https;by=10.0.0.1', '192.0.2.1'],
    ['proto=https;for="192.0.2.1:8080"', '192.0.2.1'],
    ['for="[2001:db8::1]"', '2001:db8::1'],
    ['for="[2001:db8::1]:8080";host="a.example"', '2001:db8::1'],
    ['for=198.51.100.1, for=192.0.2.1, for=10.0.0.2', '192.0.2.1'],
    ['for=198.51.100.1, for=unknown', '::1'],
    ['for=198.51.100.1, for=_hidden, for=10.0.0.2', '10.0.0.2'],
    ['for=198.51.100.1, proto=https', '::1'],
    ['for=192.0.2.1;for=198.51.100.1', '::1'],
    ['for=2001:db8::1', '::1'],
    ['for=192.0.2.1; proto=https', '::1'],
    // A client's open quotation mark swallows nothing of what its proxy adds.
    ['for="198.51.100.1, for=192.0.2.1', '192.0.2.1'],
    ['for=198.51.100.1;x=", for="[2001:db8::1]"', '2001:db8::1'],
    ['for=198.51.100.1, for=10.0.0.2;x="a, b"', '::1'],
  ])('with Forwarded: %p is %p', (header, expected) => {
    expect(clientOf('::1', { forwarded: header })).toBe(expected);
  });

  test('comes from X-Forwarded-For if both headers are sent, even if it is malformed', () => {
    expect(clientOf('::1', { 'x-forwarded-for': '192.0.2.1', forwarded: 'for=198.51.100.1' })).toBe('192.0.2.1');
    expect(clientOf('::1', { 'x-forwarded-for': 'x', forwarded: 'for=198.51.100.1' })).toBe('::1');
  });

  test('is the peer if no proxy is trusted, whatever it sends', () => {
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'client-ip']) {
      expect(clientOf('127.0.0.1', { [name]: '192.0.2.1' }, [])).toBe('127.0.0.1');
    }
    expect(clientOf('::ffff:127.0.0.1', {}, [])).toBe('127.0.0.1');
  });

  test('The client’s address is the right-most valid one in X-Forwarded-For that is not a trusted proxy; Forwarded is read only without it.', () => {
    const trusted = fc.constantFrom('10.0.0.1', '127.0.0.9', '::1', '2001:db8:ffff::7', '::ffff:10.2.3.4');
    const foreign = fc.constantFrom('192.0.2.1', '11.0.0.1', '2001:db8::7', '128.0.0.1');
    const junk = fc.oneof(
      fc.constantFrom('unknown', '', 'x', '1.2.3', '::g', '1.2.3.4.5'),
      fc.string({ unit: 'grapheme-ascii' }),
    );
    const element = fc.oneof(
      trusted,
      foreign,
      junk.filter((text) => !text.includes(',') && isIP(text.trim()) === 0 && !/[[\]:]/.test(text)),
    );
    const isTrusted = (text: string) => /^(?:10\.|127\.|::1$|2001:db8:ffff:|::ffff:10\.)/.test(text);
    const canonical = (text: string) => text.replace('::ffff:', '');
    fc.assert(
      fc.property(fc.array(element, { minLength: 1, maxLength: 10 }), (elements) => {
        // In order, as anybody would do it by hand.
        let expected = '127.0.0.1';
        for (const text of [...elements].reverse()) {
          if (isIP(text.trim()) === 0) break;
          expected = canonical(text.trim());
          if (!isTrusted(text.trim())) break;
        }
        expect(clientOf('127.0.0.1', { 'x-forwarded-for': elements.join(', ') })).toBe(expected);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('through a trusted proxy', () => {
  const edge = { trustedProxies: TRUSTED };
  const remaining = (response: Response) => Number(response.headers.get('x-ratelimit-remaining'));

  test('Each client has its own limit, and all IPv6 addresses of one /64 without a key share one.', async () => {
    await using service = startEdge(edge);
    const from = (address: string) => service.get('/v1/x', { headers: { 'x-forwarded-for': address } });
    expect(remaining(await from('192.0.2.1'))).toBe(599);
    expect(remaining(await from('192.0.2.1'))).toBe(598);
    expect(remaining(await from('198.51.100.1, 192.0.2.1'))).toBe(597);
    expect(remaining(await from('192.0.2.2'))).toBe(599);
    expect(remaining(await from('2001:db8:1:2::1'))).toBe(599);
    expect(remaining(await from('2001:db8:1:2:ffff::'))).toBe(598);
    expect(remaining(await from('2001:db8:1:3::1'))).toBe(599);
  });

  test('a well-formed request id of the proxy is used', async () => {
    await using service = startEdge(edge);
    const idOf = async (id: string, path = '/healthz') =>
      (await service.get(path, { headers: { 'x-request-id': id } })).headers.get('x-request-id');
    for (const id of ['a', '5f0c-11.2_Z', '0'.repeat(128)]) expect(await idOf(id)).toBe(id);
    for (const id of ['0'.repeat(129), 'a b', 'a,b', 'a"b', 'a/b', '<a>', `x${service.key}`]) {
      expect(await idOf(id)).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    }
    const refused = await service.get('/v1/x', { headers: { 'x-request-id': 'abc' } });
    expect(((await refused.json()) as { requestId: string }).requestId).toBe('abc');
  });

  test('without a trusted proxy forwarded addresses and request ids are ignored', async () => {
    await using service = startEdge({});
    const headers = { 'x-request-id': 'abc', 'x-forwarded-for': '192.0.2.1', forwarded: 'for=192.0.2.1' };
    const first = await service.get('/v1/x', { headers });
    expect(first.headers.get('x-request-id')).not.toBe('abc');
    const second = await service.get('/v1/x', { headers: { ...headers, 'x-forwarded-for': '192.0.2.2' } });
    expect([remaining(first), remaining(second)]).toEqual([599, 598]);
  });
});
