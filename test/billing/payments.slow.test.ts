import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { $ } from 'bun';
import { refundPayment } from '../../src/billing/refund.ts';
import { OPERATOR_EMAIL } from '../../src/domain/account.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf, runCommand } from '../support/command.ts';
import { issueKey, runExecutable, startServer } from '../support/executable.ts';
import { type Anvil, CUSTOMER, HAS_ANVIL, KEYS, NETWORK, startAnvil } from './anvil.ts';
import { writePaymentSettings } from './paid-service.ts';
import { payingFetch, post, quoteOf, settle, signed, tierOf } from './payer.ts';
import { startRpcProxy } from './rpc-proxy.ts';
import { settledPayment } from './settled-payment.ts';

setDefaultTimeout(120_000);

const REFUND = `0x${'9'.repeat(64)}`;
const UPGRADE = '/v1/billing/x402/upgrade/pro';

describe.skipIf(!HAS_ANVIL)('the executable with payments (needs anvil)', () => {
  let anvil: Anvil;
  beforeAll(async () => {
    anvil = await startAnvil();
  });
  afterAll(async () => await anvil[Symbol.asyncDispose]());

  /** A data directory with a price for pro, a key, and the settings of payments. */
  const prepared = async (path: string, rpcUrl = anvil.rpcUrl) => {
    const data = join(path, 'data');
    await outputOf(['tier', 'set', 'pro', '--price', '49.5', '--data', data]);
    const issued = await outputOf(['key', 'create', '--account', 'customer@example.com', '--json', '--data', data]);
    return { data, key: JSON.parse(issued).key as string, payments: writePaymentSettings(path, { ...anvil, rpcUrl }) };
  };

  test('sells a tier through the API and to @x402/fetch, and the commands list and check the payments', async () => {
    using directory = temporaryDirectory();
    const { data, key, payments } = await prepared(directory.path);
    await using server = await startServer(data, ['--payments', payments]);
    const client = { origin: server.origin, key };
    const { challenge } = await quoteOf(client);
    const bought = await settle(client, challenge, await signed(challenge));
    expect([bought.status, await tierOf(client)]).toEqual([200, 'pro']);
    const headers = { authorization: `Bearer ${key}` };
    const answer = await payingFetch(anvil.asset)(`${server.origin}${UPGRADE}`, { method: 'POST', headers });
    expect(answer.status).toBe(200);

    const listed = JSON.parse(await outputOf(['billing', 'list', '--json', '--data', data]));
    expect(listed).toHaveLength(2);
    expect(listed[1]).toMatchObject({ id: bought.body.id, account: 'customer@example.com', amountUsd: 49.5 });
    expect(await outputOf(['billing', 'list', '--data', data])).toContain(bought.body.id);
    const shown = await outputOf(['billing', 'show', bought.body.id, '--json', '--data', data]);
    expect(JSON.parse(shown)).toEqual(listed[1]);
    expect((await runCommand(['billing', 'show', 'pay_0', '--data', data])).code).toBe(1);
    const check = ['billing', 'check', '--payments', payments, '--data', data];
    expect(await outputOf(check)).toBe('2 payments and 2 transfers compared, 0 differences\n');
    expect(await outputOf(['billing', 'reconcile', '--payments', payments, '--data', data])).toContain(
      '2 payments compared',
    );
    const off = await runCommand(['billing', 'check', '--data', data]);
    expect([off.code, off.stderr]).toEqual([2, expect.stringContaining('payments are off')]);
  });

  test('finds a transfer without a payment, and a payment without a transfer: exit code 3', async () => {
    using directory = temporaryDirectory();
    const { data, key, payments } = await prepared(directory.path);
    const check = ['billing', 'check', '--payments', payments, '--json', '--data', data];
    await using server = await startServer(data, ['--payments', payments]);
    const client = { origin: server.origin, key };
    const { challenge } = await quoteOf(client);
    const snapshot = await anvil.client.snapshot();
    expect((await settle(client, challenge, await signed(challenge))).status).toBe(200);
    await anvil.client.revert({ id: snapshot });
    const gone = await runCommand(check);
    expect([gone.code, JSON.parse(gone.stdout)]).toMatchObject([
      3,
      { payments: 1, transfers: 0, differences: [{ what: 'granted, but the chain has no transfer' }] },
    ]);
    // The same chain, another ledger.
    using other = temporaryDirectory();
    const second = await prepared(other.path);
    await using foreign = await startServer(second.data, ['--payments', second.payments]);
    const buyer = { origin: foreign.origin, key: second.key };
    const quote = await quoteOf(buyer);
    expect((await settle(buyer, quote.challenge, await signed(quote.challenge))).status).toBe(200);
    const found = await runCommand(check);
    expect(found.code).toBe(3);
    expect(found.stdout).toContain('Anvil has a transfer without a payment');
  });

  test('After a restore, check shows a hidden payment with its payer, amount and time beside a network that is down, and assign gives it its grant.', async () => {
    using directory = temporaryDirectory();
    const { data, key, payments } = await prepared(directory.path);
    const backup = join(directory.path, 'backup');
    const check = ['billing', 'check', '--payments', payments, '--data', data];
    {
      await using server = await startServer(data, ['--payments', payments]);
      const client = { origin: server.origin, key };
      const { challenge } = await quoteOf(client);
      await outputOf(['backup', backup, '--data', data]);
      expect((await settle(client, challenge, await signed(challenge))).status).toBe(200);
      await server.stop();
    }
    await outputOf(['restore', backup, '--force', '--data', data]);
    const settings = JSON.parse(readFileSync(payments, 'utf8'));
    const down = { ...settings.networks[0], network: 'eip155:1', name: 'Down', rpcUrl: 'http://127.0.0.1:9' };
    writeFileSync(payments, JSON.stringify({ ...settings, networks: [down, ...settings.networks] }));
    const hidden = await runCommand([...check, '--json']);
    const [difference] = JSON.parse(hidden.stdout).differences;
    expect([hidden.code, difference]).toEqual([
      3,
      {
        payment: undefined,
        transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        network: NETWORK,
        payer: CUSTOMER.address.toLowerCase(),
        amount: '49.5 TUSD',
        minedAt: expect.stringMatching(/^20\d\d-/),
        what: expect.stringContaining('a transfer without a payment'),
      },
    ]);
    const assign = (transaction: string, email: string) =>
      runExecutable(['billing', 'assign', transaction, email, 'pro', '--payments', payments, '--data', data]);
    expect((await assign(difference.transaction, 'nobody@example.com')).code).toBe(1);
    expect((await assign('0x1', 'customer@example.com')).code).toBe(2);
    writeFileSync(payments, JSON.stringify(settings));
    expect((await assign(`0x${'1'.repeat(64)}`, 'customer@example.com')).code).toBe(1);
    const assigned = await assign(difference.transaction, 'customer@example.com');
    expect([assigned.code, assigned.stderr, assigned.stdout]).toEqual([0, '', expect.stringContaining('settled')]);
    expect((await assign(difference.transaction, 'customer@example.com')).code).toBe(1);
    const audit = JSON.parse(await outputOf(['audit', '--account', 'customer@example.com', '--json', '--data', data]));
    const { action, actor, operatingUser, detail } = audit[0];
    expect([action, actor, operatingUser, detail.job]).toEqual([
      'payment.settle',
      null,
      (await $`id -un`.text()).trim(),
      undefined,
    ]);
    expect(await outputOf(check)).toBe('1 payment and 1 transfer compared, 0 differences\n');
    await using server = await startServer(data, ['--payments', payments]);
    expect(await tierOf({ origin: server.origin, key })).toBe('pro');
  });

  test('Signatures are stored encrypted only, and are in no log, answer or backup.', async () => {
    using directory = temporaryDirectory();
    await using proxy = startRpcProxy(anvil.rpcUrl);
    const { data, key, payments } = await prepared(directory.path, proxy.url);
    await using server = await startServer(data, ['--payments', payments, '--access-log', 'on']);
    const client = { origin: server.origin, key };
    const { challenge } = await quoteOf(client);
    const header = await signed(challenge);
    const { signature } = JSON.parse(Buffer.from(header, 'base64').toString()).payload;
    proxy.fail(() => new Response('rpc-secret', { status: 500 }));
    const answers = [await settle(client, challenge, header)];
    proxy.fail(({ method }) =>
      method.startsWith('eth_sendRaw') ? new Response('rpc-secret', { status: 401 }) : undefined,
    );
    answers.push(
      await settle(client, challenge, header),
      await post(client, UPGRADE, undefined, { 'payment-signature': 'x' }),
    );
    proxy.repair();
    answers.push(
      await settle(client, challenge, header),
      await post(client, UPGRADE, undefined, { 'payment-signature': header }),
    );
    expect(answers.map(({ status }) => status)).toEqual([503, 202, 400, 200, 200]);
    const backup = join(directory.path, 'backup');
    await outputOf(['backup', backup, '--data', data]);
    const exported = await outputOf(['billing', 'list', '--json', '--data', data]);
    await server.stop();
    const files = [data, backup].flatMap((path) => readdirSync(path).map((name) => join(path, name)));
    const texts = [
      ...files.map((path) => readFileSync(path, 'latin1')),
      ...answers.map(({ body, headers }) => JSON.stringify([body, [...headers]])),
      exported,
      await server.log,
    ];
    const gasKey = KEYS.gas.slice(2);
    const secrets = [gasKey, Buffer.from(gasKey, 'hex').toString('latin1'), 'rpc-secret', header, signature.slice(2)];
    for (const secret of [...secrets, Buffer.from(signature.slice(2), 'hex').toString('latin1')]) {
      for (const text of texts) expect(text.toLowerCase().includes(secret.toLowerCase())).toBe(false);
    }
    // The search finds what is there.
    expect(texts.some((text) => text.includes(challenge.quote_id))).toBe(true);
  });

  test.each<[string, object, string]>([
    ['another chain', { network: 'eip155:137' }, 'belongs to another chain'],
    ['other decimals', { decimals: 18 }, 'has 6 decimals, not 18'],
    ['another domain', { version: '1' }, "has another EIP-712 domain than name 'Test Dollar' and version '1'"],
    ['no contract', { asset: `0x${'1'.repeat(40)}` }, 'is not a token with transfers by authorization'],
    ['a mistyped address', { asset: '0x5FbDB2315678afecb367f032d93F642f64180Aa3' }, 'is mistyped'],
    ['an unknown field', { rpc: 'x' }, '/networks/0/rpc is missing, unknown or malformed'],
    ['no way to settle', { gasKeyFile: undefined }, 'needs either gasKeyFile or facilitatorUrl'],
    ['a malformed gas key', { gasKey: 'secret' }, 'the gas key of Anvil is malformed'],
  ])('does not start with %s, and says so in one sentence', async (_, change, sentence) => {
    using directory = temporaryDirectory();
    const { data, payments } = await prepared(directory.path);
    const settings = JSON.parse(readFileSync(payments, 'utf8'));
    const [network] = settings.networks;
    const { gasKey, ...fields } = change as { gasKey?: string };
    if (gasKey !== undefined) writeFileSync(network.gasKeyFile, gasKey);
    for (const [name, value] of Object.entries(fields)) {
      if (name in network.tokens[0]) network.tokens[0][name] = value;
      else network[name] = value;
    }
    writeFileSync(payments, JSON.stringify(settings));
    // A server that starts is stopped.
    const start = async () => {
      await using _ = await startServer(data, ['--payments', payments]);
    };
    const message = await start().then(
      () => 'it started',
      (error: Error) => error.message,
    );
    expect(message).toContain(sentence);
    expect(message.trimEnd().split('\n')).toHaveLength(1);
    expect(message).not.toContain('secret');
  });

  test('A node that does not answer does not keep the server from starting, but settings that do not fit the chain do.', async () => {
    using directory = temporaryDirectory();
    await using proxy = startRpcProxy(anvil.rpcUrl);
    const { data, key, payments } = await prepared(directory.path, proxy.url);
    proxy.fail(() => new Response(null, { status: 500 }));
    await using server = await startServer(data, ['--payments', payments]);
    const client = { origin: server.origin, key };
    expect((await post(client, UPGRADE)).status).toBe(503);
    proxy.repair();
    const { challenge } = await quoteOf(client);
    expect((await settle(client, challenge, await signed(challenge))).status).toBe(200);
  });
});

