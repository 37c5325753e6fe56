import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http';
import { ExactEvmScheme } from '@x402/evm';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';
import { type Anvil, CUSTOMER, HAS_ANVIL, KEYS, NETWORK, startAnvil, TOKEN_ABI } from './anvil.ts';
import { type PaidService, startPaidService } from './paid-service.ts';
import { type Answer, post, quoteOf, settle, signed, type UpgradeAnswer } from './payer.ts';
import { startRpcProxy } from './rpc-proxy.ts';

const UPGRADE = '/v1/billing/x402/upgrade';
/** The time after which an account gets a new offer for a tier that it has bought. */
const LATER_MS = 11 * 60_000;
const IDENTIFIER = 'payment-identifier';

describe.skipIf(!HAS_ANVIL)('A payment with an identifier (needs anvil)', () => {
  let anvil: Anvil;
  let service: PaidService;
  let buyers = 0;
  beforeAll(async () => {
    anvil = await startAnvil();
    service = startPaidService(anvil);
    service.setPrice('starter', 9);
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await anvil[Symbol.asyncDispose]();
  });
  const newBuyer = () => {
    buyers += 1;
    return { origin: service.origin, key: service.keyOf(`buyer-${buyers}@example.com`) };
  };
  type Buyer = ReturnType<typeof newBuyer>;
  const offerOf = async (buyer: Buyer, tier = 'pro') => {
    const { status, headers } = await post(buyer, `${UPGRADE}/${tier}`);
    expect(status).toBe(402);
    return decodePaymentRequiredHeader(headers.get('payment-required')!);
  };
  /** Signs a new transfer, as a client does that has lost the answer and begins again. */
  const bought = async (buyer: Buyer, identifier: unknown, tier = 'pro'): Promise<Answer<UpgradeAnswer>> => {
    const offer = await offerOf(buyer, tier);
    const header = await signed(offer as never, { identifier });
    return await post(buyer, `${UPGRADE}/${tier}`, undefined, { 'payment-signature': header });
  };
  const later = () => service.skewClock((buyers + 1) * LATER_MS);
  const transfers = async () => (await anvil.transfers()).length;

  test('The offer says that identifiers are taken, and need not be there.', async () => {
    const { extensions } = await offerOf(newBuyer());
    expect(extensions).toMatchObject({
      [IDENTIFIER]: {
        info: { required: false },
        schema: {
          type: 'object',
          properties: { required: { type: 'boolean' }, id: { type: 'string', minLength: 16, maxLength: 128 } },
        },
      },
    });
  });

  test('A second transfer with the same identifier is not sent, and gets the answer of the first one; another identifier buys again.', async () => {
    const buyer = newBuyer();
    const before = await transfers();
    const first = await bought(buyer, 'order_0000000000001');
    later();
    const again = await bought(buyer, 'order_0000000000001');
    expect([first.status, again.status, again.body]).toEqual([200, 200, first.body]);
    const responseOf = ({ headers }: Answer<unknown>) => decodePaymentResponseHeader(headers.get('payment-response')!);
    expect(responseOf(again)).toEqual(responseOf(first));
    const { challenge } = await quoteOf(buyer);
    const settled = await settle(buyer, challenge, await signed(challenge, { identifier: 'order_0000000000001' }));
    expect([settled.status, settled.body]).toEqual([200, first.body]);
    expect((await transfers()) - before).toBe(1);
    const other = await bought(buyer, 'order_0000000000002');
    expect([other.status, other.body.id === first.body.id, (await transfers()) - before]).toEqual([200, false, 2]);
  });

  test('The same identifier for another tier or another price is refused with 409, and nothing is sent.', async () => {
    const buyer = newBuyer();
    expect((await bought(buyer, 'order_0000000000003')).status).toBe(200);
    const before = await transfers();
    later();
    const { status, body, headers } = await bought(buyer, 'order_0000000000003', 'starter');
    expect([status, body.detail]).toEqual([409, expect.stringContaining('another purchase')]);
    expect(decodePaymentResponseHeader(headers.get('payment-response')!)).toMatchObject({
      success: false,
      errorReason: 'invalid_transaction_state',
    });
    service.setPrice('pro', 50);
    expect((await bought(buyer, 'order_0000000000003')).status).toBe(409);
    service.setPrice('pro', 49.5);
    expect(await transfers()).toBe(before);
  });

  test('Identifiers belong to an account, and one whose payment has failed buys again.', async () => {
    const [ada, ben] = [newBuyer(), newBuyer()];
    const first = await bought(ada, 'order_0000000000004');
    const other = await bought(ben, 'order_0000000000004');
    expect([first.status, other.status, other.body.id === first.body.id]).toEqual([200, 200, false]);
    const { payments, database } = service.registry;
    database.write(() => payments.update({ ...payments.get(first.body.id)!, state: 'failed' }));
    later();
    const next = await bought(ada, 'order_0000000000004');
    expect([next.status, next.body.id === first.body.id]).toEqual([200, false]);
    later();
    expect((await bought(ada, 'order_0000000000004')).body.id).toBe(next.body.id);
  });

  test('Many transfers at once with one identifier are one purchase, and an identifier that met a pending payment keeps it.', async () => {
    const buyer = newBuyer();
    const before = await transfers();
    const offer = await offerOf(buyer);
    const names = ['order_0000000000005', 'order_0000000000005', 'order_0000000000006'];
    const headers = await Promise.all(names.map((identifier) => signed(offer as never, { identifier })));
    const answers = await Promise.all(
      headers.map((header) => post<UpgradeAnswer>(buyer, `${UPGRADE}/pro`, undefined, { 'payment-signature': header })),
    );
    const { id } = answers.find(({ body }) => body.id !== undefined)!.body;
    await service.billing.reconcile();
    later();
    for (const name of names) expect((await bought(buyer, name)).body.id).toBe(id);
    expect((await transfers()) - before).toBe(1);
  });

  test('A payer whose money is spent gets the answer of the purchase, and not that the money is lacking.', async () => {
    const buyer = newBuyer();
    const signer = privateKeyToAccount(KEYS.stranger);
    const mint = {
      address: anvil.asset,
      abi: TOKEN_ABI,
      functionName: 'mint',
      args: [signer.address, 49_500_000n],
    } as const;
    await anvil.client.writeContract({ ...mint, account: privateKeyToAccount(KEYS.deployer), chain: null });
    const answers = [];
    for (let ask = 0; ask < 2; ask += 1) {
      const header = await signed((await offerOf(buyer)) as never, { identifier: 'order_0000000000007', signer });
      const { status, body } = await post(buyer, `${UPGRADE}/pro`, undefined, { 'payment-signature': header });
      answers.push([status, body]);
      later();
    }
    expect([answers[0]![0], answers[1]]).toEqual([200, answers[0]]);
  });

  test('A second transfer that is checked while the first one is sent and mined is not sent.', async () => {
    await using proxy = startRpcProxy(anvil.rpcUrl);
    await using other = startPaidService(anvil, { rpcUrl: proxy.url });
    const before = await transfers();
    const { challenge } = await quoteOf(other);
    const [one, two] = await Promise.all([0, 1].map(() => signed(challenge, { identifier: 'order_0000000000008' })));
    const { challenge: next } = await quoteOf(other, 'pro');
    expect(next.quote_id).toBe(challenge.quote_id);
    const held = Promise.withResolvers<undefined>();
    const isHeld = Promise.withResolvers<void>();
    proxy.fail(({ method }) => {
      if (method !== 'eth_call') return undefined;
      isHeld.resolve();
      return held.promise;
    });
    const second = settle(other, challenge, two!);
    await isHeld.promise;
    proxy.repair();
    const first = await settle(other, challenge, one!);
    held.resolve(undefined);
    const { status, body } = await second;
    expect([first.status, status, body]).toEqual([200, 200, first.body]);
    expect((await transfers()) - before).toBe(1);
  });

  test.each([
    ['too short', 400, 'order_1'],
    ['too long', 400, 'x'.repeat(129)],
    ['other characters', 400, 'order 0000000000001'],
    ['a number', 400, 10 ** 15],
    ['the declaration of the server only', 200, undefined],
  ])('with %s gets %d', async (_, status, identifier) => {
    expect((await bought(newBuyer(), identifier)).status).toBe(status);
  });

  test('@x402/fetch with a hook that adds an identifier pays once for two calls.', async () => {
    const buyer = newBuyer();
    const before = await transfers();
    const network = NETWORK as `${string}:${string}`;
    const allowed = { network, asset: anvil.asset, maxAmountPerPayment: '100000000' };
    const client = x402Client.fromConfig({
      schemes: [{ network, client: new ExactEvmScheme(CUSTOMER) }],
      spendControls: { allowedAssets: [allowed] },
    });
    client.onBeforePaymentCreation(async ({ paymentRequired }) => {
      const declared = paymentRequired.extensions![IDENTIFIER] as { info: { id?: string } };
      declared.info.id = 'order_of_a_client_1';
    });
    const pay = wrapFetchWithPayment(fetch, client);
    const ask = async () => {
      const headers = { authorization: `Bearer ${buyer.key}` };
      const answer = await pay(`${service.origin}${UPGRADE}/pro`, { method: 'POST', headers });
      return [answer.status, await answer.json()];
    };
    const first = await ask();
    later();
    expect(await ask()).toEqual(first);
    expect([first[0], (await transfers()) - before]).toEqual([200, 1]);
  });
});
