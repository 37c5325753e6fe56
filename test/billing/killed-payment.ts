import { expect } from 'bun:test';
import { temporaryDirectory } from '../support/archive.ts';
import { printed, startServer } from '../support/executable.ts';
import { randomsOf } from '../support/random-books.ts';
import { startAnvil } from './anvil.ts';
import { startFacilitator } from './facilitator.ts';
import { writePaymentSettings } from './paid-service.ts';
import { get, quoteOf, settle, signed, tierOf } from './payer.ts';
import { startRpcProxy } from './rpc-proxy.ts';

/**
 * Kills the executable while it settles payments: before and after each of its calls of the chain. After each kill the client sends its request again to a new process. The chain must have one transfer, and the account one grant.
 */
export async function killWhileSettling(): Promise<void> {
  using directory = temporaryDirectory();
  await using anvil = await startAnvil();
  await using proxy = startRpcProxy(anvil.rpcUrl);
  const data = `${directory.path}/data`;
  const payments = writePaymentSettings(directory.path, { ...anvil, rpcUrl: proxy.url });
  await printed(['tier', 'set', 'pro', '--price', '49.5', '--data', data]);
  const start = () => startServer(data, ['--payments', payments]);
  const keyOf = keysOf(data);

  let server = await start();
  const first = { origin: server.origin, key: await keyOf('first@example.com') };
  const { challenge } = await quoteOf(first);
  const before = proxy.calls.length;
  expect((await settle(first, challenge, await signed(challenge))).status).toBe(200);
  const kills = 2 * (proxy.calls.length - before);
  expect(kills).toBeGreaterThan(16);

  for (let point = 0; point < kills; point += 1) {
    const client = { origin: server.origin, key: await keyOf(`kill-${point}@example.com`) };
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
    expect((await anvil.transfers()).length).toBe(point + 2);
  }
  await server.stop();
  await expectEqual(payments, data, kills + 1);
}

/** Kills until one payment at least was stored before. */
const KILLS_MAX = 100;

/**
 * Kills the executable `kills` times at random instants while it settles a payment, and does not let the client send its request again:
 * the service has to send the transfer itself. Every buyer must get the tier, by one transfer.
 */
export async function killAtRandom(kills: number, { byFacilitator, seed }: { byFacilitator: boolean; seed: number }) {
  using directory = temporaryDirectory();
  await using anvil = await startAnvil();
  await using facilitator = await startFacilitator();
  facilitator.serve(anvil.rpcUrl);
  const data = `${directory.path}/data`;
  const payments = writePaymentSettings(
    directory.path,
    anvil,
    byFacilitator ? { facilitatorUrl: facilitator.url } : {},
  );
  await printed(['tier', 'set', 'pro', '--price', '49.5', '--data', data]);
  const keyOf = keysOf(data);
  const random = randomsOf(seed);
  let server = await startServer(data, ['--payments', payments]);
  // The first one is not killed: it says how long a settlement takes on this machine.
  const first = { origin: server.origin, key: await keyOf('first@example.com') };
  const quote = await quoteOf(first);
  const header = await signed(quote.challenge);
  const beganMs = performance.now();
  expect((await settle(first, quote.challenge, header)).status).toBe(200);
  const settlingMs = performance.now() - beganMs;
  let stored = 1;
  for (let kill = 0; kill < kills || (stored === 1 && kill < KILLS_MAX); kill += 1) {
    const client = { origin: server.origin, key: await keyOf(`kill-${kill}@example.com`) };
    const { challenge } = await quoteOf(client);
    const sent = settle(client, challenge, await signed(challenge)).catch(() => undefined);
    await Bun.sleep(random() * settlingMs);
    await server.stop('SIGKILL');
    const answer = await sent;
    server = await startServer(data, ['--payments', payments]);
    const again = { ...client, origin: server.origin };
    const [payment] = (await get<{ data: { id: string }[] }>(again, '/v1/billing/history')).body.data;
    // A payment that was answered is stored; one that was not may be lost with the request.
    if (answer !== undefined) expect([kill, payment?.id]).toEqual([kill, answer.body.id]);
    if (payment === undefined) continue;
    stored += 1;
    while ((await tierOf(again)) !== 'pro') await Bun.sleep(400);
  }
  await server.stop();
  expect(stored).toBeGreaterThan(1);
  await expectEqual(payments, data, stored);
  expect((await anvil.transfers()).length).toBe(stored);
}

function keysOf(data: string) {
  return async (account: string): Promise<string> => {
    const options = ['--account', account, '--rpm', '1000', '--json', '--data', data];
    const issued = await printed(['key', 'create', ...options]);
    return (JSON.parse(issued) as { key: string }).key;
  };
}

async function expectEqual(payments: string, data: string, count: number): Promise<void> {
  const report = JSON.parse(await printed(['billing', 'check', '--payments', payments, '--json', '--data', data]));
  expect(report).toEqual({ payments: count, transfers: count, differences: [], unreachable: [] });
}
