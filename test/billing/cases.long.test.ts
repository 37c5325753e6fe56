import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http';
import { bytesToHex, type Hex, parseSignature } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { createTier, retireTier } from '../../src/account/tier-catalog.ts';
import { refundPayment } from '../../src/billing/refund.ts';
import { auditSentence } from '../../src/web/audit-sentence.ts';
import { NOW_MS } from '../support/archive.ts';
import { type Anvil, CUSTOMER, HAS_ANVIL, KEYS, NETWORK, startAnvil, TOKEN_ABI } from './anvil.ts';
import { CONFIRMATIONS, type PaidService, startPaidService, TOKEN } from './paid-service.ts';
import { type Answer, buy, get, post, quoteOf, type Signing, settle, signed, tierOf } from './payer.ts';

const STRANGER = privateKeyToAccount(KEYS.stranger);
const UPGRADE = '/v1/billing/x402/upgrade/pro';
const QUOTE = '/v1/billing/x402/quote';
const SETTLE = '/v1/billing/x402/settle';

interface Problem {
  readonly detail: string;
}

describe.skipIf(!HAS_ANVIL)('a payment (needs anvil)', () => {
  let anvil: Anvil;
  let service: PaidService;
  let accounts = 0;
  beforeAll(async () => {
    anvil = await startAnvil();
    service = startPaidService(anvil);
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await anvil[Symbol.asyncDispose]();
  });
  const client = () => {
    accounts += 1;
    return { origin: service.origin, key: service.keyOf(`buyer-${accounts}@example.com`) };
  };
  /** What a function adds to the transfers on the chain, and to the payments that granted something. */
  const added = async (work: () => Promise<unknown>) => {
    const count = async () => [(await anvil.transfers()).length, granted()] as const;
    const [transfers, grants] = await count();
    await work();
    const [transfersNow, grantsNow] = await count();
    return { transfers: transfersNow - transfers, grants: grantsNow - grants };
  };
  const granted = () =>
    service.registry.database
      .query<{ count: number }, []>('SELECT COUNT(DISTINCT payment_id) AS count FROM grants WHERE ends_ms > starts_ms')
      .get()!.count;
  const responseOf = ({ headers }: Answer<unknown>): object =>
    decodePaymentResponseHeader(headers.get('payment-response')!);
  const problemOf = async (answer: Promise<Answer<unknown>>) => {
    const { status, body } = await answer;
    return [status, (body as Problem).detail];
  };
  /** Broadcasts the transfer of a signed payment, as anybody can who reads the mempool. */
  const broadcast = async (header: string, account = STRANGER) => {
    const { payload } = JSON.parse(Buffer.from(header, 'base64').toString());
    const { from, to, value, validAfter, validBefore, nonce } = payload.authorization;
    const { r, s, yParity } = parseSignature(payload.signature as Hex);
    const hash = await anvil.client.writeContract({
      address: anvil.asset,
      abi: TOKEN_ABI,
      functionName: 'transferWithAuthorization',
      args: [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, 27 + yParity, r, s],
      account,
    });
    await anvil.client.waitForTransactionReceipt({ hash });
    return hash;
  };

  const SIGNATURE = 'invalid_exact_evm_payload_signature';
  const VALUE = 'invalid_exact_evm_payload_authorization_value_mismatch';
  const RECEIVER = 'invalid_exact_evm_payload_recipient_mismatch';
  const VALID_BEFORE = 'invalid_exact_evm_payload_authorization_valid_before';
  const VALID_AFTER = 'invalid_exact_evm_payload_authorization_valid_after';
  test.each<[string, Signing, string, string]>([
    ['another chain', { chainId: 1 }, SIGNATURE, 'the signature is not that of the payer'],
    ['another token name', { name: 'USD Coin' }, SIGNATURE, 'the signature is not that of the payer'],
    ['too little', { value: '49499999' }, VALUE, 'another amount'],
    ['too much', { value: '49500001' }, VALUE, 'another amount'],
    ['too little, relabelled', { value: '1', accepted: { amount: '1' } }, VALUE, 'another amount'],
    ['another receiver', { to: STRANGER.address }, RECEIVER, 'another receiver'],
    [
      'another receiver, relabelled',
      { to: STRANGER.address, accepted: { payTo: STRANGER.address } },
      RECEIVER,
      'another receiver',
    ],
    ['another network, relabelled', { accepted: { network: 'eip155:1' } }, 'invalid_network', 'network'],
    ['an expired signature', { validBefore: 1_700_000_000 }, VALID_BEFORE, 'expires'],
    ['a signature for ever', { validBefore: 10_000_000_000 }, VALID_BEFORE, 'valid for too long'],
    ['a signature for later', { validAfter: 5_000_000_000 }, VALID_AFTER, "the token's contract refuses it"],
    ['no balance', { signer: STRANGER }, 'insufficient_funds', "the token's contract refuses it"],
  ])(
    'with %s is refused in the words of x402 with another challenge, and nothing is stored',
    async (_, signing, reason, text) => {
      const buyer = client();
      const difference = await added(async () => {
        const { challenge } = await quoteOf(buyer);
        const header = await signed(challenge, signing);
        const payer = (signing.signer ?? CUSTOMER).address.toLowerCase();
        const network = (signing.accepted as { network?: string })?.network ?? NETWORK;
        // Quotes are found by network and token.
        const isFound = reason !== 'invalid_network';
        const settled = await settle(buyer, challenge, header);
        expect([settled.status, settled.body.detail]).toEqual([402, expect.stringContaining(text)]);
        const failed = { success: false, network, payer, transaction: '' };
        expect(responseOf(settled)).toEqual({ ...failed, errorReason: reason });
        expect(decodePaymentRequiredHeader(settled.headers.get('payment-required')!)).toMatchObject({
          error: reason,
          accepts: challenge.accepts,
        });
        const upgraded = await post(buyer, UPGRADE, undefined, { 'payment-signature': header });
        expect([upgraded.status, responseOf(upgraded)]).toEqual([
          isFound ? 402 : 410,
          { ...failed, errorReason: isFound ? reason : 'invalid_payment_requirements' },
        ]);
        expect(upgraded.headers.has('payment-required')).toBe(isFound);
      });
      expect(difference).toEqual({ transfers: 0, grants: 0 });
      expect((await get<{ data: [] }>(buyer, '/v1/billing/history')).body.data).toEqual([]);
      expect(await tierOf(buyer)).toBe('free');
    },
  );

  test('A transfer that expires within 6 seconds of its chain is refused before it is stored.', async () => {
    const buyer = client();
    const { challenge } = await quoteOf(buyer);
    await anvil.client.mine({ blocks: 1 });
    const { timestamp } = await anvil.client.getBlock();
    const bought = async (seconds: number) =>
      await settle(buyer, challenge, await signed(challenge, { validBefore: Number(timestamp) + seconds }));
    const late = await bought(5);
    expect([late.status, responseOf(late)]).toMatchObject([402, { errorReason: VALID_BEFORE }]);
    expect((await get<{ data: [] }>(buyer, '/v1/billing/history')).body.data).toEqual([]);
    expect((await bought(30)).status).toBe(200);
  });

  test.each([
    [0.01, '10000'],
    [0.29, '290000'],
    [1.1, '1100000'],
    [19.99, '19990000'],
    [1005, '1005000000'],
    [8191.57, '8191570000'],
    [999_999_999.99, '999999999990000'],
  ])('Amounts are exactly the digits of the price in the catalog. ($%d is %s)', async (usd, units) => {
    service.setPrice('starter', usd);
    const quote = await quoteOf(client(), 'starter');
    expect([quote.priceUsd, quote.priceAmount]).toEqual([usd, units]);
  });

  test('A retired tier is no longer sold, but a quote that was made before is granted until it expires.', async () => {
    const change = { registry: service.registry, nowMs: NOW_MS };
    createTier(change, { id: 'plus', name: 'Plus', requestsPerMinute: 1000, monthlyPriceUsd: 1 });
    const [buyer, other] = [client(), client()];
    const { challenge } = await quoteOf(buyer, 'plus');
    retireTier(change, 'plus');
    const body = { tierId: 'plus', network: NETWORK, tokenSymbol: TOKEN.symbol };
    expect(await problemOf(post(other, QUOTE, body))).toEqual([409, expect.stringContaining('is retired')]);
    expect((await post(other, '/v1/billing/x402/upgrade/plus')).status).toBe(409);
    expect((await settle(buyer, challenge, await signed(challenge))).status).toBe(200);
    expect(await tierOf(buyer)).toBe('plus');
  });

  test('A payment is for one quote and one account: 404 for another account, 409 for another quote, 410 after it has expired.', async () => {
    const [buyer, other] = [client(), client()];
    const { challenge } = await quoteOf(buyer);
    const header = await signed(challenge);
    expect((await settle(other, challenge, header)).status).toBe(404);
    expect((await settle(buyer, challenge, header)).status).toBe(200);
    const { challenge: next } = await quoteOf(buyer);
    expect(next.quote_id).not.toBe(challenge.quote_id);
    expect((await settle(buyer, next, header)).status).toBe(409);
    const { challenge: foreign } = await quoteOf(other);
    const used = await settle(other, foreign, header);
    expect([used.status, responseOf(used)]).toMatchObject([409, { errorReason: 'invalid_transaction_state' }]);
    expect((await post(other, UPGRADE, undefined, { 'payment-signature': header })).status).toBe(409);
    expect((await settle(buyer, challenge, await signed(challenge))).status).toBe(409);
    service.skewClock(11 * 60_000);
    const late = await signed(next);
    const gone = await settle(buyer, next, late);
    expect([gone.status, responseOf(gone)]).toMatchObject([410, { errorReason: 'invalid_payment_requirements' }]);
    expect((await post(buyer, UPGRADE, undefined, { 'payment-signature': late })).status).toBe(410);
    service.skewClock(0);
    expect(await tierOf(other)).toBe('free');
  });

  test('that somebody else has broadcast is granted', async () => {
    const buyer = client();
    const { challenge } = await quoteOf(buyer);
    const header = await signed(challenge);
    const difference = await added(async () => {
      await broadcast(header);
      expect((await settle(buyer, challenge, header)).status).toBe(200);
    });
    expect(difference).toEqual({ transfers: 1, grants: 1 });
    expect(await tierOf(buyer)).toBe('pro');
  });

  test('A transfer that was mined before its quote was made grants nothing: anybody can read it with its signature.', async () => {
    const header = await signed((await quoteOf(client())).challenge);
    await broadcast(header);
    const thief = client();
    const { challenge } = await quoteOf(thief);
    expect(await problemOf(settle(thief, challenge, header))).toEqual([409, expect.stringContaining('used before')]);
    expect(await tierOf(thief)).toBe('free');
  });

  test('whose nonce is used for another transfer of the same payer is refused', async () => {
    const buyer = client();
    const { challenge } = await quoteOf(buyer);
    const nonce = bytesToHex(randomBytes(32));
    const header = await signed(challenge, { nonce });
    const elsewhere = await signed(challenge, { nonce, to: STRANGER.address });
    await broadcast(elsewhere);
    const refused = await settle(buyer, challenge, header);
    expect([refused.status, responseOf(refused)]).toMatchObject([402, { errorReason: 'invalid_transaction_state' }]);
    expect(await tierOf(buyer)).toBe('free');
  });

  test('A transfer that its payer has cancelled counts as failed once the cancellation is confirmed.', async () => {
    await anvil.client.setAutomine(false);
    service.hurry(20);
    const buyer = client();
    const { challenge } = await quoteOf(buyer);
    const nonce = bytesToHex(randomBytes(32));
    const pending = settle(buyer, challenge, await signed(challenge, { nonce }));
    await until(async () => (await anvil.client.getBlock({ blockTag: 'pending' })).transactions.length > 0);
    const { transactions } = await anvil.client.getBlock({ blockTag: 'pending' });
    await anvil.client.dropTransaction({ hash: transactions[0]! });
    const signature = await CUSTOMER.signTypedData({
      domain: { name: 'Test Dollar', version: '2', chainId: 31_337, verifyingContract: anvil.asset },
      types: {
        CancelAuthorization: [
          { name: 'authorizer', type: 'address' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      primaryType: 'CancelAuthorization',
      message: { authorizer: CUSTOMER.address, nonce },
    });
    const { r, s, yParity } = parseSignature(signature);
    await anvil.client.writeContract({
      address: anvil.asset,
      abi: TOKEN_ABI,
      functionName: 'cancelAuthorization',
      args: [CUSTOMER.address, nonce, 27 + yParity, r, s],
      account: STRANGER,
    });
    await anvil.client.setAutomine(true);
    service.hurry(1);
    await anvil.client.mine({ blocks: 1 });
    expect((await pending).status).toBe(202);
    const state = async () =>
      (await get<{ data: { metadata: { state: string } }[] }>(buyer, '/v1/billing/history')).body.data[0]!.metadata
        .state;
    await service.billing.reconcile();
    expect(await state()).toBe('pending');
    await anvil.client.mine({ blocks: CONFIRMATIONS });
    await service.billing.reconcile();
    expect(await state()).toBe('failed');
  });

  test('A payment that is not mined in time is pending (202), never failed, and granted when it is mined.', async () => {
    await anvil.client.setAutomine(false);
    service.hurry(20);
    const buyer = client();
    const { challenge } = await quoteOf(buyer);
    const header = await signed(challenge);
    const answers = await Promise.all([settle(buyer, challenge, header), settle(buyer, challenge, header)]);
    const { transactions } = await anvil.client.getBlock({ blockTag: 'pending' });
    for (const answer of answers) {
      const { status, body } = answer;
      expect([status, responseOf(answer)]).toEqual([
        202,
        {
          success: false,
          errorReason: 'settlement_pending',
          network: NETWORK,
          payer: CUSTOMER.address.toLowerCase(),
          transaction: transactions[0],
        },
      ]);
      expect(body).toMatchObject({ tierId: 'pro', startsAt: null, expiresAt: null });
    }
    expect(await tierOf(buyer)).toBe('free');
    await anvil.client.setAutomine(true);
    service.hurry(1);
    await anvil.client.mine({ blocks: 1 });
    await service.billing.reconcile();
    expect(await tierOf(buyer)).toBe('pro');
    expect(await settle(buyer, challenge, header)).toMatchObject({ status: 200, body: { id: answers[0]!.body.id } });
  }, 120_000);

  test('A tier is granted when its payment is mined, revoked if the block is gone, and granted again when it is mined again.', async () => {
    const buyer = client();
    const { challenge } = await quoteOf(buyer);
    const header = await signed(challenge);
    const snapshot = await anvil.client.snapshot();
    expect((await settle(buyer, challenge, header)).status).toBe(200);
    await anvil.client.revert({ id: snapshot });
    await service.billing.reconcile();
    expect(await tierOf(buyer)).toBe('pro');
    await anvil.client.mine({ blocks: CONFIRMATIONS + 1 });
    const { transfers } = await added(() => service.billing.reconcile());
    expect([transfers, await tierOf(buyer)]).toEqual([0, 'free']);
    const { accountId } = service.registry.payments.list(1)[0]!.quote;
    const entries = service.registry.audit.list(2, { accountId });
    // The buyer has asked for the settlement, and the job has found that it is gone.
    expect(entries.map(({ action, actorId, detail }) => [action, actorId, detail.job])).toEqual([
      ['payment.revoke', undefined, 'reconciliation'],
      ['payment.settle', accountId, undefined],
    ]);
    service.skewClock(61_000);
    expect((await settle(buyer, challenge, header)).status).toBe(200);
    expect(await tierOf(buyer)).toBe('pro');
    service.skewClock(0);
    await anvil.client.mine({ blocks: CONFIRMATIONS });
    await service.billing.reconcile();
    expect(service.registry.payments.list(1)[0]!.state).toBe('final');
  });

  test.each([false, true])(
    'A refunded payment that is removed and mined again grants nothing. (ends the tier: %p)',
    async (endsTier) => {
      const buyer = client();
      const { challenge } = await quoteOf(buyer);
      const header = await signed(challenge);
      const snapshot = await anvil.client.snapshot();
      const { body } = await settle(buyer, challenge, header);
      refundPayment({ registry: service.registry, nowMs: Date.now() }, body.id, `0x${'9'.repeat(64)}`, endsTier);
      await anvil.client.revert({ id: snapshot });
      await anvil.client.mine({ blocks: CONFIRMATIONS + 1 });
      await service.billing.reconcile();
      expect(await tierOf(buyer)).toBe('free');
      service.skewClock(61_000);
      const { transfers } = await added(async () => expect((await settle(buyer, challenge, header)).status).toBe(200));
      expect([transfers, await tierOf(buyer)]).toEqual([1, 'free']);
      service.skewClock(0);
      const { state, quote } = service.registry.payments.get(body.id)!;
      const [entry] = service.registry.audit.list(1, { accountId: quote.accountId });
      expect([state, entry!.action, auditSentence(entry!)]).toEqual([
        'settled',
        'payment.settle',
        `Bought nothing with the payment ${body.id}: it was refunded`,
      ]);
    },
  );

  test.each([3_600_000, -3_600_000])('is granted while the clock of the service is wrong by %d ms', async (skewMs) => {
    service.skewClock(skewMs);
    const buyer = client();
    const difference = await added(async () => expect([(await buy(buyer)).status, service.log]).toEqual([200, []]));
    expect([difference, await tierOf(buyer)]).toEqual([{ transfers: 1, grants: 1 }, 'pro']);
    service.skewClock(0);
  });

  test('for a tier without a price, without an end, or that does not exist is not quoted', async () => {
    const buyer = client();
    const quote = (tierId: string, network = NETWORK, tokenSymbol = 'TUSD') =>
      problemOf(post(buyer, QUOTE, { tierId, network, tokenSymbol }));
    expect(await quote('enterprise')).toEqual([409, expect.stringContaining('has no price')]);
    expect(await quote('free')).toEqual([409, expect.stringContaining('has no price')]);
    expect(await quote('platinum')).toEqual([404, expect.any(String)]);
    expect(await quote('pro', 'eip155:1')).toEqual([400, expect.stringContaining('x402/chains')]);
    expect(await quote('pro', NETWORK, 'EURC')).toEqual([400, expect.stringContaining('x402/chains')]);
    const { registry } = service;
    const { id: accountId } = registry.accounts.findByEmail(`buyer-${accounts}@example.com`)!;
    const endless = { accountId, tier: 'enterprise', source: 'operator', startsMs: NOW_MS, endsMs: undefined } as const;
    registry.database.write(() => registry.grants.add(endless, NOW_MS));
    expect(await quote('pro')).toEqual([409, expect.stringContaining('without an end')]);
  });

  test('Keys that were created without an account cannot buy a tier: they may belong to different people.', async () => {
    const shared = { origin: service.origin, key: service.keyOf('owner@localhost') };
    expect((await post(shared, QUOTE, { tierId: 'pro', network: NETWORK, tokenSymbol: 'TUSD' })).status).toBe(403);
    expect((await post(shared, UPGRADE)).status).toBe(403);
  });

  test('A quote keeps its price until it expires, even if the tier’s price changes.', async () => {
    const buyer = client();
    const { challenge } = await quoteOf(buyer);
    service.setPrice('pro', 60);
    expect((await settle(buyer, challenge, await signed(challenge))).status).toBe(200);
    expect((await quoteOf(buyer)).priceAmount).toBe('60000000');
    service.setPrice('pro', 49.5);
  });

  test.each<[string, number, string, string | object, Record<string, string>]>([
    ['no JSON type', 415, QUOTE, '{}', { 'content-type': 'text/plain' }],
    ['too many bytes', 413, QUOTE, ' '.repeat(100 * 1024 + 1), {}],
    ['too many bytes', 413, SETTLE, ' '.repeat(200 * 1024), {}],
    ['no JSON', 400, QUOTE, '{', {}],
    ['a missing field', 400, QUOTE, { tierId: 'pro', network: NETWORK }, {}],
    ['an unknown field', 400, QUOTE, { tierId: 'pro', network: NETWORK, tokenSymbol: 'TUSD', coupon: 'x' }, {}],
    ['a number as text', 400, QUOTE, { tierId: 7, network: NETWORK, tokenSymbol: 'TUSD' }, {}],
    ['an unknown field', 400, SETTLE, { xPaymentHeader: 'x', challenge: {} }, {}],
  ])('request with %s gets %d', async (_, status, path, body, headers) => {
    const answer = await post(client(), path, body, headers);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
  });

  test.each([
    '',
    '!!!',
    'e30=',
    Buffer.from('[]').toString('base64'),
    Buffer.from('{"x402Version":1}').toString('base64'),
  ])('with the header %p is malformed', async (header) => {
    const buyer = client();
    const { challenge } = await quoteOf(buyer);
    const malformed = await post(buyer, UPGRADE, undefined, { 'payment-signature': header || 'e30' });
    expect([malformed.status, malformed.headers.has('payment-response')]).toEqual([400, false]);
    if (header !== '') expect((await settle(buyer, challenge, header)).status).toBe(400);
  });

  test('is listed in pages', async () => {
    const buyer = client();
    const bought = [await buy(buyer), await buy(buyer), await buy(buyer)].map(({ body }) => body.id).reverse();
    interface Page {
      readonly data: readonly { readonly id: string }[];
      readonly nextBefore: string | null;
    }
    const page = async (query: string) => (await get<Page>(buyer, `/v1/billing/history?${query}`)).body;
    const first = await page('limit=2&provider=x402&purpose=upgrade');
    expect(first.data.map(({ id }) => id)).toEqual(bought.slice(0, 2));
    const second = await page(`limit=2&before=${first.nextBefore}`);
    expect(second).toMatchObject({ data: [{ id: bought[2] }], nextBefore: null });
    expect((await get(client(), `/v1/billing/history?before=${first.nextBefore}`)).status).toBe(404);
    for (const query of ['before=x', 'limit=0', 'limit=101', 'provider=stripe', 'purpose=x', 'x=1']) {
      expect((await get(buyer, `/v1/billing/history?${query}`)).status).toBe(400);
    }
  });
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await Bun.sleep(5);
}
