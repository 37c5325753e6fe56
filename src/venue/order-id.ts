import type { Hex } from 'viem';
import { hashTypedData } from 'viem/utils';
import type { SignedOrder } from './order-body-parser.ts';

/** The chain of the venue's contracts: Polygon. */
export const VENUE_CHAIN = 137;
/** The exchanges of markets without negative risk, by version (py-clob-client-v2, config.py). */
export const EXCHANGES: Readonly<Record<1 | 2, Hex>> = {
  1: '0x4bFb41d5B3570DeFd03C39a9A4D8dE6Bd8B8982E',
  2: '0xE111180000d2663C0091e4f400237545B87B996B',
};
const COMMON = [
  ['salt', 'uint256'],
  ['maker', 'address'],
  ['signer', 'address'],
] as const;
const AMOUNTS = [
  ['tokenId', 'uint256'],
  ['makerAmount', 'uint256'],
  ['takerAmount', 'uint256'],
] as const;
/** The fields of the struct in their order (py-clob-client-v2, ctf_exchange_v1_typed_data.py and ctf_exchange_v2_typed_data.py). */
const STRUCTS: Readonly<Record<1 | 2, readonly (readonly [name: string, type: string])[]>> = {
  1: [
    ...COMMON,
    ['taker', 'address'],
    ...AMOUNTS,
    ['expiration', 'uint256'],
    ['nonce', 'uint256'],
    ['feeRateBps', 'uint256'],
    ['side', 'uint8'],
    ['signatureType', 'uint8'],
  ],
  2: [
    ...COMMON,
    ...AMOUNTS,
    ['side', 'uint8'],
    ['signatureType', 'uint8'],
    ['timestamp', 'uint256'],
    ['metadata', 'bytes32'],
    ['builder', 'bytes32'],
  ],
};

/** The venue's id of an order: the EIP-712 hash of its struct. Clients may have computed it before. */
export function orderId(order: SignedOrder): string {
  const { version } = order;
  const fields = STRUCTS[version].map(([name, type]) => ({ name, type }));
  const side = order.side === 'BUY' ? 0 : 1;
  // Addresses may have any case; the encoder refuses mixed case that is no checksum.
  const [maker, signer, taker] = [order.maker, order.signer, order.taker].map((address) => address.toLowerCase());
  return hashTypedData({
    domain: {
      name: 'Polymarket CTF Exchange',
      version: String(version),
      chainId: VENUE_CHAIN,
      verifyingContract: EXCHANGES[version],
    },
    types: { Order: fields },
    primaryType: 'Order',
    message: { ...order, side, maker, signer, taker },
  });
}
