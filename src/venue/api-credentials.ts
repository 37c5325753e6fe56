import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Hex } from 'viem';
import { recoverTypedDataAddress } from 'viem/utils';
import { VENUE_CHAIN } from './order-id.ts';

/** An API key of the venue (py-clob-client-v2, ApiCreds). */
export interface ApiCredentials {
  /** A UUID. */
  readonly apiKey: string;
  /** Base64 for URLs, of 32 bytes. */
  readonly secret: string;
  readonly passphrase: string;
}

/** The headers by which a wallet asks for a key (level 1). */
export interface WalletHeaders {
  readonly address: string;
  readonly signature: string;
  /** Seconds. */
  readonly timestamp: string;
  readonly nonce: string;
}

/** The venue's test chain is accepted too: its clients sign for it when they are set to it. */
const CHAINS = [VENUE_CHAIN, 80_002];
const MESSAGE = 'This message attests that I control the given wallet';
const TYPES = {
  ClobAuth: [
    { name: 'address', type: 'address' },
    { name: 'timestamp', type: 'string' },
    { name: 'nonce', type: 'uint256' },
    { name: 'message', type: 'string' },
  ],
} as const;
const OF_KEY = /^0x[0-9a-f]{130}$/i;
const UUID = /^(.{8})(.{4})(.{4})(.{4})(.{12})/;

const SECRET = randomBytes(32);

/** The same for the same address and nonce in one process; no one else can compute them. */
export function credentialsOf(address: string, nonce: string): ApiCredentials {
  const digest = (part: string) =>
    createHmac('sha256', SECRET).update(`${part} ${address.toLowerCase()} ${nonce}`).digest();
  const [, ...groups] = UUID.exec(digest('key').toString('hex'))!;
  return {
    apiKey: groups.join('-'),
    // Padded, as the venue's are.
    secret: `${digest('secret').toString('base64url')}=`,
    passphrase: digest('passphrase').toString('hex'),
  };
}

/** True if the wallet of `address` signed the headers (py-clob-client-v2, signing/eip712.py). */
export async function isSignedByWallet({ address, signature, timestamp, nonce }: WalletHeaders): Promise<boolean> {
  if (!OF_KEY.test(signature)) return false;
  const message = { address: address.toLowerCase() as Hex, timestamp, nonce: BigInt(nonce), message: MESSAGE };
  for (const chainId of CHAINS) {
    const signed = { domain: { name: 'ClobAuthDomain', version: '1', chainId }, types: TYPES, message } as const;
    try {
      const signer = await recoverTypedDataAddress({ ...signed, primaryType: 'ClobAuth', signature: signature as Hex });
      if (signer.toLowerCase() === address.toLowerCase()) return true;
    } catch {
      // The signature has no public key: nobody signed this.
      return false;
    }
  }
  return false;
}

/** True if `signature` is the HMAC of `message` with a secret (py-clob-client-v2, signing/hmac.py): base64 of either alphabet. */
export function isSignedByKey({ secret }: ApiCredentials, message: string, signature: string): boolean {
  const expected = createHmac('sha256', Buffer.from(secret, 'base64url')).update(message).digest();
  const given = Buffer.from(signature, 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
