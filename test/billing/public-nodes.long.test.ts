import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Hex, hexToNumber, parseSignature } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { HAS_ANVIL, KEYS, startAnvil, TOKEN_ABI } from './anvil.ts';
import { startPaidService } from './paid-service.ts';
import { payingFetch, post, quoteOf, settle, signed, tierOf, type UpgradeAnswer } from './payer.ts';
import { startRpcProxy } from './rpc-proxy.ts';

setDefaultTimeout(120_000);

const GAS = privateKeyToAccount(KEYS.gas);
const UPGRADE = '/v1/billing/x402/upgrade/pro';
const RESENT_MS = 46_000;
const TERM_MS = 30 * 86_400_000;

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

const refusedCall = ({ id }: Call, code: number, message: string) =>
  Response.json({ jsonrpc: '2.0', id, error: { code, message } });

const resources: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of resources.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

/** A chain behind a proxy, and the service. */
async function paidThroughProxy(change: Parameters<typeof startPaidService>[1] = {}) {
  const anvil = await startAnvil();
  const proxy = startRpcProxy(anvil.rpcUrl);
  const service = startPaidService(anvil, { rpcUrl: proxy.url, ...change });
  resources.push(anvil, proxy, service);
  const buyer = (name: string) => ({ origin: service.origin, key: service.keyOf(`${name}@example.com`) });
  const payments = () =>
    service.registry.payments
      .list(10)
      .reverse()
      .map(({ state }) => state);
  /** The transactions of the gas key that are not mined, by nonce. */
  const waiting = async () => {
    const { pending, queued } = await anvil.client.getTxpoolContent();
    const own = { ...ownIn(pending), ...ownIn(queued) };
    return Object.values(own).map(({ nonce, maxFeePerGas }) => ({
      nonce: hexToNumber(nonce),
      fee: BigInt(maxFeePerGas!),
    }));
  };
  /** The next look of the service, later than the time after which it sends again. */
  let skewMs = 0;
  const lookLater = async () => {
    skewMs += RESENT_MS;
    service.skewClock(skewMs);
    await service.billing.reconcile();
  };
  return { anvil, proxy, service, buyer, payments, waiting, lookLater };
}

/** The part of a pool that is of the gas key. */
function ownIn<T>(pool: Readonly<Record<string, T>>): T | undefined {
  return Object.entries(pool).find(([address]) => address.toLowerCase() === GAS.address.toLowerCase())?.[1];
}

/** Broadcasts the transfer of a signed payment, as anybody can who reads the mempool. */
async function broadcast({ client, asset }: Awaited<ReturnType<typeof startAnvil>>, header: string): Promise<void> {
  const { payload } = JSON.parse(Buffer.from(header, 'base64').toString());
  const { from, to, value, validAfter, validBefore, nonce } = payload.authorization;
  const { r, s, yParity } = parseSignature(payload.signature as Hex);
  const args = [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, 27 + yParity, r, s] as const;
  const account = privateKeyToAccount(KEYS.stranger);
  const hash = await client.writeContract({
    address: asset,
    abi: TOKEN_ABI,
    functionName: 'transferWithAuthorization',
    args,
    account,
  });
  await client.waitForTransactionReceipt({ hash });
}

