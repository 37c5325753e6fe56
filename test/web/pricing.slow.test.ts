import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { grantTier } from '../../src/account/administration.ts';
import { createTier } from '../../src/account/tier-catalog.ts';
import { GRANTS, grantsRoute } from '../../src/domain/tier.ts';
import { pricingSite } from '../../src/web/pricing.tsx';
import { type Anvil, HAS_ANVIL, startAnvil } from '../billing/anvil.ts';
import { paymentsOn, setPrice } from '../billing/paid-service.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';
import { PlainBrowser } from './browser.ts';
import { plainText } from './page-content.ts';
import { type Site, startSite } from './site.ts';

const pricing = async (site: Site) => (await new PlainBrowser(site.origin).open('/pricing')).text;

/** The cards of a page: the name of each, the routes it grants, those it does not, and its action. */
const cardsOf = (text: string) =>
  [...text.matchAll(/<section class="card tier.*?<\/section>/gs)].map(([card]) => {
    const names = [...card.matchAll(/<li class="(granted|quiet)">([^<]*)/g)];
    const named = (kind: string) => names.filter(([, has]) => has === kind).map(([, , name]) => name!);
    const [, href, action] = /<a class="button[^"]*" href="([^"]*)">([^<]*)<\/a>/.exec(card) ?? [];
    return {
      name: /<h2>([^<]*)/.exec(card)![1]!.trim(),
      granted: named('granted'),
      missing: named('quiet'),
      href,
      action,
    };
  });
const actionsOf = (text: string) => cardsOf(text).map(({ href, action }) => [href, action]);

test('The tiers have their prices and grants without a sign-in, and nothing to buy while payments are off.', async () => {
  await using site = startSite();
  setPrice(site.people.registry, 'pro', 49.5);
  const text = await pricing(site);
  const tiers = ['free', 'pro', 'starter', 'enterprise'].map((id) => site.people.registry.tiers.find(id)!);
  const cards = cardsOf(text);
  expect(cards.map(({ name }) => name)).toEqual(tiers.map(({ name }) => name));
  const all = cards.at(-1)!.granted;
  // A sentence above the cards says what all tiers have.
  const compared = GRANTS.filter((grant) => !tiers.every((tier) => grantsRoute(tier, grant)));
  expect(all).toHaveLength(compared.length);
  for (const [nth, tier] of tiers.entries()) {
    // The rows of all cards are the same ones, in the same order.
    const has = all.filter((_, row) => grantsRoute(tier, compared[row]!));
    expect([cards[nth]!.granted, cards[nth]!.missing]).toEqual([has, all.filter((name) => !has.includes(name))]);
  }
  for (const part of [
    '$49.50 for 30 days',
    'Requests per key 300 a minute',
    'BTC, ETH, SOL, XRP',
    'Every tier has markets and coin prices, and reaches back to the first recording.',
    'Pro recommended',
  ]) {
    expect(plainText(text)).toContain(part);
  }
  expect(text).not.toContain('Buy ');
  expect(text).toContain('href="/pricing" aria-current="page"');
  expect((await new PlainBrowser(site.origin).open('/', { accept: 'text/html' })).text).toContain('href="/pricing"');
});

const CONTACT = 'https://example.com/contact';
const START = ['/account', 'Start free'];
/** A sentence below the cards says whom to ask. */
const OPERATOR = [undefined, undefined];
const ASK = [CONTACT, 'Contact us'];
const KEY = ['/account/keys/new', 'Create a key'];
const PLAN = ['/account/plan', 'Change plan'];

test.each([
  ['a visitor', undefined, undefined, [START, OPERATOR, OPERATOR, OPERATOR]],
  ['a visitor', undefined, CONTACT, [START, ASK, ASK, ASK]],
  ['a customer', 'starter', undefined, [PLAN, KEY, OPERATOR, OPERATOR]],
  ['a customer', 'starter', CONTACT, [PLAN, KEY, ASK, ASK]],
])('Each tier has an action for %s (%p) if the contact is %p.', async (_, tier, contact, actions) => {
  await using site = startSite({}, undefined, undefined, contact);
  const { registry, nowMs } = site.people;
  const browser = tier === undefined ? new PlainBrowser(site.origin) : await site.signedIn('ada@example.com');
  if (tier !== undefined)
    grantTier({ registry, nowMs: nowMs() }, registry.accounts.findByEmail('ada@example.com')!.id, tier);
  const { text } = await browser.open('/pricing');
  expect(actionsOf(text)).toEqual(actions);
  const sentences = plainText(text).match(/Ask the operator [^.]*/g) ?? [];
  const tiers = tier === undefined ? 'Starter or Pro or Enterprise' : 'Pro or Enterprise';
  const account = tier === undefined ? '' : ', and name your account, ada@example';
  expect(sentences).toEqual(contact === undefined ? [`Ask the operator of this service for ${tiers}${account}`] : []);
  expect(text.match(/<section class="card tier chosen">/g)?.length ?? 0).toBe(tier === undefined ? 0 : 1);
  expect(text.includes('your tier')).toBe(tier !== undefined);
});

test.each([undefined, CONTACT])(
  'Without accounts it has prices, no link to an account, and the contact %p.',
  async (contact) => {
    using held = temporaryArchive();
    const deps = { registry: held.registry, billing: undefined, contact, service: undefined, nowMs: () => NOW_MS };
    const app = new Elysia().use(pricingSite(deps));
    const text = await (await app.handle(new Request('http://127.0.0.1/pricing'))).text();
    expect([text.includes('Requests per key'), text.includes('/account')]).toEqual([true, false]);
    expect(actionsOf(text)).toEqual(Array.from({ length: 4 }, () => (contact === undefined ? OPERATOR : ASK)));
    expect(text.includes('Ask the operator of this service')).toBe(contact === undefined);
  },
);

test('The tiers are in the order of their prices, and those without one follow by their rank', async () => {
  await using site = startSite();
  const { registry, nowMs } = site.people;
  createTier({ registry, nowMs: nowMs() }, { id: 'lab', name: 'Lab', requestsPerMinute: 240, place: 1 });
  setPrice(registry, 'pro', 49.5);
  const names = cardsOf(await pricing(site)).map(({ name }) => name);
  expect(names).toEqual(['Free', 'Pro', 'Lab', 'Starter', 'Enterprise']);
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
    expect(plainText(text)).toContain('You pay once for 30 days with a token: TUSD on the network Anvil.');
    expect(text).toContain('href="/account/plan">Buy Pro</a>');
    const plan = await new PlainBrowser(site.origin).open('/account/plan');
    expect([plan.status, plan.headers.get('location')]).toEqual([303, '/sign-in']);
  });
});
