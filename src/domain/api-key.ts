import { randomBytes } from 'node:crypto';
import type { InstantMs } from './instant.ts';

/**
 * A key is `br_live_`, 40 base32 characters (200 random bits) and 7 characters of CRC-32 over the text before them.
 * The checksum finds a mistyped key without a look-up; it adds no secrecy.
 * Alphabet: RFC 4648 base32 in lower case.
 */
const PREFIX = 'br_live_';
const ID_PREFIX = 'key_';
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const RANDOM_BYTES = 25;
const CHECKSUM_CHARS = 7;
const PUBLIC_CHARS = 6;

/** A stored key, without the key itself. */
export interface ApiKey {
  /** `key_…`; stays the same through rotations. */
  readonly id: string;
  readonly accountId: number;
  /** The email address of the account. */
  readonly account: string;
  readonly name: string | undefined;
  /** The tier that the key is pinned to; undefined: it has the tier of its account. */
  readonly tier: string | undefined;
  /** Overrides the tier's requests a minute. */
  readonly requestsPerMinute: number | undefined;
  /** Answers to the key have nothing later than this; undefined: no limit. */
  readonly asOfMs: InstantMs | undefined;
  /** The key's first characters: enough to distinguish keys, and no help in guessing one. */
  readonly prefix: string;
  readonly createdMs: number;
  /** The key is refused from then on; undefined: it does not expire. */
  readonly expiresMs: InstantMs | undefined;
  readonly rotatedMs: number | undefined;
  readonly revokedMs: number | undefined;
}

/** A new key with 200 bits from the system's random source. */
export function generateKey(): string {
  const body = PREFIX + base32(bitsOf(randomBytes(RANDOM_BYTES)));
  return body + checksum(body);
}

/** The part of a key that may be shown: its prefix and 6 of its 40 random characters. */
export function publicPrefix(key: string): string {
  return key.slice(0, PREFIX.length + PUBLIC_CHARS);
}

/** A new key id: `key_` and 10 base32 characters (50 random bits). */
export function generateKeyId(): string {
  return `${ID_PREFIX}${base32(bitsOf(randomBytes(7))).slice(0, 10)}`;
}

/** Returns true if `text` begins like a key id; keys begin differently. */
export function isKeyId(text: string): boolean {
  return text.startsWith(ID_PREFIX);
}

function checksum(text: string): string {
  const bits = Bun.hash.crc32(text).toString(2);
  return base32(bits.padStart(5 * CHECKSUM_CHARS, '0'));
}

function bitsOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
}

/** One character per five bits; drops fewer than five at the end. */
function base32(bits: string): string {
  return bits.replace(/(.{5})|.{1,4}$/g, (_, five?: string) => (five ? ALPHABET[Number.parseInt(five, 2)]! : ''));
}
