import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { decodePaymentResponseHeader } from '@x402/core/http';
import type { Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { anvil as chain } from 'viem/chains';
import { type Anvil, CUSTOMER, HAS_ANVIL, KEYS, startAnvil, TOKEN_ABI } from './anvil.ts';
import { type PaidService, startPaidService, TOKEN } from './paid-service.ts';
import { buy, payingFetch, post, quoteOf, settle, signed, tierOf } from './payer.ts';
import { smartWallet } from './smart-wallet.ts';
import token from './token/token.json';

const STRANGER = privateKeyToAccount(KEYS.stranger);
const GAS_ADDRESS = privateKeyToAccount(KEYS.gas).address;
const UPGRADE = '/v1/billing/x402/upgrade/pro';

describe.skipIf(!HAS_ANVIL)('a smart wallet (needs anvil)', () => {
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
  const transfersOf = async (from: string) => (await anvil.transfers()).filter(({ args }) => args.from === from).length;
  const reasonOf = ({ headers }: { headers: Headers }) =>
    decodePaymentResponseHeader(headers.get('payment-response')!).errorReason;

  test('that is deployed pays with its own signature (EIP-1271), by settle and with @x402/fetch', async () => {
    const wallet = await smartWallet(anvil, CUSTOMER.address);
    await wallet.deploy();
    const buyer = client('wallet@example.com');
    const bought = await buy(buyer, 'pro', { wallet: wallet.deployed });
    expect([bought.status, await tierOf(buyer)]).toEqual([200, 'pro']);
    const { address, wrapped } = wallet.deployed;
    const signTypedData = async (data: object) => wrapped(await CUSTOMER.signTypedData(data as never));
    const other = client('wallet-fetch@example.com');
    const headers = { authorization: `Bearer ${other.key}` };
    const pay = payingFetch(anvil.asset, { address, signTypedData });
    const answer = await pay(`${service.origin}${UPGRADE}`, { method: 'POST', headers });
    expect([answer.status, await tierOf(other), await transfersOf(address)]).toEqual([200, 'pro', 2]);
  });

  test('whose owner did not sign is refused', async () => {
    const wallet = await smartWallet(anvil, STRANGER.address);
    await wallet.deploy();
    const refused = await buy(client('forger@example.com'), 'pro', { wallet: wallet.deployed });
    expect([refused.status, reasonOf(refused)]).toEqual([402, 'invalid_exact_evm_payload_signature']);
    const { address } = wallet.deployed;
    const plain = await buy(client('forger@example.com'), 'pro', { wallet: { address, wrapped: (one) => one } });
    expect([plain.status, reasonOf(plain)]).toEqual([402, 'invalid_exact_evm_payload_signature']);
    expect(await transfersOf(address)).toBe(0);
  });

  test.each<[string, Hex, number]>([
    ['nothing', '0x', 402],
    ['half a byte', '0xabc', 400],
    ['65 bytes that no key can have signed', `0x${'ab'.repeat(65)}`, 402],
    ['the mark of ERC-6492 after other bytes', `0x1234${'6492'.repeat(16)}`, 402],
    ['many bytes', `0x${'00'.repeat(4000)}`, 402],
  ])('with %s as its signature is refused, as an account is', async (_, signature, status) => {
    const wallet = await smartWallet(anvil, CUSTOMER.address);
    await wallet.deploy();
    for (const { address } of [wallet.deployed, CUSTOMER]) {
      const refused = await buy(client('malformed@example.com'), 'pro', {
        wallet: { address, wrapped: () => signature },
      });
      expect(refused.status).toBe(status);
    }
  });

  test('that is not deployed yet (ERC-6492) is refused with a sentence that says so; once deployed the same signature pays', async () => {
    const wallet = await smartWallet(anvil, CUSTOMER.address);
    const buyer = client('counterfactual@example.com');
    const { challenge } = await quoteOf(buyer);
    const header = await signed(challenge, { wallet: wallet.undeployed });
    const refused = await settle(buyer, challenge, header);
    expect([refused.status, refused.body.detail, reasonOf(refused)]).toEqual([
      402,
      expect.stringContaining('is not deployed yet'),
      'eip6492_factory_not_allowed',
    ]);
    const inner = await settle(buyer, challenge, await signed(challenge, { wallet: wallet.deployed }));
    expect([inner.status, reasonOf(inner)]).toEqual([402, 'invalid_exact_evm_payload_signature']);
    await wallet.deploy();
    const paid = await post(buyer, UPGRADE, undefined, { 'payment-signature': header });
    expect([paid.status, await tierOf(buyer), await transfersOf(wallet.undeployed.address)]).toEqual([200, 'pro', 1]);
  });

  test('is refused with a sentence of its own by a token that takes signatures of keys only, and keys pay with that token.', async () => {
    const account = privateKeyToAccount(KEYS.deployer);
    const bytecode = token.oldToken as Hex;
    const hash = await anvil.client.deployContract({ abi: [], bytecode, account, chain });
    const asset = (await anvil.client.waitForTransactionReceipt({ hash })).contractAddress!;
    await using old = startPaidService(anvil, { tokens: [{ ...TOKEN, asset }] });
    const wallet = await smartWallet({ ...anvil, asset }, CUSTOMER.address);
    await wallet.deploy();
    const refused = await buy(old, 'pro', { wallet: wallet.deployed });
    expect([refused.status, refused.body.detail, reasonOf(refused)]).toEqual([
      402,
      'the token TUSD on Anvil takes no signatures of smart wallets: pay with another token, or from an account of a key',
      'invalid_exact_evm_eip3009_not_supported',
    ]);
    // Other refusals keep their sentence.
    const poor = await smartWallet(anvil, CUSTOMER.address);
    await poor.deploy();
    const unpaid = await buy(old, 'pro', { wallet: poor.deployed });
    expect([unpaid.status, reasonOf(unpaid)]).toEqual([402, 'insufficient_funds']);
    const early = await buy(client('early@example.com'), 'pro', { wallet: poor.deployed, validAfter: 5_000_000_000 });
    expect([early.status, early.body.detail]).toEqual([402, expect.stringContaining('is not yet valid')]);
    const key = await buy(old);
    expect([key.status, key.body.detail, reasonOf(key)]).toEqual([
      402,
      expect.stringContaining("the token's contract refuses it"),
      'insufficient_funds',
    ]);
    const mint = {
      address: asset,
      abi: TOKEN_ABI,
      functionName: 'mint',
      args: [CUSTOMER.address, 49_500_000n],
    } as const;
    await anvil.client.writeContract({ ...mint, account, chain });
    expect([(await buy(old)).status, await tierOf(old)]).toEqual([200, 'pro']);
  });

  test('that burns gas in transactions only costs the gas key one transaction of bounded gas', async () => {
    const wallet = await smartWallet(anvil, CUSTOMER.address);
    await wallet.deploy();
    await wallet.burnGas();
    const buyer = client('burner@example.com');
    const sent = async () => await anvil.client.getTransactionCount({ address: GAS_ADDRESS });
    const before = await sent();
    service.hurry(20);
    const { challenge } = await quoteOf(buyer);
    const header = await signed(challenge, { wallet: wallet.deployed });
    expect((await settle(buyer, challenge, header)).status).toBe(202);
    service.hurry(1);
    for (const seconds of [60, 120]) {
      service.skewClock(seconds * 1000);
      await service.billing.reconcile();
    }
    service.skewClock(0);
    expect((await sent()) - before).toBe(1);
    const { transactions } = await anvil.client.getBlock();
    const { gasUsed, status } = await anvil.client.getTransactionReceipt({ hash: transactions[0]! });
    expect([status, gasUsed <= 500_000n, await transfersOf(wallet.deployed.address)]).toEqual(['reverted', true, 0]);
  });
});
