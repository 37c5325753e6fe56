import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { decodePaymentResponseHeader } from '@x402/core/http';
import { type Anvil, HAS_ANVIL, KEYS, NETWORK, startAnvil } from '../billing/anvil.ts';
import { writePaymentSettings } from '../billing/paid-service.ts';
import { tierOf } from '../billing/payer.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { type RunningServer, startServer } from '../support/executable.ts';
import { HAS_CHROMIUM, openPage } from './chromium.ts';
import type { Purchase } from './x402-page.ts';

describe.skipIf(!(HAS_CHROMIUM && HAS_ANVIL))('@x402/fetch in a page (needs Chromium, test/judges, anvil)', () => {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  let anvil: Anvil;
  let server: RunningServer;
  let script: string;
  const pageServer = () =>
    Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () =>
        new Response(`<!doctype html><title>shop</title><script type="module">${script}</script>`, {
          headers: { 'content-type': 'text/html' },
        }),
    });
  const pages = { allowed: pageServer(), other: pageServer() };
  beforeAll(async () => {
    anvil = await startAnvil();
    const { outputs } = await Bun.build({
      entrypoints: [join(import.meta.dir, 'x402-page.ts')],
      target: 'browser',
      minify: true,
    });
    script = (await outputs[0]!.text()).replaceAll('</script', '<\\/script');
    await outputOf(['tier', 'set', 'pro', '--price', '49.50', '--data', data]);
    const payments = ['--payments', writePaymentSettings(directory.path, anvil)];
    server = await startServer(data, [...payments, '--cors-origins', pages.allowed.url.origin]);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await anvil[Symbol.asyncDispose]();
    await Promise.all(Object.values(pages).map((one) => one.stop(true)));
    directory[Symbol.dispose]();
  });

  /** Buys in a page of an origin, with the key of a new account. */
  const bought = async (origin: string) => {
    const account = `${crypto.randomUUID()}@example.com`;
    const issued = await outputOf(['key', 'create', '--account', account, '--json', '--data', data]);
    const { key } = JSON.parse(issued) as { key: string };
    const before = (await anvil.transfers()).length;
    const purchase: Purchase = {
      url: `${server.origin}/v1/billing/x402/upgrade/pro`,
      key,
      privateKey: KEYS.customer,
      network: NETWORK as Purchase['network'],
      asset: anvil.asset,
    };
    await using watched = await openPage();
    await watched.page.goto(origin);
    const result = await watched.page.evaluate<{ status?: number; response?: string; error?: string }>(
      `buy(${JSON.stringify(purchase)})`,
    );
    const transfers = (await anvil.transfers()).length - before;
    return { result, transfers, tier: await tierOf({ origin: server.origin, key }) };
  };

  test('A page of an allowed origin buys a tier, and reads the settlement.', async () => {
    const { result, transfers, tier } = await bought(pages.allowed.url.origin);
    expect([result.error, result.status, transfers, tier]).toEqual([undefined, 200, 1, 'pro']);
    expect(decodePaymentResponseHeader(result.response!).success).toBe(true);
  });

  test('A page of another origin cannot buy.', async () => {
    const { result, transfers, tier } = await bought(pages.other.url.origin);
    expect([result.error, transfers, tier]).toEqual([expect.stringContaining('Failed to fetch'), 0, 'free']);
  });
});