describe.skipIf(!HAS_ANVIL)('payments through a public node (needs anvil)', () => {
  test.each([
    [5, 64, (call: Call) => refusedCall(call, -32_600, 'range of 5 blocks')],
    [10, 64, () => new Response('too many blocks', { status: 400 })],
    [40, 64, (call: Call) => refusedCall(call, -32_005, 'limit exceeded')],
  ])(
    'A node that gives the logs of at most %d blocks finds a transfer that somebody else sent, with %d confirmations.',
    async (blocks, confirmations, refuse) => {
      const { anvil, proxy, service } = await paidThroughProxy({ confirmations });
      await anvil.client.mine({ blocks: 2 * confirmations, interval: 0 });
      const { challenge } = await quoteOf(service);
      const header = await signed(challenge);
      let refusals = 0;
      proxy.fail((call) => {
        if (call.method === 'eth_sendRawTransaction') return new Response('lost', { status: 400 });
        if (call.method !== 'eth_getLogs') return undefined;
        const { fromBlock, toBlock } = call.params[0] as { fromBlock: Hex; toBlock: Hex };
        if (hexToNumber(toBlock) - hexToNumber(fromBlock) < blocks) return undefined;
        refusals += 1;
        return refuse(call);
      });
      expect((await settle(service, challenge, header)).status).toBe(202);
      await anvil.client.mine({ blocks: confirmations + 20, interval: 0 });
      await broadcast(anvil, header);
      await service.billing.reconcile();
      expect([await tierOf(service), refusals > 0]).toEqual(['pro', true]);
      const { differences } = await service.billing.check();
      expect(differences).toEqual([]);
    },
  );

  test('The receipt of a transaction that the service sent is the witness: no log is asked for.', async () => {
    const { proxy, service } = await paidThroughProxy({ confirmations: 64 });
    proxy.fail((call) => (call.method === 'eth_getLogs' ? refusedCall(call, -32_601, 'no logs here') : undefined));
    const { challenge } = await quoteOf(service);
    expect((await settle(service, challenge, await signed(challenge))).status).toBe(200);
    expect([await tierOf(service), proxy.calls.includes('eth_getLogs')]).toEqual(['pro', false]);
  });

  test('A node that answers three of ten calls with 429 costs time, and no payment.', async () => {
    const { anvil, proxy, buyer, service } = await paidThroughProxy();
    let calls = 0;
    proxy.fail(() => {
      calls += 1;
      return (calls * 7) % 10 < 3 ? new Response('too many requests', { status: 429 }) : undefined;
    });
    for (const name of ['ada', 'ben', 'cy']) {
      const client = buyer(name);
      const { challenge } = await quoteOf(client);
      expect((await settle(client, challenge, await signed(challenge))).status).toBe(200);
    }
    expect([(await anvil.transfers()).length, service.log]).toEqual([3, []]);
  });
});

