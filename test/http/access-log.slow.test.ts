import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { generateKey } from '../../src/domain/api-key.ts';
import { AccessLog } from '../../src/http/plugins/access-log.ts';
import { parseIpNetwork } from '../../src/http/plugins/ip-address.ts';
import { Log, type LogSink } from '../../src/http/plugins/log.ts';
import { maskedTarget, maskedText } from '../../src/http/plugins/secret-mask.ts';
import { NOW_MS } from '../support/archive.ts';
import { keptLog, startEdge } from './edge-service.ts';

const CONDITION_ID = `0x${'51301a7ed09337c5'.repeat(4)}`;

describe('the access log', () => {
  test('has one line for each answer of any status', async () => {
    const kept = keptLog();
    await using service = startEdge({ accessLog: kept.accessLog });
    const headers = { authorization: `Bearer ${service.key}`, 'user-agent': 'test/1.0' };
    const asked: readonly (readonly [number, string, RequestInit])[] = [
      [404, '/v1/btc/markets?limit=7&tf=5m', { headers }],
      [200, '/v1/billing/tiers', { headers }],
      [200, '/healthz', {}],
      [204, '/v1/btc/markets', { headers, method: 'OPTIONS' }],
      [400, '/v1/btc/markets?limit=0', { headers }],
      [400, '/v1/%ZZ', { headers }],
      [401, '/v1/btc/markets', {}],
      [403, '/v1/doge/markets', { headers }],
      [404, '/nothing', {}],
      [405, '/v1/btc/markets', { headers, method: 'DELETE' }],
    ];
    const ids: (string | null)[] = [];
    for (const [status, path, init] of asked) {
      const answer = await service.get(path, init);
      expect(answer.status).toBe(status);
      ids.push(answer.headers.get('x-request-id'));
    }
    const lines = await kept.lines();
    expect(lines.map(({ status }) => status)).toEqual(asked.map(([status]) => status));
    expect(lines.map(({ id }) => id)).toEqual(ids);
    expect(lines.map(({ path }) => path)).toEqual(asked.map(([, path]) => (path === '/v1/%ZZ' ? '/v1/…' : path)));
    expect(lines[0]).toEqual({
      time: new Date(NOW_MS).toISOString(),
      level: 'info',
      id: ids[0],
      method: 'GET',
      path: '/v1/btc/markets?limit=7&tf=5m',
      status: 404,
      bytes: lines[0]!.bytes,
      ms: expect.any(Number),
      address: '127.0.0.1',
      key: service.keyId,
      agent: 'test/1.0',
    });
    // Valid keys are logged, even if their tier grants nothing.
    const named = lines.map(({ key }) => key !== null);
    expect(named).toEqual([true, true, false, true, true, false, false, true, false, true]);
  });

  test('has the key of a 429 and a HEAD, and the client and the request id that a trusted proxy sent', async () => {
    const kept = keptLog();
    await using service = startEdge({ accessLog: kept.accessLog, trustedProxies: [parseIpNetwork('127.0.0.1')!] }, 1);
    const headers = {
      authorization: `Bearer ${service.key}`,
      'x-forwarded-for': '2001:db8::1',
      'x-request-id': 'abc',
    };
    for (const method of ['HEAD', 'GET']) await service.get('/v1/billing/tiers', { headers, method });
    const lines = await kept.lines();
    expect(lines.map(({ method, status, key, address, id }) => [method, status, key, address, id])).toEqual([
      ['HEAD', 200, service.keyId, '2001:db8::1', 'abc'],
      ['GET', 429, service.keyId, '2001:db8::1', 'abc'],
    ]);
  });

  test('is a readable line on a terminal, without control sequences', async () => {
    const kept = keptLog('text');
    await using service = startEdge({ accessLog: kept.accessLog });
    await service.get('/nothing?x=1', { headers: { 'user-agent': 'a"b \u009b2J \x7f' } });
    expect(await kept.text()).toMatch(
      /^00:00:00\.000Z 404 GET \/nothing\?x=… \S+ bytes \d+\.\d ms 127\.0\.0\.1 - "a\\"b \\\\u\{9b\}2J \\\\u\{7f\}" \S{36}\n$/,
    );
  });

  test('The access log names a valid key by its id, and masks every other text that could be a key.', async () => {
    const kept = keptLog();
    await using service = startEdge({ accessLog: kept.accessLog });
    for (const key of [service.key, generateKey()]) {
      const encoded = [...key].map((char) => `%${char.charCodeAt(0).toString(16)}`).join('');
      for (const presented of [
        key,
        key.toUpperCase(),
        `${key}x`,
        key.slice(0, 40),
        key.slice(0, 18),
        encoded,
        encodeURIComponent(encoded),
      ]) {
        for (const path of [
          `/${presented}`,
          `/%ZZ${presented}`,
          `/v1/${presented}/markets`,
          `/v1/btc/markets/${presented}/snapshots?cursor=${presented}&limit=${presented}`,
          `/v1/btc/markets?access_token=${presented}`,
          `/v1/btc/markets?${presented}`,
          `/v1/btc/markets?${presented}=1`,
          `/v1/btc/markets?tf=${presented.slice(0, 30)}&from=${presented}`,
          `/v1/btc/markets?x=${'a'.repeat(370)}${presented}`,
          `/${'a/'.repeat(180)}${presented}`,
        ]) {
          await service.get(path, {
            headers: { authorization: `Bearer ${presented}`, 'user-agent': `curl ${presented}`, 'x-request-id': key },
          });
        }
      }
      const log = (await kept.text()).toLowerCase();
      const secret = key.slice('br_live_'.length);
      for (let start = 0; start + 8 <= secret.length; start += 1) {
        expect(log).not.toContain(secret.slice(start, start + 8));
        expect(log).not.toContain(encoded.slice('br_live_'.length * 3).slice(start * 3, start * 3 + 24));
      }
    }
    expect((await kept.lines()).length).toBe(2 * 7 * 10);
  });
});

