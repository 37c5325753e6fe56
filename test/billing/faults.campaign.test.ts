import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { HAS_ANVIL, startAnvil } from './anvil.ts';
import { startFacilitator } from './facilitator.ts';
import { CONFIRMATIONS, startPaidService } from './paid-service.ts';
import { get, quoteOf, settle, signed, tierOf } from './payer.ts';
import { startRpcProxy } from './rpc-proxy.ts';

setDefaultTimeout(300_000);

const never = () => new Promise<never>(() => undefined);
const resources: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of resources.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

/** A chain behind a proxy, and the service, with other settings if given. */
async function paidThroughProxy(change: Parameters<typeof startPaidService>[1] = {}) {
  const anvil = await startAnvil();
  const proxy = startRpcProxy(anvil.rpcUrl);
  const service = startPaidService(anvil, { rpcUrl: proxy.url, ...change });
  resources.push(anvil, proxy, service);
  return { anvil, proxy, service };
}

describe.skipIf(!HAS_ANVIL)('payments (needs anvil)', () => {
  test.each<[string, (call: { method: string }) => unknown]>([
    ['hangs', never],
    ['answers 500', () => new Response('rpc-secret', { status: 500 })],
    ['answers no JSON', () => new Response('rpc-secret')],
    ['belongs to another chain', ({ method }) => (method === 'eth_chainId' ? '0x89' : undefined)],
  ])(
    'with a node that %s are refused with 503 and nothing is stored, and work when it is repaired',
    async (_, fault) => {
      const { anvil, proxy, service } = await paidThroughProxy();
      const { challenge } = await quoteOf(service);
      const header = await signed(challenge);
      proxy.fail(fault);
      const answer = await settle(service, challenge, header);
      expect(answer.status).toBe(503);
      expect(answer.body.detail).toContain('the RPC node of Anvil');
      expect(service.registry.payments.list(10)).toEqual([]);
      expect(service.log.join()).not.toContain('secret');
      expect(answer.body.detail).not.toContain('secret');
      proxy.repair();
      expect((await settle(service, challenge, header)).status).toBe(200);
      expect((await anvil.transfers()).length).toBe(1);
    },
  );

  test.each<[string, string]>([
    ['is lost before the chain has it', 'request'],
    ['reaches the chain, and its answer is lost', 'answer'],
  ])('whose transaction %s are granted once', async (_, lost) => {
    const { anvil, proxy, service } = await paidThroughProxy();
    const { challenge } = await quoteOf(service);
    const header = await signed(challenge);
    proxy.fail(async ({ method, params }) => {
      if (!method.startsWith('eth_sendRawTransaction')) return undefined;
      const serializedTransaction = params[0] as `0x${string}`;
      // The service sends it again, and the node has it already.
      if (lost === 'answer') await anvil.client.sendRawTransaction({ serializedTransaction }).catch(() => undefined);
      return new Response('lost', { status: 502 });
    });
    const first = await settle(service, challenge, header);
    expect(first.status).toBe(lost === 'answer' ? 200 : 202);
    proxy.repair();
    const second = await settle(service, challenge, header);
    expect([second.status, second.body.id, await tierOf(service)]).toEqual([200, first.body.id, 'pro']);
    expect((await anvil.transfers()).length).toBe(1);
  });

  test('A node that lags behind another one neither fails nor revokes a payment.', async () => {
    const { anvil, proxy, service } = await paidThroughProxy();
    const old = await anvil.client.getBlockNumber();
    const { challenge } = await quoteOf(service);
    const header = await signed(challenge);
    const lag = ({ method }: { method: string }) =>
      method === 'eth_blockNumber' ? `0x${old.toString(16)}` : undefined;
    proxy.fail(lag);
    expect((await settle(service, challenge, header)).status).toBe(202);
    await anvil.client.increaseTime({ seconds: 3600 });
    await anvil.client.mine({ blocks: CONFIRMATIONS + 1 });
    await service.billing.reconcile();
    expect(service.registry.payments.list(1)[0]!.state).toBe('pending');
    proxy.repair();
    await service.billing.reconcile();
    expect([service.registry.payments.list(1)[0]!.state, await tierOf(service)]).toEqual(['final', 'pro']);
    expect((await anvil.transfers()).length).toBe(1);
  });

  test('that are settled stay while the node of the next look is further back', async () => {
    const { anvil, proxy, service } = await paidThroughProxy();
    const { challenge } = await quoteOf(service);
    const old = await anvil.client.getBlockNumber();
    expect((await settle(service, challenge, await signed(challenge))).status).toBe(200);
    await anvil.client.mine({ blocks: CONFIRMATIONS + 1 });
    proxy.fail(({ method }) => (method === 'eth_blockNumber' ? `0x${old.toString(16)}` : undefined));
    await service.billing.reconcile();
    expect([service.registry.payments.list(1)[0]!.state, await tierOf(service)]).toEqual(['settled', 'pro']);
    // The receipt of the known transaction is the witness.
    proxy.fail(({ method }) => (method === 'eth_getLogs' ? [] : undefined));
    await service.billing.reconcile();
    expect([service.registry.payments.list(1)[0]!.state, await tierOf(service)]).toEqual(['final', 'pro']);
  });

  test('through a facilitator are settled and granted', async () => {
    await using facilitator = await startFacilitator();
    const { anvil, service } = await paidThroughProxy({ facilitatorUrl: facilitator.url });
    facilitator.serve(anvil.rpcUrl);
    const { challenge } = await quoteOf(service);
    expect((await settle(service, challenge, await signed(challenge))).status).toBe(200);
    expect([(await anvil.transfers()).length, await tierOf(service)]).toEqual([1, 'pro']);
    expect(facilitator.refusals).toEqual([]);
  });

  test.each<[string, 'hang' | 500 | 'refuse']>([
    ['answers 500 after settling', 500],
    ['hangs after settling', 'hang'],
    ['says that it was refused after settling', 'refuse'],
  ])('Only the chain decides whether a payment has succeeded. (a facilitator that %s)', async (_, end) => {
    await using facilitator = await startFacilitator(end);
    const { anvil, service } = await paidThroughProxy({ facilitatorUrl: facilitator.url });
    facilitator.serve(anvil.rpcUrl);
    const { challenge } = await quoteOf(service);
    const header = await signed(challenge);
    expect((await settle(service, challenge, header)).status).toBe(200);
    expect((await settle(service, challenge, header)).status).toBe(200);
    expect([(await anvil.transfers()).length, await tierOf(service)]).toEqual([1, 'pro']);
    const { body } = await get<{ data: object[] }>(service, '/v1/billing/history');
    expect(body.data).toHaveLength(1);
  });
});
