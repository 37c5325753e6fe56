import { describe, expect, test } from 'bun:test';
import { temporaryDirectory } from '../support/archive.ts';
import { runCommand } from '../support/command.ts';
import { type Finished, startServer } from '../support/executable.ts';

const KEY = /br_live_[a-z2-7]{47}/;

interface KeyDocument {
  readonly id: string;
  readonly prefix: string;
  readonly tier: string;
  readonly requestsPerMinute: number | null;
  readonly asOf: string | null;
  readonly account: string;
  readonly name: string | null;
  readonly createdAt: string;
  readonly rotatedAt: string | null;
  readonly revokedAt: string | null;
  readonly key?: string;
}

interface TierDocument {
  readonly id: string;
  readonly coins: readonly string[] | null;
  readonly routes: readonly string[] | null;
  readonly requestsPerMinute: number;
  readonly monthlyPriceUsd: number | null;
  readonly priceNote: string | null;
}

/** Commands on one data directory. */
function commandsOn(data: string) {
  const run = (...args: string[]): Promise<Finished> => runCommand([...args, '--data', data]);
  return {
    run,
    json: async <T>(...args: string[]): Promise<T> => JSON.parse((await run(...args, '--json')).stdout) as T,
  };
}

async function statusOf(origin: string, key: string, path = '/v1/billing/tiers'): Promise<number> {
  const response = await fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
  await response.arrayBuffer();
  return response.status;
}

const AS_OF = '2026-01-08T10:31:40.000Z';

