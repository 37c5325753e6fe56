import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatUnits } from 'viem';
import { printed, startServer } from '../support/executable.ts';
import { CUSTOMER, HAS_ANVIL, NETWORK, PAY_TO, startAnvil, TOKEN_ABI } from './anvil.ts';
import { PRO_USD, TOKEN, writePaymentSettings } from './paid-service.ts';
import { payingFetch, post, tierOf } from './payer.ts';

/** `make pay`: a network of this machine, the service with a price on pro, and a client that buys it. Prints each step. */
async function main(): Promise<void> {
  if (!HAS_ANVIL) throw new Error('npm has no anvil for this machine: make pay needs Linux on x64');
  const directory = mkdtempSync(join(tmpdir(), 'bookreel-pay-'));
  try {
    await pay(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function pay(directory: string): Promise<void> {
  const say = (text: string) => console.log(text);
  await using anvil = await startAnvil();
  const balanceOf = async (address: `0x${string}`) => {
    const args = [address] as const;
    const units = await anvil.client.readContract({
      address: anvil.asset,
      abi: TOKEN_ABI,
      functionName: 'balanceOf',
      args,
    });
    return `${formatUnits(units, TOKEN.decimals)} ${TOKEN.symbol}`;
  };
  say(`network  ${NETWORK} on ${anvil.rpcUrl}, token ${TOKEN.symbol} at ${anvil.asset}`);
  say(`customer ${CUSTOMER.address} has ${await balanceOf(CUSTOMER.address)}`);
  const data = join(directory, 'data');
  const payments = writePaymentSettings(directory, anvil);
  await printed(['tier', 'set', 'pro', '--price', String(PRO_USD), '--data', data]);
  const created = await printed(['key', 'create', '--account', 'customer@example.com', '--json', '--data', data]);
  await using server = await startServer(data, ['--payments', payments]);
  const client = { origin: server.origin, key: (JSON.parse(created) as { key: string }).key };
  say(`service  ${server.origin} sells pro for $${PRO_USD}; the tier of the key is ${await tierOf(client)}`);
  const path = '/v1/billing/x402/upgrade/pro';
  const unpaid = await post(client, path);
  say(`POST ${path}: ${unpaid.status}`);
  say(`PAYMENT-REQUIRED: ${Buffer.from(unpaid.headers.get('payment-required') ?? '', 'base64')}`);
  const headers = { authorization: `Bearer ${client.key}` };
  const paid = await payingFetch(anvil.asset)(`${server.origin}${path}`, { method: 'POST', headers });
  say(`POST ${path} with PAYMENT-SIGNATURE, by @x402/fetch: ${paid.status} ${await paid.text()}`);
  say(`PAYMENT-RESPONSE: ${Buffer.from(paid.headers.get('payment-response') ?? '', 'base64')}`);
  say(`the tier of the key is ${await tierOf(client)}`);
  say(`receiver ${PAY_TO} has ${await balanceOf(PAY_TO)}`);
  say(`billing check: ${(await printed(['billing', 'check', '--payments', payments, '--data', data])).trim()}`);
}

await main();
