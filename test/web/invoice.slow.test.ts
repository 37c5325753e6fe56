import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { refundPayment } from '../../src/billing/refund.ts';
import type { Challenge } from '../../src/billing/x402.ts';
import { run } from '../../src/cli/program.ts';
import { timeText } from '../../src/domain/instant.ts';
import type { Seller } from '../../src/domain/payment.ts';
import { TERM_MS } from '../../src/domain/payment.ts';
import { type Anvil, HAS_ANVIL, startAnvil } from '../billing/anvil.ts';
import { CONFIRMATIONS, paymentsOn, setPrice } from '../billing/paid-service.ts';
import { signed } from '../billing/payer.ts';
import { NOW_MS } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import type { PlainBrowser } from './browser.ts';
import { factsOf, plainText, rowsOf } from './page-content.ts';
import { fieldValue, type Site, startSite, textOf } from './site.ts';

const [ADA, EVE, ROOT] = ['ada@example.com', 'eve@example.com', 'root@example.com'] as const;
const SELLER: Seller = {
  name: 'Books & <Co>',
  address: ['1 Main Street', '8000 Zurich'],
  taxId: 'CHE-1',
  tax: { label: 'VAT', percent: 8.1 },
};

describe.skipIf(!HAS_ANVIL)('Invoices (need anvil)', () => {
  let anvil: Anvil;
  beforeAll(async () => {
    anvil = await startAnvil();
  });
  afterAll(async () => await anvil[Symbol.asyncDispose]());

  /** pro costs $49.50. `reconcile` compares the payments with the chain. */
  function sellingSite(seller: Seller | undefined = SELLER): Site & { reconcile(): Promise<unknown> } {
    let reconcile: () => Promise<unknown> = async () => undefined;
    const site = startSite({}, ({ registry, directory, nowMs }) => {
      const logError = (line: string) => expect(line).toBe('');
      const billing = paymentsOn({ path: directory, registry, anvil, seller: seller as never, clock: nowMs, logError });
      reconcile = async () => await billing.reconcile({ withFailed: true });
      return billing;
    });
    site.people.passTime(Date.now() - NOW_MS);
    setPrice(site.people.registry, 'pro', 49.5);
    return { ...site, reconcile };
  }

  /** Buys pro; the path of the receipt. */
  async function bought(browser: PlainBrowser): Promise<string> {
    const { text } = await browser.open('/account/plan');
    const [, token = ''] = /value="(eip155:[^"]*)"/.exec(text) ?? [];
    const { headers } = await browser.post('/account/plan/buy', { tier: fieldValue(text, 'tier'), token });
    const offer = headers.get('location')!;
    const challenge = JSON.parse(textOf((await browser.open(offer)).text, 'challenge')) as Challenge;
    const fields = { quote: challenge.quote_id, payment: await signed(challenge) };
    expect((await browser.post('/account/plan/pay', fields)).status).toBe(303);
    return offer;
  }

  test('An invoice has seller, buyer, tax and total; the buyer is named later once, and the next invoices have the new name.', async () => {
    await using site = sellingSite();
    const { registry } = site.people;
    const ada = await site.signedIn(ADA);
    const first = await bought(ada);
    const [paid] = registry.payments.list(1);
    const receipt = (await ada.open(first)).text;
    expect([receipt.includes(`href="${first}/invoice"`), factsOf(receipt).Seller]).toEqual([true, SELLER.name]);
    const { settledMs } = paid!;
    const { text } = await ada.open(`${first}/invoice`);
    expect(text).toContain('<h1>Invoice 1</h1>');
    const listed = (await ada.open('/account/billing')).text;
    expect([listed.includes(`href="${first}/invoice"`), plainText(text).includes('$49.50 paid')]).toEqual([true, true]);
    // $49.50 with 8.1 %: 49.5 * 8.1 / 108.1 = 3.709.
    expect(factsOf(text)).toEqual({
      Seller: 'Books & <Co> 1 Main Street 8000 Zurich Tax id CHE-1',
      Buyer: `${ADA} Add a name and address`,
      Number: '1',
      Date: timeText(settledMs!),
      Net: '$45.79',
      'VAT 8.1 %': '$3.71',
      Total: '$49.50',
      Paid: `${timeText(paid!.createdMs)} in TUSD on the network Anvil`,
      Receipt: `${paid!.id} See the receipt`,
      Transaction: `${paid!.transaction} Copy the transaction`,
    });
    expect(rowsOf(text, 'Services')).toEqual([
      {
        Service: 'bookreel Pro, 30 days',
        From: timeText(settledMs!),
        Until: timeText(settledMs! + TERM_MS),
        Amount: '$45.79',
      },
    ]);
    expect(text).toContain('<a class="back" href="/account/billing">Billing</a>');
    // The ways on: to name the buyer, to the receipt, and to print.
    for (const way of ['href="/account/billing#buyer"', `href="${first}"`, 'data-print']) expect(text).toContain(way);
    const name = async (parts: Record<string, string>) => (await ada.post('/account/billing/buyer', parts)).status;
    const buyerOf = async (offer: string) => factsOf((await ada.open(`${offer}/invoice`)).text).Buyer;
    expect(await name({ name: ' Ada <Ltd> ', street: '2 Side Street', city: '' })).toBe(303);
    expect(await buyerOf(first)).toBe('Ada <Ltd> 2 Side Street');
    expect(await name({ name: 'Ada Inc', country: 'Elsewhere' })).toBe(303);
    const second = await bought(ada);
    expect([await buyerOf(first), await buyerOf(second)]).toEqual(['Ada <Ltd> 2 Side Street', 'Ada Inc Elsewhere']);
    // Each part is found again, also after one that was left out.
    const { text: form } = await ada.open('/account/billing');
    expect(['name', 'street', 'country', 'tax'].map((part) => fieldValue(form, part))).toEqual([
      'Ada Inc',
      '',
      'Elsewhere',
      '',
    ]);
    for (const street of ['a\u0007b', 'x'.repeat(101)]) expect(await name({ street })).toBe(400);
    expect(await buyerOf(second)).toBe('Ada Inc Elsewhere');
  });

  test('A tax with three decimals is exact to the cent.', async () => {
    await using site = sellingSite({ ...SELLER, tax: { label: 'Sales tax', percent: 8.875 } });
    setPrice(site.people.registry, 'pro', 100);
    const ada = await site.signedIn(ADA);
    // 100 * 8.875 / 108.875 = 8.1515; with 8.88 % it would be 8.1558.
    const { Net, 'Sales tax 8.875 %': tax } = factsOf((await ada.open(`${await bought(ada)}/invoice`)).text);
    expect([Net, tax]).toEqual(['$91.85', '$8.15']);
  });

  test('An address that was stored with more lines than the form has fields has its last lines in the last field.', async () => {
    await using site = sellingSite();
    const { registry } = site.people;
    const ada = await site.signedIn(ADA);
    const { id } = registry.accounts.findByEmail(ADA)!;
    registry.database.write(() => registry.invoices.setBuyer(id, 'Ada Inc\n1\n2\n3\n4\n5\n6\n7'));
    expect(fieldValue((await ada.open('/account/billing')).text, 'tax')).toBe('5, 6, 7');
  });

  test('Other people find no invoice, and admins open any at their own path only.', async () => {
    await using site = sellingSite();
    const { registry } = site.people;
    const [ada, eve, root] = [await site.signedIn(ADA), await site.signedIn(EVE), await site.signedIn(ROOT)];
    registry.accounts.setRole(registry.accounts.findByEmail(ROOT)!.id, 'admin');
    const offer = await bought(ada);
    const admins = offer.replace('/account/plan', '/admin/payments');
    const statuses = async (browser: PlainBrowser) => [
      (await browser.open(`${offer}/invoice`)).status,
      (await browser.open(`${admins}/invoice`)).status,
    ];
    expect([await statuses(ada), await statuses(eve), await statuses(root)]).toEqual([
      [200, 403],
      [404, 403],
      [404, 200],
    ]);
    expect((await root.open('/admin/payments')).text).toContain(`href="${admins}/invoice"`);
    expect((await ada.open('/account/plan/quote_0/invoice')).status).toBe(404);
  });

  test('Numbers have no holes: a payment that a reorganisation removes keeps its number, marked, and gets it again', async () => {
    await using site = sellingSite();
    const { registry } = site.people;
    const ada = await site.signedIn(ADA);
    const snapshot = await anvil.client.snapshot();
    const undone = await bought(ada);
    const other = await bought(await site.signedIn(EVE));
    const numbers = () => registry.payments.list(9).map(({ invoice, state }) => [invoice, state]);
    expect(numbers()).toEqual([
      [2, 'settled'],
      [1, 'settled'],
    ]);
    await anvil.client.revert({ id: snapshot });
    await anvil.client.mine({ blocks: CONFIRMATIONS + 3, interval: 0 });
    await site.reconcile();
    const cancelled = async () => (await ada.open(`${undone}/invoice`)).text.includes('Cancelled');
    expect(numbers().map(([invoice]) => invoice)).toEqual([2, 1]);
    const states = registry.payments.list(9).map(({ state }) => state);
    expect(states.includes('pending')).toBe(true);
    expect(await cancelled()).toBe(registry.payments.ofQuote(undone.split('/').at(-1)!)!.state === 'pending');
    // It is sent again.
    site.people.passTime(46_000);
    await site.reconcile();
    await site.reconcile();
    expect([numbers().map(([invoice]) => invoice), await cancelled()]).toEqual([[2, 1], false]);
    await bought(ada);
    expect(numbers()[0]).toEqual([3, 'settled']);
    const [, paid] = registry.payments.list(2);
    refundPayment({ registry, nowMs: site.people.nowMs() }, paid!.id, `0x${'9'.repeat(64)}`, false);
    const eve = await site.signedIn(EVE);
    expect((await eve.open(`${other}/invoice`)).text).toContain('Refunded in full.');
    expect(numbers().map(([invoice]) => invoice)).toEqual([3, 2, 1]);
  });

  test('Without a seller there are no invoices, and without a tax no line of it', async () => {
    await using plain = sellingSite({ name: 'Books', address: [] });
    const ada = await plain.signedIn(ADA);
    const { text } = await ada.open(`${await bought(ada)}/invoice`);
    const facts = factsOf(text);
    expect([facts.Seller, 'Net' in facts, facts.Total]).toEqual(['Books', false, '$49.50']);
    expect(rowsOf(text, 'Services').map(({ Amount }) => Amount)).toEqual(['$49.50']);
    await using site = startSite({}, ({ registry, directory, nowMs }) =>
      paymentsOn({ path: directory, registry, anvil, clock: nowMs, logError: () => undefined }),
    );
    site.people.passTime(Date.now() - NOW_MS);
    setPrice(site.people.registry, 'pro', 49.5);
    const eve = await site.signedIn(EVE);
    const offer = await bought(eve);
    expect((await eve.open(`${offer}/invoice`)).status).toBe(404);
    expect((await eve.open(offer)).text).not.toContain('/invoice');
    expect((await eve.open('/account/billing')).text).not.toContain('Invoice address');
  });

  test('billing list --csv has all payments, with invoices, and no cell that a spreadsheet would calculate', async () => {
    await using site = sellingSite();
    const { registry, directory } = site.people;
    const offer = await bought(await site.signedIn('=1+1@example.com'));
    const paid = registry.payments.ofQuote(offer.split('/').at(-1)!)!;
    const terminal = captured();
    expect(await run(['billing', 'list', '--csv', '--data', directory], terminal)).toBe(0);
    const [heading, line, ...others] = terminal.stdout().trimEnd().split('\n');
    const cells = Object.fromEntries(heading!.split(',').map((name, index) => [name, line!.split(',')[index]]));
    expect(others).toEqual([]);
    expect(cells).toMatchObject({
      ...{ ID: paid.id, ACCOUNT: "'=1+1@example.com", TIER: 'pro', PRICE: '$49.5', INVOICE: '1', STATE: 'settled' },
      ...{
        PAYER: paid.payer,
        TRANSACTION: paid.transaction!,
        REFUND: '',
        MINED: new Date(paid.settledMs!).toISOString(),
      },
    });
  });
});
