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
/** The fields of the struct (py-clob-client-v2, ctf_exchange_v1_typed_data.py and ctf_exchange_v2_typed_data.py). */
const AMOUNTS = 'uint256 tokenId,uint256 makerAmount,uint256 takerAmount';
const STRUCTS: Readonly<Record<1 | 2, string>> = {
  1: `uint256 salt,address maker,address signer,address taker,${AMOUNTS},uint256 expiration,uint256 nonce,uint256 feeRateBps,uint8 side,uint8 signatureType`,
  2: `uint256 salt,address maker,address signer,${AMOUNTS},uint8 side,uint8 signatureType,uint256 timestamp,bytes32 metadata,bytes32 builder`,
};

/** The venue's id of an order: the EIP-712 hash of its struct. Clients may have computed it before. */
export function orderId(order: SignedOrder): string {
  const version = order.timestamp === undefined ? 1 : 2;
  const fields = STRUCTS[version].split(',').map((field) => {
    const [type, name] = field.split(' ') as [string, string];
    return { name, type };
  });
  const values: Readonly<Record<string, unknown>> = { ...order, side: order.side === 'BUY' ? 0 : 1 };
  // Addresses may have any case; the encoder refuses mixed case that is no checksum.
  const message = Object.fromEntries(fields.map(({ name }) => [name, String(values[name]).toLowerCase()]));
  const domain = {
    ...{ name: 'Polymarket CTF Exchange', version: String(version) },
    ...{ chainId: VENUE_CHAIN, verifyingContract: EXCHANGES[version] },
  };
  return hashTypedData({ domain, types: { Order: fields }, primaryType: 'Order', message });
}
