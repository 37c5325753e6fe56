import { type Abi, type Hex, parseAbi, parseErc6492Signature, parseSignature } from 'viem';
import type { SignedTransfer } from './chain.ts';

/**
 * The part of a token that payments need: EIP-3009, and the domain of its signatures (EIP-712). Tokens that take signatures of contracts have
 * a second transferWithAuthorization, as USDC has since 2.2. And the check of a signature by a contract (EIP-1271).
 */
export const TOKEN_ABI = parseAbi([
  'function decimals() view returns (uint8)',
  'function balanceOf(address account) view returns (uint256)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
  'function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);

/** The message that a payer signs. */
export function authorizationOf({ payer, payTo, amount, validAfter, validBefore, nonce }: SignedTransfer) {
  return {
    from: payer as Hex,
    to: payTo as Hex,
    value: amount,
    validAfter: BigInt(validAfter),
    validBefore: BigInt(validBefore),
    nonce: nonce as Hex,
  };
}

/** r, s and v of a key's signature. */
const OF_KEY = /^0x[0-9a-f]{128}(?:0[01]|1[bc])$/;

/** Gas that a transfer may use: a check by passkey uses 350,000. A wallet of an attacker could use up that of a whole block. */
export const GAS_MAX = 500_000n;

/** The signature that the token's contract gets: without the call that deploys a wallet (ERC-6492). */
export function bareSignature({ signature }: Pick<SignedTransfer, 'signature'>): Hex {
  try {
    return parseErc6492Signature(signature as Hex).signature;
  } catch {
    // Other bytes before the mark of ERC-6492: nobody has signed with them.
    return signature as Hex;
  }
}

/** Returns true if only a contract can have made a signature. */
export function isOfContract(transfer: Pick<SignedTransfer, 'signature'>): boolean {
  return !OF_KEY.test(bareSignature(transfer));
}

type ContractCall = {
  readonly address: Hex;
  readonly abi: Abi;
  readonly functionName: string;
  readonly args: unknown[];
};

/** The call of the token's contract that makes a transfer. */
export function transferCall(transfer: SignedTransfer): ContractCall {
  const { from, to, value, validAfter, validBefore, nonce } = authorizationOf(transfer);
  const signature = bareSignature(transfer);
  const call = { address: transfer.asset as Hex, abi: TOKEN_ABI, functionName: 'transferWithAuthorization' };
  const message = [from, to, value, validAfter, validBefore, nonce];
  if (isOfContract(transfer)) return { ...call, args: [...message, signature] };
  const { r, s, yParity } = parseSignature(signature);
  return { ...call, args: [...message, 27 + yParity, r, s] };
}
