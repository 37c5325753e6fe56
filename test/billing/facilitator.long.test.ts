import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { printed, runExecutable, startServer } from '../support/executable.ts';
import { type Anvil, HAS_ANVIL, NETWORK, startAnvil } from './anvil.ts';
import { startFacilitator } from './facilitator.ts';
import { writePaymentSettings } from './paid-service.ts';
import { buy, tierOf } from './payer.ts';

const KEY = 'facilitator-secret';

describe.skipIf(!HAS_ANVIL)('a facilitator (needs anvil)', () => {
  let anvil: Anvil;
  beforeAll(async () => {
    anvil = await startAnvil();
  });
  afterAll(async () => await anvil[Symbol.asyncDispose]());

  /** A data directory with a price for pro and a key, and payments through a facilitator. `key`: the content of the file of its key. */
  const prepared = async (path: string, facilitatorUrl: string, key: string | undefined) => {
    const data = join(path, 'data');
    await printed(['tier', 'set', 'pro', '--price', '49.5', '--data', data]);
    const issued = await printed(['key', 'create', '--account', 'customer@example.com', '--json', '--data', data]);
    const facilitatorKeyFile = join(path, 'facilitator-key');
    if (key !== undefined) writeFileSync(facilitatorKeyFile, `${key}\n`, { mode: 0o600 });
    const change = key === undefined ? { facilitatorUrl } : { facilitatorUrl, facilitatorKeyFile };
    return { data, key: JSON.parse(issued).key as string, payments: writePaymentSettings(path, anvil, change) };
  };

  test('is sent its key, settles a purchase, and its key is in no output and no file but its own', async () => {
    await using facilitator = await startFacilitator('answer', { key: KEY });
    facilitator.serve(anvil.rpcUrl);
    using directory = temporaryDirectory();
    const { data, key, payments } = await prepared(directory.path, facilitator.url, KEY);
    const settings = ['--payments', payments, '--data', data];
    expect((await runExecutable(['config', 'check', ...settings])).code).toBe(0);
    await using server = await startServer(data, ['--payments', payments]);
    const client = { origin: server.origin, key };
    expect([(await buy(client)).status, await tierOf(client), facilitator.refusals]).toEqual([200, 'pro', []]);
    await server.stop();
    expect(await server.log).not.toContain(KEY);
    expect((await runExecutable(['billing', 'list', '--data', data])).stdout).not.toContain(KEY);
  });

  const OTHER = { x402Version: 2, scheme: 'exact', network: 'eip155:1' };
  test.each<[string, object, string | undefined, string]>([
    ['another network', { kinds: [OTHER] }, undefined, `does not support ${NETWORK}`],
    [
      'version 1 only',
      { kinds: [{ ...OTHER, network: NETWORK, x402Version: 1 }] },
      undefined,
      `does not support ${NETWORK}`,
    ],
    ['another scheme', { kinds: [{ ...OTHER, network: NETWORK, scheme: 'upto' }] }, undefined, 'does not support'],
    ['no key', { key: KEY }, undefined, 'refuses the key'],
    ['another key', { key: 'other' }, KEY, 'refuses the key'],
  ])(
    'with %s keeps the server from starting; config check and doctor have the same sentence',
    async (_, of, key, text) => {
      await using facilitator = await startFacilitator('answer', of);
      facilitator.serve(anvil.rpcUrl);
      using directory = temporaryDirectory();
      const { data, payments } = await prepared(directory.path, facilitator.url, key);
      const settings = ['--payments', payments, '--data', data];
      const outputs = await Promise.all([
        runExecutable(['serve', '--port', '0', ...settings]).then(({ code, stderr }) => [code, stderr]),
        runExecutable(['config', 'check', ...settings]).then(({ code, stderr }) => [code, stderr]),
        runExecutable(['doctor', ...settings]).then(({ code, stdout }) => [code, stdout]),
      ]);
      const sentence = expect.stringContaining(`the facilitator of Anvil ${text}`);
      expect(outputs).toEqual([
        [2, sentence],
        [2, sentence],
        [3, sentence],
      ]);
      expect(JSON.stringify(outputs)).not.toContain(KEY);
    },
  );

  test('that does not answer does not keep the server from starting, and is logged', async () => {
    using directory = temporaryDirectory();
    const { data, payments } = await prepared(directory.path, 'http://127.0.0.1:9', undefined);
    expect((await runExecutable(['config', 'check', '--payments', payments, '--data', data])).code).toBe(0);
    await using server = await startServer(data, ['--payments', payments]);
    await server.stop();
    expect(await server.log).toContain('the facilitator of Anvil does not list its networks (no answer)');
  });
});
