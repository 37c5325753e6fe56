import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { BUN, finished, printed, startServer } from '../support/executable.ts';
import { HAS_ANVIL, KEYS, NETWORK, startAnvil } from './anvil.ts';
import { writePaymentSettings } from './paid-service.ts';
import { tierOf } from './payer.ts';

const CLIENT = join(import.meta.dir, 'x402-client.mjs');
const NODE = Bun.which('node');

/** Each client in each runtime buys a tier, all at once, while a block is mined every `seconds`: one transfer each, and the tier. */
export function clientsBuy(seconds: number): void {
  test.skipIf(!HAS_ANVIL || NODE === null)(
    `@x402/fetch and @x402/axios buy a tier with one transfer, in Bun and in Node, with a block every ${seconds} s. (needs anvil, Node)`,
    async () => {
      using directory = temporaryDirectory();
      const data = join(directory.path, 'data');
      await using anvil = await startAnvil();
      await printed(['tier', 'set', 'pro', '--price', '49.5', '--data', data]);
      await using server = await startServer(data, ['--payments', writePaymentSettings(directory.path, anvil)]);
      await anvil.client.setIntervalMining({ interval: seconds });
      const buy = async (runtime: readonly string[], client: string) => {
        const account = `${crypto.randomUUID()}@example.com`;
        const issued = await printed(['key', 'create', '--account', account, '--json', '--data', data]);
        const { key } = JSON.parse(issued) as { key: string };
        const url = `${server.origin}/v1/billing/x402/upgrade/pro`;
        const purchase = { url, key, privateKey: KEYS.customer, network: NETWORK, asset: anvil.asset };
        const command = [...runtime, CLIENT, client, JSON.stringify(purchase)];
        const { stdout, stderr } = await finished(command, { env: { PATH: process.env.PATH! } });
        const statuses = stderr === '' ? (JSON.parse(stdout) as number[]) : [];
        const others = statuses.slice(0, -1).filter((status) => status !== 202);
        return [runtime, client, stderr, others, statuses.at(-1), await tierOf({ origin: server.origin, key })];
      };
      const clients = [BUN, [NODE!]].flatMap((runtime) => ['fetch', 'axios'].map((one) => [runtime, one] as const));
      const bought = await Promise.all(clients.map(([runtime, one]) => buy(runtime, one)));
      expect(bought).toEqual(clients.map(([runtime, one]) => [runtime, one, '', [], 200, 'pro']));
      expect(await anvil.transfers()).toHaveLength(clients.length);
    },
    240_000,
  );
}
