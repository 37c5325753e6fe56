import { isIPv4, isIPv6 } from 'node:net';

const ADDRESS_BITS = 128;
/** An IPv4 address is the last 32 bits of ::ffff:0:0/96 (RFC 4291, 2.5.5.2). */
const MAPPED_BITS = 96;
const MAPPED = 0xffffn;
const PREFIX_LENGTH = /^(?:0|[1-9]\d{0,2})$/;

/** Its 128 bits. An IPv4 address is its IPv4-mapped form: both spellings are one address. */
export type IpAddress = bigint;

/** All addresses whose first `bits` bits are those of `address`, whose other bits are 0. */
export interface IpNetwork {
  readonly address: IpAddress;
  /** 0 … 128; of an IPv4 network, 96 more than it is written with. */
  readonly bits: number;
}

/**
 * IPv4 as four decimals without leading zeros, or IPv6 in any form of RFC 4291, 2.2; undefined for anything else: zones,
 * brackets and ports are no part of an address.
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

/** Of an IPv6 address: RFC 5952, in groups only. */
function canonical(text: string): string {
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

/** The one spelling of an address: RFC 5952, and dotted decimals for IPv4. */
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
 * An address, which is a network of one, or `address/bits`; undefined for anything else, also where a bit after the first
 * `bits` is set: `10.1.2.3/8` means two things.
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

/** Whether `address` is one of `network`. IPv4 addresses are in IPv4 networks only: `::/0` is every address of IPv6. */
export function containsAddress({ address: first, bits }: IpNetwork, address: IpAddress): boolean {
  return networkOf(address, bits) === first && (bits >= MAPPED_BITS || !isIpv4(address));
}
