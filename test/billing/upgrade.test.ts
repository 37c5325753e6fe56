import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { decodePaymentRequiredHeader } from '@x402/core/http';
import { decodePaymentResponseHeader } from '@x402/fetch';
import type { Challenge } from '../../src/billing/x402.ts';
import { type Anvil, CUSTOMER, HAS_ANVIL, NETWORK, PAY_TO, startAnvil } from './anvil.ts';
import { type PaidService, startPaidService } from './paid-service.ts';
import { buy, get, payingFetch, post, quoteOf, settle, signed, tierOf, type UpgradeAnswer } from './payer.ts';

const TERM_MS = 30 * 86_400_000;

describe.skipIf(!HAS_ANVIL)('an upgrade (needs anvil)', () => {
  let anvil: Anvil;
  let service: PaidService;
  beforeAll(async () => {
    anvil = await startAnvil();
    service = startPaidService(anvil);
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await anvil[Symbol.asyncDispose]();
  });
  const client = (account: string) => ({ origin: service.origin, key: service.keyOf(account) });

  test('is quoted, signed and settled, and the next request of the key has the tier', async () => {
    const buyer = client('api@example.com');
    const before = (await anvil.transfers()).length;
    expect(await tierOf(buyer)).toBe('free');
    expect((await get(buyer, '/v1/eth/markets')).status).toBe(403);
    const quote = await quoteOf(buyer);
    expect(quote).toMatchObject({ provider: 'x402', priceUsd: 49.5, priceAmount: '49500000' });
    expect(quote.challenge).toMatchObject({
      x402Version: 2,
      accepts: [
        {
          scheme: 'exact',
          network: NETWORK,
          asset: anvil.asset,
          amount: '49500000',
          payTo: PAY_TO.toLowerCase(),
          maxTimeoutSeconds: 300,
          extra: { name: 'Test Dollar', version: '2' },
        },
      ],
      tier_id: 'pro',
    });
    const answer = await settle(buyer, quote.challenge, await signed(quote.challenge));
    expect(answer.status).toBe(200);
    const { startsAt, expiresAt } = answer.body;
    expect(Date.parse(expiresAt!) - Date.parse(startsAt!)).toBe(TERM_MS);
    expect(await tierOf(buyer)).toBe('pro');
    expect((await get(buyer, '/v1/eth/markets')).status).toBe(404);
    const transfers = await anvil.transfers();
    expect(transfers.slice(before).map(({ args }) => args)).toEqual([
      { from: CUSTOMER.address, to: PAY_TO, value: 49_500_000n },
    ]);
    const { transaction } = decodePaymentResponseHeader(answer.headers.get('payment-response')!);
    expect(transaction).toBe(transfers.at(-1)!.transactionHash);
    const history = await get<{ data: object[]; nextBefore: null }>(buyer, '/v1/billing/history');
    expect(history.body).toMatchObject({
      data: [
        {
          id: answer.body.id,
          provider: 'x402',
          providerRef: transaction,
          amountUsd: 49.5,
          purpose: 'upgrade',
          metadata: { state: 'settled', tierId: 'pro', startsAt, expiresAt, payer: CUSTOMER.address.toLowerCase() },
        },
      ],
      nextBefore: null,
    });
  });

  test('is bought by @x402/fetch in one step', async () => {
    const buyer = client('fetch@example.com');
    const url = `${service.origin}/v1/billing/x402/upgrade/pro`;
    const headers = { authorization: `Bearer ${buyer.key}` };
    const unpaid = await post(buyer, '/v1/billing/x402/upgrade/pro');
    expect(unpaid.status).toBe(402);
    expect(unpaid.headers.get('payment-required')).not.toBeNull();
    const response = await payingFetch(anvil.asset)(url, { method: 'POST', headers });
    expect(response.status).toBe(200);
    expect((await response.json()) as UpgradeAnswer).toMatchObject({ tierId: 'pro' });
    const paid = decodePaymentResponseHeader(response.headers.get('payment-response')!);
    expect(paid).toMatchObject({ success: true, network: NETWORK, payer: CUSTOMER.address.toLowerCase() });
    expect(await tierOf(buyer)).toBe('pro');
  });

  test('A signed transfer pays once: 50 copies at once are one transfer and one grant.', async () => {
    const buyer = client('fifty@example.com');
    const before = (await anvil.transfers()).length;
    const { challenge } = await quoteOf(buyer);
    const header = await signed(challenge);
    const answers = await Promise.all(Array.from({ length: 50 }, () => settle(buyer, challenge, header)));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1);
    expect((await anvil.transfers()).length - before).toBe(1);
    expect((await settle(buyer, challenge, header)).body).toEqual(answers[0]!.body);
  });

  test('buying it again extends it', async () => {
    const buyer = client('again@example.com');
    const first = await buy(buyer);
    const second = await buy(buyer);
    expect(second.body.startsAt).toBe(first.body.expiresAt);
    expect(Date.parse(second.body.expiresAt!) - Date.parse(first.body.startsAt!)).toBe(2 * TERM_MS);
  });

  test('Visitors without a key see the price of a tier (402), and cannot buy it: nothing is stored, and no chain is asked.', async () => {
    const { registry } = service;
    const quotes = () => registry.database.query('SELECT COUNT(*) AS count FROM payment_quotes').get();
    const before = quotes();
    const ask = (headers: Record<string, string>, tier = 'pro') =>
      fetch(`${service.origin}/v1/billing/x402/upgrade/${tier}`, { method: 'POST', headers });
    await using down = startPaidService({ ...anvil, rpcUrl: 'http://127.0.0.1:9' });
    const offline = await fetch(`${down.origin}/v1/billing/x402/upgrade/pro`, { method: 'POST' });
    const answer = await ask({});
    expect([offline.status, answer.status]).toEqual([402, 402]);
    const challenge = decodePaymentRequiredHeader(answer.headers.get('payment-required')!);
    expect(challenge).toMatchObject({
      x402Version: 2,
      accepts: [
        { scheme: 'exact', network: NETWORK, asset: anvil.asset, amount: '49500000', payTo: PAY_TO.toLowerCase() },
      ],
    });
    expect(((await answer.json()) as { detail: string }).detail).toContain('a key of an account');
    expect(answer.headers.get('x-ratelimit-limit')).toBe('600');
    const header = await signed(challenge as unknown as Challenge);
    const refused = [
      await ask({ 'payment-signature': header }),
      await ask({ authorization: 'Bearer brk_unknown' }),
      await ask({}, 'enterprise'),
      await ask({}, 'platinum'),
      await fetch(`${service.origin}/v1/billing/x402/quote`, { method: 'POST' }),
      await fetch(`${service.origin}/v1/billing/history`),
    ];
    for (const { status, headers } of refused) expect([status, headers.has('payment-required')]).toEqual([401, false]);
    expect(quotes()).toEqual(before);
    let last = await ask({});
    for (let left = 600; left > 0 && last.status === 402; left -= 1) last = await ask({});
    expect(last.status).toBe(429);
  });
});
