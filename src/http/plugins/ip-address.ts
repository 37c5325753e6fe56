import { isIPv4, isIPv6 } from 'node:net';

/** Of IPv6: eight groups of 16 bits. */
const GROUPS = 8;
const GROUP_BITS = 16;
const ADDRESS_BITS = 128;
/** An IPv4 address is the last 32 bits of ::ffff:0:0/96 (RFC 4291, 2.5.5.2). */
const MAPPED_BITS = 96;
const MAPPED_MARK = 0xffff;
const ALL_ONES = 0xffff;

const PREFIX_LENGTH = /^(?:0|[1-9]\d{0,2})$/;

/** Eight groups, the first one first. An IPv4 address is its IPv4-mapped form: both spellings are one address. */
export type IpAddress = readonly number[];

/** All addresses whose first `bits` bits are those of `address`, whose other bits are 0. */
export interface IpNetwork {
  readonly address: IpAddress;
  /** 0 … 128; of an IPv4 network, 96 more than it is written with. */
  readonly bits: number;
}

/**
 * IPv4 as four decimals without leading zeros, or IPv6 in any form of RFC 4291, 2.2; undefined for anything else: zones,
 * brackets and ports are none of an address.
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (isIPv4(text)) {
    const [a, b, c, d] = text.split('.').map(Number) as [number, number, number, number];
    return [0, 0, 0, 0, 0, MAPPED_MARK, a * 256 + b, c * 256 + d];
  }
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const [head, tail = []] = canonical(text).split('::').map(groupsOf);
  const missing = GROUPS - head!.length - tail.length;
  return [...head!, ...Array<number>(missing).fill(0), ...tail];
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

/** Of an IPv6 address: RFC 5952, in groups only. */
function canonical(text: string): string {
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

/** The one spelling of an address: RFC 5952, and dotted decimals for IPv4. */
export function formatIpAddress(address: IpAddress): string {
  if (!isIpv4(address)) return canonical(address.map((group) => group.toString(16)).join(':'));
  return address
    .slice(6)
    .flatMap((group) => [group >> 8, group & 255])
    .join('.');
}

export function isIpv4(address: IpAddress): boolean {
  return address[5] === MAPPED_MARK && address.slice(0, 5).every((group) => group === 0);
}

/**
 * An address, which is a network of one, or `address/bits`; undefined for anything else, also where a bit behind the first
 * `bits` is set: `10.1.2.3/8` says two things.
 */
export function parseIpNetwork(text: string): IpNetwork | undefined {
  const slash = text.indexOf('/');
  const name = slash < 0 ? text : text.slice(0, slash);
  const address = parseIpAddress(name);
  if (address === undefined) return undefined;
  if (slash < 0) return { address, bits: ADDRESS_BITS };
  const written = text.slice(slash + 1);
  if (!PREFIX_LENGTH.test(written)) return undefined;
  const bits = Number(written) + (name.includes(':') ? 0 : MAPPED_BITS);
  if (bits > ADDRESS_BITS) return undefined;
  return networkOf(address, bits).every((group, index) => group === address[index]) ? { address, bits } : undefined;
}

/** The first `bits` bits of an address, the others 0. */
export function networkOf(address: IpAddress, bits: number): IpAddress {
  return address.map((group, index) => group & maskOf(bits - index * GROUP_BITS));
}

/** A mask of one group with its first `bits` bits set. */
function maskOf(bits: number): number {
  const set = Math.max(0, Math.min(GROUP_BITS, bits));
  return ALL_ONES & ~(ALL_ONES >> set);
}

/** Whether `address` is one of `network`. IPv4 addresses are in IPv4 networks only: `::/0` is every address of IPv6. */
export function containsAddress(network: IpNetwork, address: IpAddress): boolean {
  if (isIpv4(address) && network.bits < MAPPED_BITS) return false;
  return network.address.every(
    (group, index) => ((group ^ address[index]!) & maskOf(network.bits - index * GROUP_BITS)) === 0,
  );
}