describe('a target in the log', () => {
  test.each([
    ['/', '/'],
    [`/v1/btc/markets/${CONDITION_ID}/snapshots/at/1776323404123?outcome=up`, undefined],
    ['/v1/btc/markets/x/snapshots/at/2026-01-08T10:31:40.479Z', undefined],
    ['/v1/btc/markets/x/snapshots/at/2026-01-08T10%3A31%3A40Z', undefined],
    ['/v1/btc/markets/simulated-btc-updown-5m-1767868200/prices?limit=10&order=desc', undefined],
    ['/v1/btc/markets?from=2026-01-08T10%3A31%3A40%2B02:00', undefined],
    ['/v1/btc/markets/x/snapshots/at?ts=1776323404123,2026-01-08T10:31:40Z,5&mode=before', undefined],
    ['/v1/btc/markets/x/snapshots/at?ts=1,abcdefghijklmnopqrstuvwxyz,2', '/v1/btc/markets/x/snapshots/at?ts=…'],
    ['/v1/btc/markets?limit=1&cursor=AAAA', '/v1/btc/markets?limit=1&cursor=…'],
    ['/v1/btc/markets?name=value&LIMIT=3', '/v1/btc/markets?name=…&LIMIT=…'],
    ['/v1/btc/markets?limit=<b>', '/v1/btc/markets?limit=…'],
    ['/v1/btc/markets?flag', undefined],
    ['/4231907156189355949405545362791364795877034601494749', undefined],
    ['/51301a7ed09337c50fa1c946ad8013953f71f5dd', '/…'],
    ['/%41%2541', '/…'],
    [`/${'a/'.repeat(300)}`, `/${'a/'.repeat(199)}a…`],
    [`/?${'a&'.repeat(40)}`, `/?${'a&'.repeat(16)}…`],
  ])('%s', (path, shown) => {
    expect(maskedTarget(`http://localhost${path}`)).toBe(shown ?? path);
  });

  test('is the same whether the pattern of ordinary targets recognises it or not', () => {
    const word = fc.string({ unit: fc.constantFrom(...'abcxyz0189AZ.:-_/'), maxLength: 45 });
    const id = fc.constantFrom(CONDITION_ID, CONDITION_ID.slice(2), `${CONDITION_ID}0`, 'br_live_1', '1'.repeat(77));
    const piece = fc.oneof(word, word, id);
    const parameter = fc
      .tuple(fc.constantFrom('limit', 'ts', 'from', 'cursor', 'depth', 'x'), piece)
      .map((pair) => pair.join('='));
    const target = fc
      .tuple(fc.array(piece, { minLength: 1, maxLength: 4 }), fc.array(parameter, { minLength: 1, maxLength: 4 }))
      .map(([path, query]) => `/${path.join('/')}?${query.join('&')}`);
    fc.assert(
      fc.property(target, (text) => {
        // Longer ones are cut off.
        fc.pre(text.length < 390);
        // A parameter without a value is shown, and is not in the pattern.
        expect(`${maskedTarget(`http://h${text}`)}&f`).toBe(maskedTarget(`http://h${text}&f`));
      }),
      { numRuns: 2000 },
    );
  });

  test('is bounded and printable for any request', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2000 }), (text) => {
        for (const shown of [maskedTarget(`http://h/${text}`), maskedText(text, 160)]) {
          expect(shown).not.toMatch(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u);
          expect(shown.length).toBeLessThan(401 * '\\u{10ffff}'.length);
        }
      }),
    );
  });
});