describe('key', () => {
  test('create prints the key alone on stdout, and everything about it on stderr', async () => {
    using directory = temporaryDirectory();
    const { run } = commandsOn(directory.path);
    const { code, stdout, stderr } = await run('key', 'create', '--tier', 'free');
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^${KEY.source}\n$`));
    expect(stderr).toMatch(/^key_[a-z2-7]{10} \(free, owner@localhost\) is created;.*\nno server uses '.*' now; .*\n$/);
    expect(stderr).not.toMatch(KEY);
  });

  test('create stores its options, and list shows them without the key', async () => {
    using directory = temporaryDirectory();
    const { run, json } = commandsOn(directory.path);
    const options = ['--tier', 'enterprise', '--account', 'desk@example.com', '--name', 'back tests', '--rpm', '5000'];
    const created = await json<KeyDocument>('key', 'create', ...options);
    expect(created).toMatchObject({
      tier: 'enterprise',
      account: 'desk@example.com',
      name: 'back tests',
      requestsPerMinute: 5000,
      asOf: null,
      rotatedAt: null,
      revokedAt: null,
    });
    const { key, ...listed } = created;
    expect(key).toMatch(KEY);
    expect(await json<object[]>('key', 'list')).toEqual([{ ...listed, lastUsedAt: null }]);
    for (const args of [
      ['key', 'list'],
      ['key', 'list', '--json'],
    ]) {
      const { stdout, stderr } = await run(...args);
      expect(stdout).toContain(created.id);
      expect(stdout).toContain(created.prefix);
      expect(stderr).toBe('');
      // Only the public prefix of the key may be shown.
      expect(stdout).not.toContain(key!.slice(0, created.prefix.length + 1));
      expect(stdout).not.toContain(key!.slice(created.prefix.length));
    }
  });

  test('create --as-of creates a key that sees nothing later, also after rotation, backup and restore', async () => {
    using directory = temporaryDirectory();
    const data = `${directory.path}/data`;
    const { run, json } = commandsOn(data);
    expect((await run('seed')).code).toBe(0);
    const options = ['--tier', 'enterprise', '--rpm', '100000'];
    const free = (await run('key', 'create', ...options)).stdout.trim();
    const created = await json<KeyDocument>('key', 'create', ...options, '--as-of', AS_OF);

    const told = await run('key', 'rotate', created.id);
    expect(told.stderr).toContain(`${created.id} (enterprise, owner@localhost, as of ${AS_OF}) is rotated`);
    const key = told.stdout.trim();
    const [, listed] = await json<KeyDocument[]>('key', 'list');
    expect(listed).toMatchObject({ id: created.id, asOf: AS_OF });
    const { stdout } = await run('key', 'list');
    expect(stdout.split('\n').filter((line) => line.includes(AS_OF))).toHaveLength(1);

    const copy = `${directory.path}/copy.db`;
    expect((await run('backup', copy)).code).toBe(0);
    const again = commandsOn(`${directory.path}/again`);
    expect((await again.run('restore', copy)).code).toBe(0);
    expect((await again.run('verify')).code).toBe(0);
    expect((await again.json<KeyDocument[]>('key', 'list'))[1]).toEqual(listed!);

    await using server = await startServer(`${directory.path}/again`);
    const market = '/v1/btc/markets/simulated-btc-updown-5m-1767868200';
    const ask = async (holder: string, path: string) => {
      const answer = await fetch(`${server.origin}${path}`, { headers: { authorization: `Bearer ${holder}` } });
      expect(answer.status).toBe(200);
      return await answer.text();
    };
    for (const kind of ['', '/snapshots?order=desc&limit=3', '/snapshots/at/2026-01-08T10:33Z', '/coverage']) {
      const path = `${market}${kind}`;
      const expected = await ask(free, `${path}${kind.includes('?') ? '&' : '?'}asOf=${AS_OF}`);
      expect(await ask(key, path)).toBe(expected);
      expect(await ask(free, path)).not.toBe(expected);
    }
  });

  test.each([AS_OF, '1767868300000', '2026-01-08T11:31:40+01:00'])(
    'create --as-of %s is that instant',
    async (instant) => {
      using directory = temporaryDirectory();
      const { json } = commandsOn(directory.path);
      expect((await json<KeyDocument>('key', 'create', '--tier', 'free', '--as-of', instant)).asOf).toBe(AS_OF);
    },
  );

  test.each([
    ['yesterday', 'ISO 8601'],
    ['253402300800000', 'up to the year 9999'],
    ['-1', 'Unix milliseconds'],
    ['2026-02-30', 'a day and a time that exist'],
    ['', 'ISO 8601'],
  ])('create --as-of %j is refused', async (instant, reason) => {
    using directory = temporaryDirectory();
    const { run } = commandsOn(directory.path);
    const { code, stdout, stderr } = await run('key', 'create', '--tier', 'free', '--as-of', instant);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('--as-of');
    expect(stderr).toContain(reason);
  });

  test('an account may have many keys', async () => {
    using directory = temporaryDirectory();
    const { run, json } = commandsOn(directory.path);
    const keys = new Set<string>();
    for (let i = 0; i < 3; i += 1) keys.add((await run('key', 'create', '--tier', 'pro')).stdout);
    expect(keys.size).toBe(3);
    const listed = await json<KeyDocument[]>('key', 'list');
    expect(new Set(listed.map((key) => key.id)).size).toBe(3);
    expect(new Set(listed.map((key) => key.account))).toEqual(new Set(['owner@localhost']));
  });

  test('several first commands on one new data directory all succeed', async () => {
    using directory = temporaryDirectory();
    const data = `${directory.path}/new`;
    const { run, json } = commandsOn(data);
    const racers = await Promise.all(Array.from({ length: 5 }, () => run('key', 'create', '--tier', 'pro')));
    expect(racers.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
    expect(await json<KeyDocument[]>('key', 'list')).toHaveLength(5);
    await using server = await startServer(data);
    for (const { stdout } of racers) expect(await statusOf(server.origin, stdout.trim())).toBe(200);
  });

  test('rotate prints the new key alone; the id stays; a revoked key cannot be rotated', async () => {
    using directory = temporaryDirectory();
    const { run, json } = commandsOn(directory.path);
    const created = await json<KeyDocument>('key', 'create', '--tier', 'free');
    const rotated = await run('key', 'rotate', created.id);
    expect(rotated.code).toBe(0);
    expect(rotated.stdout).toMatch(new RegExp(`^${KEY.source}\n$`));
    expect(rotated.stdout.trim()).not.toBe(created.key!);
    const again = await json<KeyDocument>('key', 'rotate', created.id);
    expect(again).toMatchObject({ id: created.id, rotatedAt: expect.any(String), key: expect.stringMatching(KEY) });
    const revoked = await run('key', 'revoke', created.id);
    expect({ code: revoked.code, stdout: revoked.stdout }).toEqual({ code: 0, stdout: '' });
    const first = await json<KeyDocument>('key', 'revoke', created.id);
    expect(first.revokedAt).not.toBeNull();
    // A second revocation changes nothing.
    expect(await json<KeyDocument>('key', 'revoke', created.id)).toEqual(first);
    const refused = await run('key', 'rotate', created.id);
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('was revoked');
  });

  test('set changes what it names, and a running server follows', async () => {
    using directory = temporaryDirectory();
    const { run, json } = commandsOn(directory.path);
    const { key = '', id } = await json<KeyDocument>('key', 'create', '--tier', 'free', '--account', 'a@example.com');
    await using server = await startServer(directory.path);
    const answer = async () => {
      const { status, headers } = await fetch(`${server.origin}/v1/eth/markets`, {
        headers: { authorization: `Bearer ${key}` },
      });
      return [status, headers.get('x-ratelimit-limit')];
    };
    const set = async (...args: string[]) => await json<object>('key', 'set', id, ...args);
    expect(await answer()).toEqual([403, '10']);
    expect(await set('--tier', 'pro', '--rpm', '77', '--name', 'laptop')).toMatchObject({
      ...{ id, tier: 'pro', pinned: true, requestsPerMinute: 77, name: 'laptop', expiresAt: null },
    });
    // The archive has no coin: the key may ask for it, and there is none.
    expect(await answer()).toEqual([404, '77']);
    const expires = new Date(Date.now() + 3_600_000).toISOString();
    expect(await set('--rpm', 'tier', '--expires', expires)).toMatchObject({
      ...{ tier: 'pro', requestsPerMinute: null, name: 'laptop', expiresAt: expires },
    });
    expect(await answer()).toEqual([404, '300']);
    expect(await set('--tier', 'account', '--name', '', '--expires', 'never')).toMatchObject({
      ...{ tier: 'free', pinned: false, name: null, expiresAt: null },
    });
    expect(await answer()).toEqual([403, '10']);
    const { stdout } = await run('key', 'set', id, '--name', 'server');
    expect(stdout.split('\n')[1]).toMatch(new RegExp(`^${id} .* \\(free\\) .* server .* active$`));
    expect(stdout).not.toContain(key);
  });

  test('set refuses words that it does not understand, and changes nothing', async () => {
    using directory = temporaryDirectory();
    const { run, json } = commandsOn(directory.path);
    const { id } = await json<KeyDocument>('key', 'create', '--tier', 'free');
    const before = (await run('key', 'list')).stdout;
    const refusals: readonly (readonly [readonly string[], string])[] = [
      [['--rpm', '0'], 'it must be an integer from 1 to 1000000, or tier'],
      [['--expires', 'soon'], 'up to the year 9999, or never'],
      [['--expires', '2020-01-01'], 'a key cannot expire in the past'],
      [['--name', 'two\nlines'], 'this name has a character that cannot be seen, at position 4'],
      [['--tier', ''], "there is no tier '': choose one of free, starter, pro, enterprise"],
    ];
    for (const [args, reason] of refusals) {
      const { code, stdout, stderr } = await run('key', 'set', id, '--rpm', '9', ...args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(reason);
    }
    expect((await run('key', 'set', id)).stderr).toContain('nothing to change: add --tier, --name, --rpm or --expires');
    expect((await run('key', 'list')).stdout).toBe(before);
  });
});

describe('tier', () => {
  test('a tier is added, shown with those who have it, and retired', async () => {
    using directory = temporaryDirectory();
    const { run, json } = commandsOn(directory.path);
    const added = await json<TierDocument>(
      ...['tier', 'add', 'gold', '--name', 'Gold', '--rpm', '600', '--coins', 'btc', '--price', '99', '--place', '4'],
    );
    expect(added).toMatchObject({ id: 'gold', coins: ['btc'], routes: null, monthlyPriceUsd: 99, priceNote: null });
    const ids = async (...args: string[]) => (await json<TierDocument[]>('tier', 'list', ...args)).map(({ id }) => id);
    expect(await ids()).toEqual(['free', 'starter', 'pro', 'gold', 'enterprise']);
    await run('account', 'create', 'ann@example.com');
    await run('account', 'grant', 'ann@example.com', '--tier', 'gold', '--until', '2100-01-01');
    const { key = '', id: keyId } = await json<KeyDocument>('key', 'create', '--tier', 'gold');
    const affected = { accounts: [{ email: 'ann@example.com', endsAt: '2100-01-01T00:00:00.000Z' }], retiredAt: null };
    const shown = await json<{ keys: readonly object[] }>('tier', 'show', 'gold');
    expect(shown).toMatchObject({ id: 'gold', isOfNewAccounts: false, ...affected });
    expect(shown.keys).toHaveLength(1);
    expect((await run('tier', 'show', 'free')).stdout).toContain('all accounts without a grant have this tier');

    await using server = await startServer(directory.path);
    const catalog = async () => {
      const answer = await fetch(`${server.origin}/v1/billing/tiers`, { headers: { authorization: `Bearer ${key}` } });
      return ((await answer.json()) as { data: TierDocument[] }).data.map(({ id }) => id);
    };
    expect(await catalog()).toContain('gold');
    const retired = await run('tier', 'retire', 'gold');
    expect(retired.stdout).toMatch(/^retired 20/m);
    expect(await catalog()).toEqual(['free', 'starter', 'pro', 'enterprise']);
    expect([await ids(), await ids('--retired')]).toEqual([['free', 'starter', 'pro', 'enterprise'], ['gold']]);
    const refused = [
      await run('key', 'create', '--tier', 'gold'),
      await run('key', 'set', keyId, '--tier', 'gold'),
      await run('account', 'grant', 'ann@example.com', '--tier', 'gold'),
    ];
    for (const { code, stderr } of refused) {
      expect([code, stderr]).toEqual([
        2,
        "bookreel: the tier 'gold' is retired: choose one of free, starter, pro, enterprise\n",
      ]);
    }
    expect((await run('tier', 'retire', 'free')).stderr).toContain("'free' is the tier of new accounts");
  });

  test('list shows the catalog, the cheapest first', async () => {
    using directory = temporaryDirectory();
    const { run, json } = commandsOn(directory.path);
    await run('key', 'create', '--tier', 'free');
    const tiers = await json<TierDocument[]>('tier', 'list');
    expect(tiers.map(({ id, requestsPerMinute }) => [id, requestsPerMinute])).toEqual([
      ['free', 10],
      ['starter', 60],
      ['pro', 300],
      ['enterprise', 1000],
    ]);
    const { stdout, stderr } = await run('tier', 'list');
    expect(stderr).toBe('');
    expect(stdout.split('\n').map((line) => line.split(' ')[0])).toEqual([
      'ID',
      'free',
      'starter',
      'pro',
      'enterprise',
      '',
    ]);
  });

  const changes: readonly (readonly [readonly string[], Partial<TierDocument>])[] = [
    [['--rpm', '120'], { requestsPerMinute: 120 }],
    [['--rpm', '1000000'], { requestsPerMinute: 1_000_000 }],
    [['--coins', 'btc,doge'], { coins: ['btc', 'doge'] }],
    [['--coins', 'BTC, Eth,btc'], { coins: ['btc', 'eth'] }],
    [['--coins', 'all'], { coins: null }],
    [['--routes', 'markets,quotes'], { routes: ['markets', 'quotes'] }],
    [['--routes', 'ALL'], { routes: null }],
    [['--price', '29'], { monthlyPriceUsd: 29, priceNote: null }],
    [['--price', '49.50'], { monthlyPriceUsd: 49.5, priceNote: null }],
    [['--price', '0'], { monthlyPriceUsd: 0, priceNote: null }],
    [
      ['--rpm', '7', '--coins', 'sol', '--routes', 'prices', '--price', '1.05'],
      { requestsPerMinute: 7, coins: ['sol'], routes: ['prices'], monthlyPriceUsd: 1.05, priceNote: null },
    ],
  ];

  test.each(changes)('set starter %j changes only that', async (args, change) => {
    using directory = temporaryDirectory();
    const { run, json } = commandsOn(directory.path);
    await run('key', 'create', '--tier', 'free');
    const before = await json<TierDocument[]>('tier', 'list');
    const expected = before.map((tier) => (tier.id === 'starter' ? { ...tier, ...change } : tier));
    expect(await json<TierDocument>('tier', 'set', 'starter', ...args)).toEqual(expected[1]!);
    expect(await json<TierDocument[]>('tier', 'list')).toEqual(expected);
  });

  test('a refused change leaves the catalog as it was', async () => {
    using directory = temporaryDirectory();
    const { run, json } = commandsOn(directory.path);
    await run('key', 'create', '--tier', 'free');
    const before = await json<TierDocument[]>('tier', 'list');
    expect((await run('tier', 'set', 'free', '--rpm', '20', '--coins', '?')).code).toBe(2);
    expect((await run('tier', 'set', 'free', '--rpm', '20', '--price', 'much')).code).toBe(2);
    expect(await json<TierDocument[]>('tier', 'list')).toEqual(before);
  });
});

test.each(['\u001b[31mred', 'two\nlines', 'x'.repeat(101), ''])(
  'a name with characters that would break the list is refused: %j',
  async (name) => {
    using directory = temporaryDirectory();
    const finished = await runCommand(['key', 'create', '--tier', 'free', '--name', name, '--data', directory.path]);
    expect({ code: finished.code, stdout: finished.stdout }).toEqual({ code: 2, stdout: '' });
    expect(finished.stderr).toContain('name has ');
  },
);
