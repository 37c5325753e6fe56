import { expect } from 'bun:test';
import { temporaryDirectory } from '../support/archive.ts';
import { printed, startServer } from '../support/executable.ts';
import { startAnvil } from './anvil.ts';
import { writePaymentSettings } from './paid-service.ts';
import { quoteOf, settle, signed, tierOf } from './payer.ts';
import { startRpcProxy } from './rpc-proxy.ts';

/**
 * Kills the executable `kills` times while it settles a payment: before and after each of its calls of the chain, in equal parts.
 * After each kill the client sends its request again to a new process. The chain must have one transfer, and the account one grant.
 */
export async function killWhileSettling(kills: number): Promise<void> {
  using directory = temporaryDirectory();
  await using anvil = await startAnvil();
  await using proxy = startRpcProxy(anvil.rpcUrl);
  const data = `${directory.path}/data`;
  const payments = writePaymentSettings(directory.path, { ...anvil, rpcUrl: proxy.url });
  await printed(['tier', 'set', 'pro', '--price', '49.5', '--data', data]);
  const start = () => startServer(data, ['--payments', payments]);
  const keyOf = async (account: string) => {
    const { key } = JSON.parse(await printed(['key', 'create', '--account', account, '--json', '--data', data]));
    return key as string;
  };

  let server = await start();
  const first = { origin: server.origin, key: await keyOf('first@example.com') };
  const { challenge } = await quoteOf(first);
  const before = proxy.calls.length;
  expect((await settle(first, challenge, await signed(challenge))).status).toBe(200);
  const calls = proxy.calls.length - before;
  expect(calls).toBeGreaterThan(8);

  for (let kill = 0; kill < kills; kill += 1) {
    const point = Math.floor((kill / kills) * 2 * calls);
    const client = { origin: server.origin, key: await keyOf(`kill-${kill}@example.com`) };
    const quote = await quoteOf(client);
    const header = await signed(quote.challenge);
    let left = Math.floor(point / 2);
    proxy.fail(async (call) => {
      left -= 1;
      if (left >= 0) return undefined;
      proxy.repair();
      const answer = point % 2 === 0 ? undefined : await proxy.ask(call);
      await server.stop('SIGKILL');
      return answer ?? new Response(null, { status: 502 });
    });
    await settle(client, quote.challenge, header).catch(() => undefined);
    // A settlement may need fewer calls.
    proxy.repair();
    await server.stop('SIGKILL');
    server = await start();
    const again = await settle({ ...client, origin: server.origin }, quote.challenge, header);
    expect([point, again.status, await tierOf({ ...client, origin: server.origin })]).toEqual([point, 200, 'pro']);
    expect((await anvil.transfers()).length).toBe(kill + 2);
  }
  await server.stop();
  const report = JSON.parse(await printed(['billing', 'check', '--payments', payments, '--json', '--data', data]));
  expect(report).toEqual({ payments: kills + 1, transfers: kills + 1, differences: [], unreachable: [] });
}
