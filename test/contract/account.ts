import { expect, test } from 'bun:test';
import { clientOf, type Reply } from './client.ts';
import { AMPLE_RPM, type Suite } from './target.ts';

interface AccountAnswer {
  readonly data: {
    readonly email: string;
    readonly tier: { readonly id: string };
    readonly tierEndsAt: string | null;
    readonly key: { readonly id: string; readonly prefix: string; readonly tier: string; readonly pinned: boolean };
  };
}

interface Counts {
  readonly requests: number;
  readonly forbidden: number;
  readonly limited: number;
  readonly failed: number;
  readonly bytes: number;
}

interface UsageAnswer {
  readonly data: {
    readonly from: string;
    readonly to: string;
    readonly intervals: readonly (Counts & { readonly start: string })[];
    readonly keys: readonly (Counts & { readonly keyId: string })[];
    readonly routes: readonly (Counts & { readonly route: string })[];
  };
}

const lengthOf = ({ headers }: Reply) => Number(headers.get('content-length'));
const sum = (counts: readonly Counts[], name: keyof Counts) => counts.reduce((total, one) => total + one[name], 0);

/** `/v1/account` and `/v1/account/usage`. */
export function accountTests(suite: Suite): void {
  test('the account of a key has the key’s id, prefix and tier, and never the key', async () => {
    const { id, key } = await suite.target.makeKey('starter', { rpm: AMPLE_RPM });
    const reply = await clientOf(suite.target.origin, key)('/v1/account');
    expect(reply.status).toBe(200);
    const { data } = reply.json<AccountAnswer>();
    expect(data.email).toContain('@');
    expect(data.key).toMatchObject({ id, tier: 'starter', pinned: true, prefix: key.slice(0, 14) });
    expect(reply.text).not.toContain(key.slice(14));
  });

  test.skipIf(!suite.reach.operated)(
    'Usage has every request of a key at once, its route, its refusal and its bytes, and one with an invalid key counts for no key.',
    async () => {
      const { id, key } = await suite.target.makeKey('starter', { rpm: 7 });
      const get = clientOf(suite.target.origin, key);
      const replies = [
        await get('/v1/btc/markets?limit=1'),
        await get('/v1/btc/markets?limit=2'),
        await get('/v1/sol/markets'),
        await get('/v1/btc/markets?limit=0'),
        await get('/v1/nothing'),
      ];
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 403, 400, 404]);
      const path = `/v1/account/usage?keyId=${id}`;
      const first = await get(path);
      const { data } = first.json<UsageAnswer>();
      const bytes = replies.reduce((total, reply) => total + lengthOf(reply), 0);
      const expected = { requests: 5, forbidden: 1, limited: 0, failed: 2, bytes };
      expect(data.keys).toEqual([{ keyId: id, ...expected }]);
      // The test may cross the end of an hour.
      for (const [name, total] of Object.entries(expected)) {
        expect(sum(data.intervals, name as keyof Counts)).toBe(total);
        expect(sum(data.routes, name as keyof Counts)).toBe(total);
      }
      expect(data.routes.map(({ route, requests }) => [route, requests])).toEqual([
        ['/v1/*', 1],
        ['/v1/{coin}/markets', 4],
      ]);
      const days = (await get(`${path}&interval=day`)).json<UsageAnswer>().data;
      expect(days.keys).toMatchObject([{ requests: 6, bytes: bytes + lengthOf(first) }]);
      for (const { start } of days.intervals) expect(start).toEndWith('T00:00:00.000Z');
      expect((await get(path)).status).toBe(429);
      const ample = await suite.client(path);
      expect(ample.json<UsageAnswer>().data.keys).toMatchObject([{ requests: 8, forbidden: 1, limited: 1, failed: 2 }]);
    },
  );

  test.each(['1s', 'week', '', 'Hour'])(
    'usage with interval=%s is refused with the accepted values',
    async (interval) => {
      const reply = await suite.client(`/v1/account/usage?interval=${interval}`);
      expect(reply.status).toBe(400);
      expect(reply.text).toContain('interval must be hour or day');
    },
  );

  test('usage of a key that the account does not have is not found', async () => {
    expect((await suite.client('/v1/account/usage?keyId=key_aaaaaaaaaa')).status).toBe(404);
  });

  test.each([
    ['hour', 31],
    ['day', 400],
  ])('An answer has at most 31 days of usage by hour and 400 by day. (%s, %d)', async (interval, days) => {
    const reply = await suite.client(`/v1/account/usage?interval=${interval}&from=2020-01-01&to=2025-06-01T10:20Z`);
    const { from, to } = reply.json<UsageAnswer>().data;
    const rangeMs = Date.parse(to) - Date.parse(from);
    expect(to).toBe('2025-06-01T10:20:00.000Z');
    // The first interval is whole.
    expect(rangeMs - (rangeMs % 86_400_000)).toBe(days * 86_400_000);
  });

  test('usage of the past and of the future is empty', async () => {
    for (const query of [
      'to=2001-01-01',
      'from=2001-01-01&to=2001-01-01',
      'from=9007199254740991',
      'to=9007199254740991&from=9007199254740991',
    ]) {
      const reply = await suite.client(`/v1/account/usage?${query}`);
      expect([query, reply.status]).toEqual([query, 200]);
      expect([query, reply.json<UsageAnswer>().data.intervals]).toEqual([query, []]);
    }
    const past = await suite.client('/v1/account/usage?to=2001-01-01&interval=day');
    expect(past.json<UsageAnswer>().data).toMatchObject({ intervals: [], keys: [], routes: [] });
  });
}
