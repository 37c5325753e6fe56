import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { pricingSite } from '../../src/web/pricing.tsx';
import { type Anvil, HAS_ANVIL, startAnvil } from '../billing/anvil.ts';
import { paymentsOn, setPrice } from '../billing/paid-service.ts';
import { temporaryArchive } from '../support/archive.ts';
import { PlainBrowser } from './browser.ts';
import { type Site, startSite } from './site.ts';

const pricing = async (site: Site) => (await new PlainBrowser(site.origin).open('/pricing')).text;

test('The tiers have their prices and grants without a sign-in, and nothing to buy while payments are off.', async () => {
  await using site = startSite();
  setPrice(site.people.registry, 'pro', 49.5);
  const text = await pricing(site);
  for (const { name } of site.people.registry.tiers.list()) expect(text).toContain(`<h2>${name}</h2>`);
  for (const part of ['$49.50 a month', '300 a minute per key', 'btc, eth, sol, xrp', 'href="/account">Sign in']) {
    expect(text).toContain(part);
  }
  expect(text).not.toContain('Buy ');
  expect(text).toContain('href="/pricing" aria-current="page"');
  expect((await new PlainBrowser(site.origin).open('/', { accept: 'text/html' })).text).toContain('href="/pricing"');
});

test('Without accounts it has prices, and no link to an account.', async () => {
  using held = temporaryArchive();
  const app = new Elysia().use(pricingSite({ registry: held.registry, billing: undefined, hasAccounts: false }));
  const text = await (await app.handle(new Request('http://127.0.0.1/pricing'))).text();
  expect([text.includes('a minute per key'), text.includes('/account')]).toEqual([true, false]);
});

describe.skipIf(!HAS_ANVIL)('With payments (needs anvil)', () => {
  let anvil: Anvil;
  beforeAll(async () => {
    anvil = await startAnvil();
  });
  afterAll(async () => await anvil[Symbol.asyncDispose]());

  test('a tier with a price names the tokens, and its link leads over the sign-in to the plan', async () => {
    await using site = startSite({}, ({ registry, directory, nowMs }) =>
      paymentsOn({ path: directory, registry, anvil, clock: nowMs, logError: () => undefined }),
    );
    setPrice(site.people.registry, 'pro', 49.5);
    const text = await pricing(site);
    expect(text.match(/paid with [^.]*/g)).toEqual(['paid with TUSD on Anvil']);
    expect(text).toContain('href="/account/plan">Buy Pro</a>');
    const plan = await new PlainBrowser(site.origin).open('/account/plan');
    expect([plan.status, plan.headers.get('location')]).toEqual([303, '/sign-in']);
  });
});