test('without payments each route but the history answers 404 with one sentence, and nothing of them is loaded', async () => {
  using directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  await outputOf(['tier', 'set', 'pro', '--price', '49.5', '--data', data]);
  const { key } = await issueKey(data);
  const { id: paid } = (() => {
    using registry = openRegistry(data, { create: false });
    const nowMs = Date.now();
    const [, payment] = [0, 1].map(() => settledPayment(registry, { email: OPERATOR_EMAIL, nowMs }));
    return refundPayment({ registry, nowMs }, payment!.id, REFUND, false);
  })();
  await using server = await startServer(data);
  for (const [method, path] of [
    ['GET', '/v1/billing/x402/chains'],
    ['POST', '/v1/billing/x402/quote'],
    ['POST', '/v1/billing/x402/settle'],
    ['POST', UPGRADE],
  ] as const) {
    const answer = await fetch(`${server.origin}${path}`, { method, headers: { authorization: `Bearer ${key}` } });
    const { detail } = (await answer.json()) as { detail: string };
    expect([path, answer.status, detail]).toEqual([path, 404, expect.stringContaining('payments are off')]);
    expect((await fetch(`${server.origin}${path}`, { method })).status).toBe(401);
  }
  const history = `${server.origin}/v1/billing/history`;
  const answer = await fetch(history, { headers: { authorization: `Bearer ${key}` } });
  interface Listed {
    readonly id: string;
    readonly metadata: { readonly state: string; readonly refund: string | null };
  }
  const { data: payments } = (await answer.json()) as { data: Listed[] };
  expect([answer.status, payments.map(({ id, metadata }) => [id, metadata.state, metadata.refund])]).toEqual([
    200,
    [
      [paid, 'settled', REFUND],
      [expect.any(String), 'settled', null],
    ],
  ]);
  expect((await fetch(history)).status).toBe(401);
});
