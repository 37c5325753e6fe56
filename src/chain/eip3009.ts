import { type Hex, parseAbi, parseSignature } from 'viem';
import type { SignedTransfer } from './chain.ts';

/** The part of a token that payments need: EIP-3009, and the domain of its signatures (EIP-712). */
export const TOKEN_ABI = parseAbi([
  'function decimals() view returns (uint8)',
  'function balanceOf(address account) view returns (uint256)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
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

/** The call of the token's contract that makes a transfer. */
export function transferCall(transfer: SignedTransfer) {
  const { from, to, value, validAfter, validBefore, nonce } = authorizationOf(transfer);
  const { r, s, yParity } = parseSignature(transfer.signature as Hex);
  return {
    address: transfer.asset as Hex,
    abi: TOKEN_ABI,
    functionName: 'transferWithAuthorization',
    args: [from, to, value, validAfter, validBefore, nonce, 27 + yParity, r, s],
  } as const;
}
