import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Address, createTestClient, type Hex, http, parseAbi, publicActions, walletActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { anvil as chain } from 'viem/chains';
import { startChild } from '../support/child.ts';
import token from './token/token.json';

const BINARY = join(import.meta.dir, '..', '..', 'node_modules', '@foundry-rs', 'anvil-linux-amd64', 'bin', 'anvil');

/** Whether npm has anvil for this machine: tests that need a chain are skipped otherwise. */
export const HAS_ANVIL = existsSync(BINARY) && process.platform === 'linux' && process.arch === 'x64';

/** anvil's own keys, which everybody knows. */
export const KEYS = {
  deployer: '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  customer: '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  gas: '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
  stranger: '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6',
} as const;

export const CUSTOMER = privateKeyToAccount(KEYS.customer);
/** Receives the payments; nobody has its key. */
export const PAY_TO: Address = '0x000000000000000000000000000000000000bEEF';
export const NETWORK = `eip155:${chain.id}`;
const FUNDS = 1_000_000n * 10n ** 6n;

export const TOKEN_ABI = parseAbi([
  'function mint(address to, uint256 value)',
  'function balanceOf(address owner) view returns (uint256)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);

export type Anvil = Awaited<ReturnType<typeof startAnvil>>;

/** A chain of this machine with the token of token/Token.sol, of which the customer has a million. `args` are anvil's. */
export async function startAnvil(args: readonly string[] = []) {
  const child = startChild([BINARY, '--port', '0', ...args]);
  const [, address] = await child.said(/Listening on ([\d.:]+)/);
  const rpcUrl = `http://${address}`;
  const client = createTestClient({ mode: 'anvil', chain, transport: http(rpcUrl), cacheTime: 0, pollingInterval: 20 })
    .extend(publicActions)
    .extend(walletActions);
  const deployer = privateKeyToAccount(KEYS.deployer);
  const mined = (hash: Hex) => client.waitForTransactionReceipt({ hash });
  const deployed = await client.deployContract({ abi: [], bytecode: token.bytecode as Hex, account: deployer, chain });
  const asset = (await mined(deployed)).contractAddress!;
  const write = async (functionName: 'mint', to: Address, value: bigint) =>
    await mined(
      await client.writeContract({
        address: asset,
        abi: TOKEN_ABI,
        functionName,
        args: [to, value],
        account: deployer,
      }),
    );
  await write('mint', CUSTOMER.address, FUNDS);
  return {
    rpcUrl,
    client,
    asset,
    /** The transfers to the service so far. */
    transfers: async () =>
      await client.getContractEvents({
        address: asset,
        abi: TOKEN_ABI,
        eventName: 'Transfer',
        args: { to: PAY_TO },
        fromBlock: 0n,
      }),
    [Symbol.asyncDispose]: async () => await child[Symbol.asyncDispose](),
  };
}