describe('a log reader that', () => {
  const logTo = (sink: LogSink) => new Log({ sink, format: 'json', level: 'info', nowMs: () => NOW_MS });
  const enter = (accessLog: AccessLog, count: number) => {
    const answered = { requestId: 'id', address: '127.0.0.1', method: 'GET', agent: null, keyId: undefined };
    for (let index = 0; index < count; index += 1) {
      const url = `http://localhost/${index}`;
      accessLog.add({ ...answered, url, status: 200, bytes: 2, timeMs: NOW_MS, durationMs: 1 });
    }
  };

  test('stops: memory is bounded, and the log states the number of missing lines', async () => {
    const written: string[] = [];
    const gate = Promise.withResolvers<void>();
    const log = logTo(async (text) => {
      await gate.promise;
      written.push(text);
    });
    const accessLog = new AccessLog(log);
    enter(accessLog, 20_000);
    gate.resolve();
    accessLog.flush();
    await log.flush();
    const lines = written
      .join('')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { path?: string; dropped?: number });
    const { dropped = 0 } = lines.at(-1)!;
    expect(lines.slice(0, -1).map(({ path }) => path)).toEqual(lines.slice(0, -1).map((_, index) => `/${index}`));
    expect(lines.length - 1 + dropped).toBe(20_000);
    expect(dropped).toBeGreaterThan(0);
    expect(log.dropped).toBe(dropped);
    expect(written.join('').length).toBeLessThan(1.2 * 1024 * 1024);
    enter(accessLog, 1);
    accessLog.flush();
    await log.flush();
    expect(written.at(-1)).toContain('"path":"/0"');
    expect(written.at(-1)).not.toContain('dropped');
  });

  test('went away: requests are answered, and a later reader gets the lines from then on', async () => {
    const written: string[] = [];
    let gone = true;
    const log = logTo(async (text) => {
      if (gone) throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
      written.push(text);
    });
    const accessLog = new AccessLog(log);
    await using service = startEdge({ accessLog });
    expect((await service.get('/healthz')).status).toBe(200);
    accessLog.flush();
    await log.flush();
    gone = false;
    expect((await service.get('/readyz')).status).toBe(200);
    accessLog.flush();
    await log.flush();
    expect(written.join('')).toContain('"path":"/readyz"');
    expect(written.join('')).not.toContain('/healthz');
  });

  test('is written with the next batch, without a flush', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    enter(new AccessLog(logTo(async (text) => resolve(text))), 3);
    expect((await promise).trimEnd().split('\n')).toHaveLength(3);
  });
});
