import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { readPaymentSettings } from '../../src/chain/payment-settings.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { writePaymentSettings } from './paid-service.ts';

const asset = `0x${'1'.repeat(40)}`;
const NODE = { rpcUrl: 'http://127.0.0.1:9', asset } as const;

test.each<[string, boolean | undefined, string]>([
  ['eip155:1', undefined, 'Anvil'],
  ['eip155:1', true, 'Anvil (testnet)'],
  ['eip155:84532', undefined, 'Anvil (testnet)'],
  ['eip155:11155111', undefined, 'Anvil (testnet)'],
  ['eip155:84532', false, 'Anvil'],
])('The network %s with testnet %p is named %s.', (network, testnet, name) => {
  using directory = temporaryDirectory();
  const change = { network, ...(testnet === undefined ? {} : { testnet }) };
  const path = writePaymentSettings(directory.path, NODE as never, change);
  expect(readPaymentSettings(path).networks.map((one) => one.name)).toEqual([name]);
});

test.each<[string, boolean]>([
  ['https://scan.example/tx/{hash}', true],
  ['https://scan.example/{hash}?a=b', true],
  ['https://scan.example/tx/', false],
  ['javascript:{hash}', false],
  ['https://scan.example/{hash}/{hash}', false],
])('The explorer %s is accepted: %p', (explorerUrl, isAccepted) => {
  using directory = temporaryDirectory();
  const path = writePaymentSettings(directory.path, NODE as never, { explorerUrl });
  if (isAccepted) expect(readPaymentSettings(path).networks[0]!.explorerUrl).toBe(explorerUrl);
  else expect(() => readPaymentSettings(path)).toThrow('/networks/0/explorerUrl is missing, unknown or malformed');
});

test('The settings that the manual shows are read.', () => {
  using directory = temporaryDirectory();
  const manual = readFileSync(`${import.meta.dir}/../../src/manual/payments.md`, 'utf8');
  const path = `${directory.path}/payments.json`;
  writeFileSync(path, /```json\n([\s\S]*?)```/.exec(manual)![1]!);
  const [network] = readPaymentSettings(path).networks;
  expect(network).toMatchObject({ name: 'Polygon', explorerUrl: 'https://polygonscan.com/tx/{hash}' });
});
