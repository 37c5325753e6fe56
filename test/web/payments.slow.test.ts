import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { bytesToHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { createKey } from '../../src/account/account-keys.ts';
import { retireTier } from '../../src/account/tier-catalog.ts';
import type { Billing } from '../../src/billing/billing.ts';
import { refundPayment } from '../../src/billing/refund.ts';
import type { Challenge } from '../../src/billing/x402.ts';
import type { AccountGrant } from '../../src/domain/account.ts';
import { formatInstant, timeText } from '../../src/domain/instant.ts';
import { type Payment, TERM_MS } from '../../src/domain/payment.ts';
import { chosenPayments } from '../../src/store/chosen-payments.ts';
import { revenueOf } from '../../src/store/revenue.ts';
import { dayText } from '../../src/web/time.tsx';
import { type Anvil, HAS_ANVIL, KEYS, PAY_TO, startAnvil } from '../billing/anvil.ts';
import { paymentsOn, setPrice } from '../billing/paid-service.ts';
import { signed } from '../billing/payer.ts';
import { NOW_MS } from '../support/archive.ts';
import type { PlainBrowser } from './browser.ts';
import { factsOf, plainText, rowsOf } from './page-content.ts';
import { fieldValue, type Site, startSite, textOf } from './site.ts';

const ADA = 'ada@example.com';
const EVE = 'eve@example.com';
const BUY = '/account/plan/buy';
const PAY = '/account/plan/pay';

describe.skipIf(!HAS_ANVIL)('Pages of payments (need anvil)', () => {
  let anvil: Anvil;
  beforeAll(async () => {
    anvil = await startAnvil();
  });
  afterAll(async () => await anvil[Symbol.asyncDispose]());

  /** pro costs $49.50. The clock is that of the chain. */
  function paidSite(): Site {
    const site = startSite({}, ({ registry, directory, nowMs }) =>
      paymentsOn({ path: directory, registry, anvil, clock: nowMs, logError: (line) => expect(line).toBe('') }),
    );
    site.people.passTime(Date.now() - NOW_MS);
    setPrice(site.people.registry, 'pro', 49.5);
    return site;
  }

  /** Chooses pro; the path of the offer. */
  async function choose(browser: PlainBrowser): Promise<string> {
    const { text } = await browser.open('/account/plan');
    const [, token = ''] = /value="(eip155:[^"]*)"/.exec(text) ?? [];
    const { status, headers } = await browser.post(BUY, { tier: fieldValue(text, 'tier'), token });
    expect(status).toBe(303);
    return headers.get('location')!;
  }

  /** Signs the challenge that the page shows, as another client does. */
  async function payment(browser: PlainBrowser, offer: string): Promise<{ quote: string; payment: string }> {
    const { text } = await browser.open(offer);
    const challenge = JSON.parse(textOf(text, 'challenge')) as Challenge;
    return { quote: challenge.quote_id, payment: await signed(challenge) };
  }

  const tierOf = ({ people: { registry, nowMs } }: Site, email = ADA) =>
    registry.accountTiers.at(registry.accounts.findByEmail(email)!.id, nowMs()).tier.id;

  test('A tier is chosen, paid and shown with a receipt, without scripts, and a form that is sent again pays once', async () => {
    await using site = paidSite();
    const ada = await site.signedIn(ADA);
    const offer = await choose(ada);
    expect(await choose(ada)).toBe(offer);
    const before = (await anvil.transfers()).length;
    const fields = await payment(ada, offer);
    const [first, again] = [await ada.post(PAY, fields), await ada.post(PAY, fields)];
    expect([first, again].map(({ status, headers }) => [status, headers.get('location')])).toEqual([
      [303, offer],
      [303, offer],
    ]);
    expect((await anvil.transfers()).length - before).toBe(1);
    expect(tierOf(site)).toBe('pro');
    const [paid] = site.people.registry.payments.list(2);
    const receipt = (await ada.open(offer)).text;
    const { id, transaction, payer, createdMs } = paid!;
    const [{ startsMs, endsMs }] = site.people.registry.grants.ofAccount(paid!.quote.accountId) as [AccountGrant];
    expect(endsMs).toBe(startsMs + TERM_MS);
    expect(factsOf(receipt)).toEqual({
      Tier: 'Pro, 30 days',
      From: timeText(startsMs),
      Until: timeText(endsMs!),
      Receipt: id,
      Date: timeText(createdMs),
      'Paid with': 'TUSD on the network Anvil',
      Transaction: `${transaction} Copy the transaction`,
      Account: ADA,
      Payer: `${payer} Copy the address of the payer`,
      Receiver: `${PAY_TO.toLowerCase()} Copy the address of the receiver`,
    });
    expect(plainText(receipt)).toContain('$49.50 paid');
    const billing = (await ada.open('/account/billing')).text;
    expect(billing).toContain(`href="${offer}"`);
    expect(rowsOf(billing, 'Receipts')).toEqual([
      {
        Receipt: 'Pro, 30 days',
        'Date (UTC)': timeText(createdMs).slice(0, 16),
        Amount: '$49.50 TUSD on the network Anvil',
        State: 'paid',
        Invoice: '',
      },
    ]);
  });

  test('Offers and receipts of another account are not found, and only a wallet needs a script.', async () => {
    await using site = paidSite();
    const [ada, eve] = [await site.signedIn(ADA), await site.signedIn(EVE)];
    const offer = await choose(ada);
    const fields = await payment(ada, offer);
    const refused = async () => [(await eve.open(offer)).status, (await eve.post(PAY, fields)).status];
    expect(await refused()).toEqual([404, 404]);
    expect(site.people.registry.payments.list(1)).toEqual([]);
    await ada.post(PAY, fields);
    expect(await refused()).toEqual([404, 404]);
    expect([tierOf(site), tierOf(site, EVE)]).toEqual(['pro', 'free']);
    expect((await eve.open('/account/billing')).text).toContain('You have bought nothing yet.');
  });

  test.each<[string, Record<string, string>, number]>([
    ['an unknown tier', { tier: 'none', token: 'x' }, 404],
    ['a tier without a price', { tier: 'starter', token: 'x' }, 409],
    ['another token', { tier: 'pro', token: 'eip155:1/0x00' }, 400],
    ['no fields', {}, 404],
  ])('%s is not sold: a sentence, and no offer', async (_, fields, status) => {
    await using site = paidSite();
    const ada = await site.signedIn(ADA);
    const answer = await ada.post(BUY, fields);
    expect([answer.status, answer.text.includes('href="/account/plan"')]).toEqual([status, true]);
    const count = site.people.registry.database.query<{ count: number }, []>(
      'SELECT COUNT(*) AS count FROM payment_quotes',
    );
    expect(count.get()!.count).toBe(0);
  });

  test('What is not signed, not exact, or too late is refused, and grants nothing', async () => {
    await using site = paidSite();
    const ada = await site.signedIn(ADA);
    const offer = await choose(ada);
    const { quote, payment: good } = await payment(ada, offer);
    const { text } = await ada.open(offer);
    const challenge = JSON.parse(textOf(text, 'challenge')) as Challenge;
    expect(plainText(text)).toContain('BTC, ETH, SOL, XRP');
    // Tokens that are sent there by hand buy nothing: no button copies the receiver or the amount.
    expect(['receiver', 'amount'].map((id) => textOf(text, id))).toEqual([PAY_TO.toLowerCase(), '49.50']);
    for (const id of ['receiver', 'amount']) expect(text).not.toContain(`data-copy="#${id}"`);
    const less = await signed(challenge, { value: '1', nonce: bytesToHex(new Uint8Array(32)) });
    for (const [sent, status] of [
      ['', 400],
      ['x', 400],
      [less, 402],
    ] as const) {
      expect([sent, (await ada.post(PAY, { quote, payment: sent })).status]).toEqual([sent, status]);
    }
    site.people.passTime(11 * 60_000);
    expect((await ada.post(PAY, { quote, payment: good })).status).toBe(410);
    const late = await ada.open(offer);
    expect([late.status, late.text.includes('This offer has expired')]).toEqual([410, true]);
    expect([tierOf(site), site.people.registry.payments.list(1)]).toEqual(['free', []]);
  });

  test('An offer says how long it holds, and what a person without a wallet does next', async () => {
    await using site = paidSite();
    const ada = await site.signedIn(ADA);
    const offer = await choose(ada);
    site.people.passTime(61_000);
    const { text } = await ada.open(offer);
    const { expiresMs } = site.people.registry.database.read(() =>
      site.people.registry.payments.findQuote(offer.split('/').at(-1)!),
    )!;
    const plain = plainText(text);
    expect(factsOf(text)).toMatchObject({
      'You get': 'BTC, ETH, SOL, XRP, 300 requests a minute with each key',
      Includes: 'markets, coin prices, order books, best bid and ask, downloads, replays',
      From: 'now',
      'Pay with': '49.50 TUSD on the network Anvil',
      'Network fee': 'none: this service pays it',
      'Offer ends': `${timeText(expiresMs)} , in 8 min 59 s`,
    });
    expect(plain).toContain('Have 49.50 TUSD on the network Anvil in an Ethereum wallet. It needs no other coin.');
    expect(textOf(text, 'page')).toEndWith(offer);
    expect(plain).toContain('Pro, 30 days $49.50');
    expect(text).toContain('aria-label="The address of this page as a QR code"><svg viewBox=');
  });

  test('The tier of the account is extended to the end that its button states, and others are bought', async () => {
    await using site = paidSite();
    const { registry, nowMs } = site.people;
    setPrice(registry, 'starter', 10);
    const ada = await site.signedIn(ADA);
    const endsMs = nowMs() + 5 * 86_400_000;
    const grant = { accountId: registry.accounts.findByEmail(ADA)!.id, tier: 'pro', source: 'operator' } as const;
    registry.database.write(() => registry.grants.add({ ...grant, startsMs: nowMs(), endsMs }, nowMs()));
    const text = plainText((await ada.open('/account/plan')).text);
    expect(text).toContain(`30 days more, until ${timeText(endsMs + TERM_MS)} Extend`);
    expect(text.split('Buy 30 days')).toHaveLength(2);
  });

  test('A tier that is retired, has no price, or is granted without an end has no button', async () => {
    await using site = paidSite();
    const { registry, nowMs } = site.people;
    const ada = await site.signedIn(ADA);
    const buttons = async () => (await ada.open('/account/plan')).text.split('Buy 30 days').length - 1;
    setPrice(registry, 'starter', 10);
    expect(await buttons()).toBe(2);
    retireTier({ registry, nowMs: nowMs() }, 'starter');
    expect(await buttons()).toBe(1);
    const accountId = registry.accounts.findByEmail(ADA)!.id;
    const grant = { accountId, tier: 'pro', source: 'operator', startsMs: nowMs(), endsMs: undefined } as const;
    registry.database.write(() => registry.grants.add(grant, nowMs()));
    expect(await buttons()).toBe(0);
  });

  test('Transactions and refunds link to the explorer of the network, and a testnet is labelled wherever it is named', async () => {
    const explorerUrl = 'https://scan.example/tx/{hash}?x=1';
    await using site = startSite({}, ({ registry, directory, nowMs }) =>
      paymentsOn(
        { path: directory, registry, anvil, clock: nowMs, logError: (line) => expect(line).toBe('') },
        { explorerUrl, testnet: true },
      ),
    );
    const { registry, nowMs } = site.people;
    site.people.passTime(Date.now() - NOW_MS);
    setPrice(registry, 'pro', 49.5);
    const ada = await site.signedIn(ADA);
    expect((await ada.open('/account/plan')).text).toContain('TUSD on the network Anvil (testnet)');
    const offer = await choose(ada);
    await ada.post(PAY, await payment(ada, offer));
    const [paid] = registry.payments.list(1);
    const link = (hash: string) => `href="https://scan.example/tx/${hash}?x=1"`;
    expect((await ada.open(offer)).text).toContain(link(paid!.transaction!));
    expect(await revenueOf(registry)).toHaveLength(1);
    const back = `0x${'9'.repeat(64)}`;
    refundPayment({ registry, nowMs: nowMs(), operatingUser: 'op' }, paid!.id, back, true);
    const receipt = (await ada.open(offer)).text;
    expect(receipt).toContain(link(back));
    expect(plainText(receipt)).toContain('$49.50 refunded');
    expect(factsOf(receipt)).toMatchObject({ Refund: `${back} Copy the transaction` });
    expect(factsOf(receipt)['Paid with']).toBe('TUSD on the network Anvil (testnet)');
    expect(tierOf(site)).toBe('free');
    expect(await revenueOf(registry)).toEqual([]);
    registry.accounts.setRole(paid!.quote.accountId, 'admin');
    const admin = (await ada.open('/admin/payments')).text;
    expect([rowsOf(admin, 'Payments')[0]!.State, admin.includes(link(paid!.transaction!))]).toEqual(['refunded', true]);
  });

  test('The plan and the keys warn of keys that would not get what the account buys', async () => {
    await using site = paidSite();
    const { registry, nowMs } = site.people;
    const ada = await site.signedIn(ADA);
    const create = (name: string, tier: string | undefined) =>
      createKey(registry, nowMs(), { account: ADA, name, tier, requestsPerMinute: undefined });
    create('notebook', undefined);
    const texts = async () => [(await ada.open('/account/plan')).text, (await ada.open('/account/keys')).text];
    for (const text of await texts()) expect(text).not.toContain('whatever your plan is');
    create('robot', 'starter');
    for (const text of await texts()) {
      expect(text).toContain(
        'The key “robot” has the tier Starter, set by the operator. Your plan does not change it.',
      );
    }
  });

  test('Admins see what is left for gas, and a warning when it is little', async () => {
    await using chain = await startAnvil();
    let billing: Billing | undefined;
    await using site = startSite({}, ({ registry, directory, nowMs }) => {
      billing = paymentsOn({ path: directory, registry, anvil: chain, clock: nowMs, logError: () => undefined });
      return billing;
    });
    const admin = await site.signedIn('root@example.com');
    site.people.registry.accounts.setRole(site.people.registry.accounts.findByEmail('root@example.com')!.id, 'admin');
    expect((await admin.open('/admin/payments')).text).not.toContain('aria-label="Balances for network fees"');
    await billing!.gas.refresh();
    const gas = async () => rowsOf((await admin.open('/admin/payments')).text, 'Balances for network fees')[0]!;
    expect(await gas()).toEqual({
      Network: 'Anvil',
      'Enough for about': expect.stringMatching(/^[\d,]+ transfers$/),
      Balance: '10,000',
      Address: expect.stringMatching(/^0x\w{40} Copy the address$/),
    });
    const setBalance = (value: bigint) =>
      chain.client.setBalance({ address: privateKeyToAccount(KEYS.gas).address, value });
    // The balance is not rounded: 0.0123 are many transfers.
    await setBalance(12_345_600_000_000_000n);
    site.people.passTime(61_000);
    await billing!.gas.refresh();
    expect((await gas()).Balance).toBe('0.0123');
    expect((await admin.open('/admin/payments')).text).toContain('title="0.0123456 ');
    await setBalance(1n);
    site.people.passTime(61_000);
    await billing!.gas.refresh();
    expect((await admin.open('/admin/payments')).text).toContain(
      'The gas key of Anvil pays for about 0 more transfers',
    );
  });

  test('Admins see all payments and the revenue, and find those of an account', async () => {
    await using site = paidSite();
    const { registry, nowMs } = site.people;
    const admin = await site.signedIn('root@example.com');
    registry.accounts.setRole(registry.accounts.findByEmail('root@example.com')!.id, 'admin');
    expect((await admin.open('/admin/payments')).text).toContain('There are no such payments.');
    for (const email of [ADA, EVE, ADA]) {
      const browser = await site.signedIn(email);
      await browser.post(PAY, await payment(browser, await choose(browser)));
    }
    const month = new Date(nowMs()).toISOString().slice(0, 7);
    const [expected] = await revenueOf(registry);
    expect(expected).toMatchObject({ month, payments: 3, cents: 14_850 });
    const all = await admin.open('/admin/payments');
    expect(all.text).toContain('href="/admin/payments" aria-current');
    // The token that all have is named once, and the revenue of one month is that in total.
    expect(all.text).toContain('<h2>All payments, in TUSD on the network Anvil</h2>');
    expect(all.text).not.toContain('Revenue by month');
    expect(plainText(all.text)).toContain('Revenue in total $148.50 refunds are left out Payments in total 3');
    const listed = async (query: string) => rowsOf((await admin.open(`/admin/payments${query}`)).text, 'Payments');
    const emailOf = ({ quote }: Payment) => registry.accounts.find(quote.accountId)!.email;
    const expectedRows = registry.payments.list(4).map((payment) => ({
      Account: `${emailOf(payment)} ${payment.id}`,
      'Date (UTC)': timeText(payment.createdMs).slice(0, 16),
      Tier: 'Pro',
      Amount: '$49.50',
      State: 'paid',
      Invoice: '',
      Transaction: `${payment.transaction} Copy the transaction`,
    }));
    expect(await listed('')).toEqual(expectedRows);
    expect(await listed(`?account=${EVE}`)).toEqual([expectedRows[1]!]);
    expect((await admin.open('/admin/payments?account=nobody@x.y')).text).toContain('There is no account');
    const [, latest] = registry.payments.list(2);
    expect(await listed(`?before=${latest!.id}`)).toEqual([expectedRows[2]!]);

    const [, , first] = registry.payments.list(3);
    refundPayment({ registry, nowMs: nowMs(), operatingUser: 'op' }, first!.id, `0x${'9'.repeat(64)}`, false);
    const refunded = { ...expectedRows[2]!, State: 'refunded' };
    expect(await listed('?state=refunded')).toEqual([refunded]);
    expect(await listed(`?state=settled&account=${EVE}`)).toEqual([expectedRows[1]!]);
    expect(await listed('?state=nothing')).toEqual([]);
    registry.database.query('UPDATE payments SET settled_ms = 0 WHERE payment_id = ?').run(latest!.id);
    expect(
      rowsOf((await admin.open('/admin/payments')).text, 'Revenue by month, in TUSD on the network Anvil'),
    ).toMatchObject([
      { Month: month, Payments: '1', Amount: '$49.50' },
      { Month: '1970-01', Payments: '1', Amount: '$49.50' },
    ]);
    const today = new Date(nowMs()).toISOString().slice(0, 10);
    expect(await listed(`?from=${today}&to=${today}`)).toEqual([...expectedRows.slice(0, 2), refunded]);
    const ofDay = plainText((await admin.open(`/admin/payments?from=${today}&to=${today}`)).text);
    expect(ofDay).toContain(`Only from ${dayText(nowMs())} up to ${dayText(nowMs())}, in UTC.`);
    expect(await listed(`?to=${new Date(nowMs() - 86_400_000).toISOString().slice(0, 10)}`)).toEqual([]);
    const link = /href="(\/admin\/payments\/csv[^"]*)"/;
    const page = await admin.open(`/admin/payments?state=refunded&before=${latest!.id}`);
    const [, href = ''] = link.exec(page.text) ?? [];
    const { text, headers } = await admin.open(href);
    expect([href, headers.get('content-type')]).toEqual([
      '/admin/payments/csv?state=refunded',
      'text/csv; charset=utf-8',
    ]);
    const { id, createdMs, transaction, refund } = registry.payments.get(first!.id)!;
    expect(text.split('\n')).toEqual([
      'payment,created,account,tier,usd,token,state,invoice,transaction,refund',
      [
        id,
        formatInstant(createdMs),
        ADA,
        'pro',
        '49.50',
        'TUSD on the network Anvil',
        'refunded',
        '',
        transaction,
        refund,
      ].join(),
      '',
    ]);
    // Some at a time: as many as are wanted, of all turns.
    const [third, second] = registry.payments.list(2);
    expect(await chosenPayments(registry, 2, {}, 1)).toEqual([third!, second!]);
    expect(await chosenPayments(registry, 5, { accountId: second!.quote.accountId }, 1)).toEqual([second!]);
  });
});

test('While payments are off, no page offers one: the plan and the menu have no link, and the forms are not found', async () => {
  await using site = startSite();
  const { registry } = site.people;
  setPrice(registry, 'pro', 49.5);
  const ada = await site.signedIn(ADA);
  registry.accounts.setRole(registry.accounts.findByEmail(ADA)!.id, 'admin');
  const plan = (await ada.open('/account/plan')).text;
  for (const absent of ['Buy 30 days', 'Receipts', '/account/billing', '/admin/payments'])
    expect(plan).not.toContain(absent);
  expect(plan).toContain('Ask the operator of this service for Pro or Starter or Enterprise');
  for (const form of [BUY, PAY]) expect((await ada.post(form, {})).status).toBe(404);
});
