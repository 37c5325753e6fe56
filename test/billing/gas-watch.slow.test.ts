import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseEther } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { GasWatch } from '../../src/chain/gas-watch.ts';
import { readPaymentSettings } from '../../src/chain/payment-settings.ts';
import { readSecretFile } from '../../src/store/secret-file.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { runCommand } from '../support/command.ts';
import { type Anvil, HAS_ANVIL, KEYS, NETWORK, startAnvil } from './anvil.ts';
import { writePaymentSettings } from './paid-service.ts';
import { startRpcProxy } from './rpc-proxy.ts';

const GAS = privateKeyToAccount(KEYS.gas).address;

describe.skipIf(!HAS_ANVIL)('The gas of payments (need anvil)', () => {
  let anvil: Anvil;
  beforeAll(async () => {
    anvil = await startAnvil();
  });
  afterAll(async () => await anvil[Symbol.asyncDispose]());

  test('The balance is asked for once a minute, pays for transfers at the price of gas, and is a warning below 50.', async () => {
    using directory = temporaryDirectory();
    await using proxy = startRpcProxy(anvil.rpcUrl);
    const chain = { ...anvil, rpcUrl: proxy.url };
    const settings = readPaymentSettings(writePaymentSettings(directory.path, chain, { currency: 'POL' }));
    let nowMs = 0;
    const gas = new GasWatch(settings, readSecretFile, () => nowMs);
    const price = await anvil.client.getGasPrice();
    const set = async (value: bigint) => await anvil.client.setBalance({ address: GAS, value });
    expect(gas.readings).toEqual([]);
    await set(parseEther('1'));
    await gas.refresh();
    const transfers = Number(parseEther('1') / (100_000n * price));
    const key = { network: NETWORK, name: 'Anvil', currency: 'POL', address: GAS };
    expect(gas.readings).toEqual([{ ...key, balance: 1, transfers, warning: undefined }]);
    const { length } = proxy.calls;
    await set(49n * 100_000n * price);
    nowMs = 59_999;
    await gas.refresh();
    expect([proxy.calls.length, gas.readings[0]!.balance]).toEqual([length, 1]);
    nowMs = 60_000;
    await gas.refresh();
    expect(gas.readings[0]).toMatchObject({ transfers: 49, warning: expect.stringContaining('about 49 more') });
    await set(50n * 100_000n * price);
    nowMs = 120_000;
    await gas.refresh();
    expect(gas.readings[0]).toMatchObject({ transfers: 50, warning: undefined });
    proxy.fail(() => new Response('rpc-secret', { status: 400 }));
    nowMs = 180_000;
    await gas.refresh();
    expect(gas.readings[0]).toMatchObject({ balance: undefined, transfers: undefined });
    expect(gas.readings[0]!.warning).toContain('node does not answer');
    expect(gas.readings[0]!.warning).not.toContain('rpc-secret');
  });

  test('Transfers cost the fee for data on L1 too, on networks that have one (OP stack).', async () => {
    using directory = temporaryDirectory();
    const settings = readPaymentSettings(writePaymentSettings(directory.path, anvil));
    const price = await anvil.client.getGasPrice();
    const fee = 300_000n * price;
    // Returns the fee for any call: PUSH32 fee, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN.
    const bytecode = `0x7f${fee.toString(16).padStart(64, '0')}5f5260205ff3` as const;
    const address = '0x420000000000000000000000000000000000000F';
    await anvil.client.setBalance({ address: GAS, value: 400_000n * price * 60n });
    const transfers = async () => {
      const gas = new GasWatch(settings, readSecretFile, () => 0);
      await gas.refresh();
      return gas.readings[0]!.transfers;
    };
    expect(await transfers()).toBe(240);
    await anvil.client.setCode({ address, bytecode });
    expect(await transfers()).toBe(60);
    // An oracle that refuses, as one before Fjord does: PUSH0, PUSH0, REVERT.
    await anvil.client.setCode({ address, bytecode: '0x5f5ffd' });
    expect(await transfers()).toBe(240);
    await anvil.client.setCode({ address, bytecode: '0x' });
  });

  test('doctor finds a gas key that is almost empty, and a node that does not answer', async () => {
    using directory = temporaryDirectory();
    const doctor = async (rpcUrl: string) => {
      const payments = writePaymentSettings(directory.path, { ...anvil, rpcUrl });
      const { stdout } = await runCommand(['doctor', '--data', directory.path, '--payments', payments]);
      return stdout.split('\n').filter((line) => line.startsWith('payments: '));
    };
    await anvil.client.setBalance({ address: GAS, value: parseEther('1') });
    expect(await doctor(anvil.rpcUrl)).toEqual(['payments: ok']);
    await anvil.client.setBalance({ address: GAS, value: 0n });
    const empty = `the gas key of Anvil pays for about 0 more transfers: send some of the network's currency to ${GAS}`;
    expect(await doctor(anvil.rpcUrl)).toEqual([`payments: ${empty}`]);
    expect(await doctor('http://127.0.0.1:9')).toEqual([expect.stringContaining('its node does not answer')]);
  });
});
