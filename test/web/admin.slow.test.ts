import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { startServer } from '../support/executable.ts';
import { PlainBrowser } from './browser.ts';

test('A running server uses every change by an admin with the next request.', async () => {
  using directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  const port = String(await freePort());
  await using server = await startServer(data, ['--demo', '--port', port, '--public-url', `http://127.0.0.1:${port}`]);
  const command = async (...args: string[]) => (await outputOf([...args, '--data', data])).trim();
  const link = await command(
    'account',
    'create',
    'root@example.com',
    '--admin',
    '--link',
    '--public-url',
    server.origin,
  );
  const admin = new PlainBrowser(server.origin);
  const token = new URL(link.split('\n').at(-1)!).searchParams.get('token')!;
  expect((await admin.post('/sign-in/link', { token })).status).toBe(303);

  await command('account', 'create', 'ada@example.com');
  const { id: adas, key } = JSON.parse(
    await command('key', 'create', '--account', 'ada@example.com', '--json', '--tier', 'free'),
  ) as { id: string; key: string };
  await command('key', 'set', adas, '--tier', 'account');
  const [, account] = /href="\/admin\/accounts\/(\d+)">ada<wbr\/>@/.exec((await admin.open('/admin/accounts')).text)!;
  const change = async (path: string, fields: Readonly<Record<string, string>>) => {
    const { status } = await admin.post(`/admin${path}`, { account: account!, ...fields });
    expect([path, status]).toEqual([path, 303]);
  };
  const asked = async (path: string) => {
    const answer = await fetch(`${server.origin}/v1${path}`, { headers: { authorization: `Bearer ${key}` } });
    return [answer.status, answer.headers.get('x-ratelimit-limit')];
  };
  const free = { id: 'free', name: 'Free', coin: 'btc', rpm: '10', pricing: 'amount', price: '0', place: '1' };

  expect([await asked('/btc/markets'), await asked('/eth/markets')]).toEqual([
    [200, '10'],
    [403, '10'],
  ]);
  await change('/tiers/change', { ...free, coin: 'eth', rpm: '77', route: 'markets' });
  expect([await asked('/btc/markets'), await asked('/eth/markets')]).toEqual([
    [403, '77'],
    [200, '77'],
  ]);
  await change('/tiers/change', { ...free, coins: 'all', rpm: '77', route: 'prices' });
  expect(await asked('/eth/markets')).toEqual([403, '77']);

  await change('/accounts/grant', { tier: 'pro', until: '9999-01-01T00:00' });
  expect(await asked('/btc/markets')).toEqual([200, '300']);
  const [, grant] = /name="grant" value="(\w+)"/.exec((await admin.open(`/admin/accounts/${account}`)).text)!;
  await change('/accounts/end-grant', { grant: grant! });
  expect(await asked('/btc/markets')).toEqual([403, '77']);
  await change('/accounts/grant', { tier: 'pro', until: '' });

  await change('/accounts/disable', {});
  expect((await asked('/btc/markets'))[0]).toBe(401);
  await change('/accounts/enable', {});
  expect((await asked('/btc/markets'))[0]).toBe(200);
  await change('/accounts/revoke-key', { key: adas });
  expect((await asked('/btc/markets'))[0]).toBe(401);
});
