import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  parseAbi,
  serializeErc6492Signature,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { anvil as chain } from 'viem/chains';
import { type Anvil, KEYS } from './anvil.ts';
import token from './token/token.json';

const ABI = parseAbi([
  'function create(address owner) returns (address)',
  'function addressOf(address owner) view returns (address)',
  'function setBurn(uint256 loops)',
  'function mint(address to, uint256 value)',
]);
const FUNDS = 1_000_000n * 10n ** 6n;

/** A contract that holds money, as token/Token.sol has it. */
export interface SmartWallet {
  readonly address: Address;
  /** Its signature from that of its owner. */
  readonly wrapped: (signature: Hex) => Hex;
}

/** A wallet with a million of the token, at an address where it is not deployed yet. */
export async function smartWallet({ client, asset }: Anvil, owner: Address) {
  const account = privateKeyToAccount(KEYS.deployer);
  const mined = (hash: Hex) => client.waitForTransactionReceipt({ hash });
  const bytecode = token.walletFactory as Hex;
  const factory = (await mined(await client.deployContract({ abi: [], bytecode, account, chain }))).contractAddress!;
  const create = { address: factory, abi: ABI, functionName: 'create', args: [owner] } as const;
  const address = await client.readContract({ ...create, functionName: 'addressOf' });
  await mined(
    await client.writeContract({
      address: asset,
      abi: ABI,
      functionName: 'mint',
      args: [address, FUNDS],
      account,
      chain,
    }),
  );
  const wrapped = (signature: Hex) => encodeAbiParameters([{ type: 'uint256' }, { type: 'bytes' }], [0n, signature]);
  return {
    deployed: { address, wrapped } as SmartWallet,
    /** Signs with the factory's call too (ERC-6492). */
    undeployed: {
      address,
      wrapped: (signature: Hex) =>
        serializeErc6492Signature({
          address: factory,
          data: encodeFunctionData(create),
          signature: wrapped(signature),
        }),
    } as SmartWallet,
    deploy: async () => await mined(await client.writeContract({ ...create, account, chain })),
    /** From now on its check of a signature uses up all gas of a transaction, and little of a call. */
    burnGas: async () =>
      await mined(
        await client.writeContract({ address, abi: ABI, functionName: 'setBurn', args: [10n ** 9n], account, chain }),
      ),
  };
}