describe.skipIf(!HAS_ANVIL)('a purchase (needs anvil)', () => {
  test('x402 clients that are told 202 and ask again pay once, and get the tier for 30 days.', async () => {
    const { anvil, service, buyer } = await paidThroughProxy();
    const client = buyer('ada');
    const pay = payingFetch(anvil.asset);
    const ask = async () => {
      const headers = { authorization: `Bearer ${client.key}` };
      const response = await pay(`${service.origin}${UPGRADE}`, { method: 'POST', headers });
      return { status: response.status, body: (await response.json()) as UpgradeAnswer };
    };
    await anvil.client.setAutomine(false);
    service.hurry(20);
    const first = await ask();
    expect(first).toMatchObject({ status: 202, body: { startsAt: null } });
    expect(await ask()).toEqual(first);
    const quote = await post<UpgradeAnswer>(client, '/v1/billing/x402/quote', {
      tierId: 'pro',
      network: 'eip155:31337',
      tokenSymbol: 'TUSD',
    });
    expect([quote.status, quote.body.id]).toEqual([202, first.body.id]);
    await anvil.client.setAutomine(true);
    await anvil.client.mine({ blocks: 1 });
    await service.billing.reconcile();
    const last = await ask();
    expect([last.status, last.body.id, (await ask()).body.id]).toEqual([200, first.body.id, first.body.id]);
    expect(Date.parse(last.body.expiresAt!) - Date.parse(last.body.startsAt!)).toBe(TERM_MS);
    expect((await anvil.transfers()).length).toBe(1);
    // Later it is a new purchase.
    service.skewClock(11 * 60_000);
    expect((await post(client, UPGRADE)).status).toBe(402);
  });

  test('A second transfer that is signed for a tier while the first one is pending is not sent.', async () => {
    const { anvil, service, buyer } = await paidThroughProxy();
    await anvil.client.setAutomine(false);
    service.hurry(20);
    const client = buyer('ada');
    const { challenge } = await quoteOf(client);
    const headers = await Promise.all([...Array(10)].map(async () => await signed(challenge)));
    const answers = await Promise.all(headers.map((header) => settle(client, challenge, header)));
    const ids = new Set(answers.filter(({ status }) => status === 202).map(({ body }) => body.id));
    expect(ids.size).toBe(1);
    await anvil.client.setAutomine(true);
    await anvil.client.mine({ blocks: 1 });
    await service.billing.reconcile();
    expect([(await anvil.transfers()).length, await tierOf(client)]).toEqual([1, 'pro']);
  });

  test('A transfer that could not be sent because the gas key is empty is sent by the service when it is filled, and its signature is stored encrypted.', async () => {
    const { anvil, service, payments } = await paidThroughProxy();
    await anvil.client.setBalance({ address: GAS.address, value: 0n });
    const { challenge } = await quoteOf(service);
    const header = await signed(challenge);
    expect((await settle(service, challenge, header)).status).toBe(202);
    const { payload } = JSON.parse(Buffer.from(header, 'base64').toString()) as { payload: { signature: string } };
    const stored = ['accounts.db', 'accounts.db-wal'].map((name) => readFileSync(join(service.path, name), 'latin1'));
    expect(stored.join().includes(payload.signature)).toBe(false);
    await service.billing.reconcile();
    expect(payments()).toEqual(['pending']);
    await anvil.client.setBalance({ address: GAS.address, value: 10n ** 18n });
    // A busy machine mines it after the next look.
    while (payments().includes('pending')) {
      await service.billing.reconcile();
      await Bun.sleep(10);
    }
    expect([payments(), await tierOf(service), (await anvil.transfers()).length]).toEqual([['settled'], 'pro', 1]);
    await anvil.client.mine({ blocks: 10 });
    await service.billing.reconcile();
    const kept = service.registry.database.query<{ sealed: null }, []>('SELECT sealed FROM payment_sends').all();
    expect([payments(), kept]).toEqual([['final'], [{ sealed: null }]]);
  });

  test('A signed transfer that cannot be opened any more is logged, and those of others are sent.', async () => {
    const { proxy, service, buyer, payments } = await paidThroughProxy();
    proxy.fail(({ method }) => (method === 'eth_estimateGas' ? new Response('lost', { status: 400 }) : undefined));
    for (const client of [buyer('ada'), buyer('ben')]) {
      const { challenge } = await quoteOf(client);
      expect((await settle(client, challenge, await signed(challenge))).status).toBe(202);
    }
    const [first] = service.registry.payments.list(10).toReversed();
    const { database } = service.registry;
    database.write(() =>
      database.query<never, [string]>("UPDATE payment_sends SET sealed = x'00' WHERE payment_id = ?").run(first!.id),
    );
    proxy.repair();
    await service.billing.reconcile();
    await service.billing.reconcile();
    expect(payments()).toEqual(['pending', 'settled']);
    expect(service.log.join('\n')).toContain(
      `payment ${first!.id} was not sent to Anvil: DomainError: a stored secret`,
    );
  });

  test('The nonce of a stuck transfer that cannot be opened any more goes to the next one after 45 seconds, and each buyer pays at most once.', async () => {
    const { anvil, proxy, service, buyer, payments, waiting, lookLater } = await paidThroughProxy();
    const buy = async (client: { origin: string; key: string }) => {
      const { challenge } = await quoteOf(client);
      return (await settle(client, challenge, await signed(challenge))).status;
    };
    const [ada, ben] = [buyer('ada'), buyer('ben')];
    await anvil.client.setAutomine(false);
    service.hurry(50);
    // The node loses the first one, and those after it wait for it.
    proxy.fail((call) => (call.method === 'eth_sendRawTransaction' ? `0x${'0'.repeat(64)}` : undefined));
    expect(await buy(ada)).toBe(202);
    proxy.repair();
    const { database } = service.registry;
    database.write(() => database.query("UPDATE payment_sends SET sealed = x'00'").run());
    expect(await buy(ben)).toBe(202);
    const nonces = async () => (await waiting()).map(({ nonce }) => nonce);
    // Until then it may still be mined.
    expect(await nonces()).toEqual([1]);
    await lookLater();
    expect((await nonces()).toSorted()).toEqual([0, 1]);
    await anvil.client.mine({ blocks: 1 });
    await service.billing.reconcile();
    expect([payments(), await tierOf(ben)]).toEqual([['pending', 'settled'], 'pro']);
    expect((await anvil.transfers()).length).toBe(1);
    await anvil.client.setAutomine(true);
  });

  test('Stuck transactions are replaced with the same nonces and higher fees, in their order, and each buyer pays once.', async () => {
    const { anvil, service, buyer, waiting, lookLater } = await paidThroughProxy();
    await anvil.client.setAutomine(false);
    service.hurry(50);
    const clients = ['ada', 'ben', 'cy'].map(buyer);
    for (const client of clients) {
      const { challenge } = await quoteOf(client);
      expect((await settle(client, challenge, await signed(challenge))).status).toBe(202);
    }
    const before = await waiting();
    const nonces = before.map(({ nonce }) => nonce);
    expect(nonces).toHaveLength(3);
    await lookLater();
    const after = await waiting();
    expect(after.map(({ nonce }) => nonce)).toEqual(nonces);
    for (const [index, { fee }] of after.entries()) expect(fee).toBeGreaterThan((before[index]!.fee * 110n) / 100n);
    // The node loses the first one: those after it wait for it.
    const { pending } = await anvil.client.getTxpoolContent();
    await anvil.client.dropTransaction({ hash: Object.values(ownIn(pending)!)[0]!.hash });
    await lookLater();
    await anvil.client.mine({ blocks: 1 });
    await service.billing.reconcile();
    expect((await anvil.transfers()).length).toBe(3);
    for (const client of clients) expect(await tierOf(client)).toBe('pro');
    await anvil.client.setAutomine(true);
  });

  test('A transfer that has expired without being sent leaves its nonce to the next one.', async () => {
    const { anvil, proxy, service, buyer, payments } = await paidThroughProxy();
    proxy.fail(({ method }) =>
      method === 'eth_sendRawTransaction' ? new Response('lost', { status: 400 }) : undefined,
    );
    const [ada, ben] = [buyer('ada'), buyer('ben')];
    const { challenge } = await quoteOf(ada);
    expect((await settle(ada, challenge, await signed(challenge))).status).toBe(202);
    proxy.repair();
    await anvil.client.increaseTime({ seconds: 600 });
    await anvil.client.mine({ blocks: 1 });
    const { challenge: next } = await quoteOf(ben);
    const validBefore = Math.floor(Date.now() / 1000) + 1200;
    expect((await settle(ben, next, await signed(next, { validBefore }))).status).toBe(200);
    expect([payments(), await tierOf(ada), await tierOf(ben)]).toEqual([['pending', 'settled'], 'free', 'pro']);
    await anvil.client.mine({ blocks: 10 });
    await service.billing.reconcile();
    expect(payments()).toEqual(['failed', 'final']);
  });

  test('Two services with one gas key disturb each other, and lose no payment.', async () => {
    const { anvil, service, waiting } = await paidThroughProxy();
    const other = startPaidService(anvil);
    resources.push(other);
    await anvil.client.setAutomine(false);
    service.hurry(50);
    other.hurry(50);
    const buy = async (client: { origin: string; key: string }) => {
      const { challenge } = await quoteOf(client);
      return (await settle(client, challenge, await signed(challenge))).status;
    };
    expect([await buy(service), await buy(other)]).toEqual([202, 202]);
    expect(await waiting()).toHaveLength(1);
    for (let look = 1; look <= 3; look += 1) {
      await anvil.client.mine({ blocks: 1 });
      for (const one of [service, other]) {
        one.skewClock(look * RESENT_MS);
        await one.billing.reconcile();
      }
    }
    expect([await tierOf(service), await tierOf(other)]).toEqual(['pro', 'pro']);
    expect((await anvil.transfers()).length).toBe(2);
    await anvil.client.setAutomine(true);
  });
});
