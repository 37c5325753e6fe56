import { isIPv4, isIPv6 } from 'node:net';

export const ADDRESS_BITS = 128;
/** An IPv4 address is the last 32 bits of ::ffff:0:0/96 (RFC 4291, 2.5.5.2). */
const MAPPED_BITS = 96;
const MAPPED = 0xffffn;
const PREFIX_LENGTH = /^(?:0|[1-9]\d{0,2})$/;

/** 128 bits. An IPv4 address is stored as its IPv4-mapped IPv6 address. */
export type IpAddress = bigint;

/** All addresses with the first `bits` bits of `address`. The other bits of `address` are 0. */
export interface IpNetwork {
  readonly address: IpAddress;
  /** 0 … 128. For an IPv4 network, 96 more than its written prefix length. */
  readonly bits: number;
}

/**
 * Reads IPv4 as four decimals without leading zeros, or IPv6 in any notation of RFC 4291, 2.2. Undefined for anything else,
 * including zones, brackets and ports.
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (isIPv4(text)) return text.split('.').reduce((bits, byte) => (bits << 8n) | BigInt(byte), MAPPED);
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const [head = [], tail = []] = canonical(text)
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
  return BigInt(`0x${groups.map((group) => group.padStart(4, '0')).join('')}`);
}

/** The canonical spelling of an IPv6 address (RFC 5952), without dotted decimals. */
function canonical(text: string): string {
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

/** The canonical spelling of an address: RFC 5952, and dotted decimals for IPv4. */
export function formatIpAddress(address: IpAddress): string {
  if (isIpv4(address)) return [24n, 16n, 8n, 0n].map((shift) => (address >> shift) & 255n).join('.');
  return canonical(
    address
      .toString(16)
      .padStart(32, '0')
      .replace(/(?<=.)(?=(?:.{4})+$)/g, ':'),
  );
}

export function isIpv4(address: IpAddress): boolean {
  return address >> 32n === MAPPED;
}

/**
 * Reads `address/bits`, or an address as a network of one. Undefined for anything else, and if a bit after the first `bits` is set:
 * `10.1.2.3/8` is ambiguous.
 */
export function parseIpNetwork(text: string): IpNetwork | undefined {
  const [name = '', length, ...rest] = text.split('/');
  const address = parseIpAddress(name);
  if (address === undefined || rest.length > 0) return undefined;
  if (length === undefined) return { address, bits: ADDRESS_BITS };
  if (!PREFIX_LENGTH.test(length)) return undefined;
  const bits = Number(length) + (name.includes(':') ? 0 : MAPPED_BITS);
  return bits <= ADDRESS_BITS && networkOf(address, bits) === address ? { address, bits } : undefined;
}

/** The first `bits` bits of an address, the others 0. */
export function networkOf(address: IpAddress, bits: number): IpAddress {
  const rest = BigInt(ADDRESS_BITS - bits);
  return (address >> rest) << rest;
}

/** Returns true if a network contains an address. IPv6 networks contain no IPv4 addresses, not even `::/0`. */
export function containsAddress({ address: first, bits }: IpNetwork, address: IpAddress): boolean {
  return networkOf(address, bits) === first && (bits >= MAPPED_BITS || !isIpv4(address));
}
