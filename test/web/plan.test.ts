import { expect, test } from 'bun:test';
import { grantTier } from '../../src/account/administration.ts';
import { changeTier, retireTier } from '../../src/account/tier-catalog.ts';
import { NOW_MS } from '../support/archive.ts';
import { plainText, rowsOf } from './page-content.ts';
import { startSite } from './site.ts';

const ADA = 'ada@example.com';
const DAY_MS = 86_400_000;

test('The plan is the live tier with its end, its grants, and the catalog with the present tier marked', async () => {
  await using site = startSite();
  const { registry, passTime, nowMs } = site.people;
  const change = () => ({ registry, nowMs: nowMs() });
  const ada = await site.signedIn(ADA);
  const shown = async () => (await ada.open('/account/plan')).text;
  const markedIn = (text: string) =>
    [...text.matchAll(/<section class="card tier chosen">.*?<h2>([^<]*)/g)].map(([, name]) => name!.trim());
  const free = await shown();
  expect([markedIn(free), free.includes('Periods')]).toEqual([['Free'], false]);
  for (const part of [
    'Every account has this tier as long as it has no other',
    '10 a minute',
    '$0',
    'Custom',
    'Enterprise',
  ]) {
    expect(plainText(free)).toContain(part);
  }

  const { id } = registry.accounts.findByEmail(ADA)!;
  grantTier(change(), id, 'starter');
  const latest = async () => rowsOf((await ada.open('/account')).text, 'Latest activity')[0];
  const time = '2026-06-01 00:00 UTC';
  expect(await latest()).toEqual({
    Time: time,
    Activity: 'Granted the tier Starter without an end',
    By: 'the service',
  });
  const root = await site.signedIn('root@example.com');
  registry.accounts.setRole(registry.accounts.findByEmail('root@example.com')!.id, 'admin');
  await root.post('/admin/accounts/grant', { account: String(id), tier: 'free', until: '' });
  expect(await latest()).toEqual({ Time: time, Activity: 'Granted the tier Free without an end', By: 'an admin' });
  grantTier(change(), id, 'pro', NOW_MS + DAY_MS);
  const pro = await shown();
  expect([markedIn(pro), plainText(pro).includes('1 day left , until 2026-06-02 00:00 UTC')]).toEqual([['Pro'], true]);
  expect(rowsOf(pro, 'Periods')[0]).toEqual({
    Tier: 'Pro now',
    'From (UTC)': '2026-06-01 00:00',
    'Until (UTC)': '2026-06-02 00:00',
    By: 'the operator',
  });
  expect((await ada.open('/account')).text).toContain('2026-06-02 00:00 UTC');

  // Nothing is written when a grant ends.
  passTime(DAY_MS);
  const starter = await shown();
  expect([markedIn(starter), starter.includes('This tier has no end'), starter.includes('2026-06-02 00:00')]).toEqual([
    ['Starter'],
    true,
    false,
  ]);

  changeTier(change(), 'pro', { name: '<Pro & more>', monthlyPriceUsd: 1234.5, coins: ['btc', 'eth'] });
  retireTier(change(), 'starter');
  const retired = await shown();
  expect([
    markedIn(retired),
    plainText(retired).includes('$1,234.50 for 30 days'),
    retired.includes('&lt;Pro &amp; more>'),
  ]).toEqual([['Starter'], true, true]);
  expect(retired).toMatch(/<h2>Starter/);
});
