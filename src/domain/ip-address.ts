/** Of IPv6: eight groups of 16 bits. */
const GROUPS = 8;
const GROUP_BITS = 16;
const ADDRESS_BITS = 128;
/** An IPv4 address is the last 32 bits of ::ffff:0:0/96 (RFC 4291, 2.5.5.2). */
const MAPPED_BITS = 96;
const MAPPED_MARK = 0xffff;
const ALL_ONES = 0xffff;

const DECIMAL = /^(?:0|[1-9]\d{0,2})$/;
const GROUP = /^[0-9A-Fa-f]{1,4}$/;
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
  if (!text.includes(':')) {
    const low = parseIpv4(text);
    return low === undefined ? undefined : [0, 0, 0, 0, 0, MAPPED_MARK, ...low];
  }
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0]!, halves.length === 1);
  const tail = halves.length === 1 ? [] : parseGroups(halves[1]!, true);
  if (head === undefined || tail === undefined) return undefined;
  const missing = GROUPS - head.length - tail.length;
  // `::` stands for one group or more.
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  return [...head, ...Array<number>(missing).fill(0), ...tail];
}

function parseIpv4(text: string): [number, number] | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => DECIMAL.test(part) && Number(part) <= 255)) return undefined;
  const [a, b, c, d] = parts.map(Number) as [number, number, number, number];
  return [a * 256 + b, c * 256 + d];
}

/** Groups between colons; the last may be an IPv4 address where the whole ends. */
function parseGroups(text: string, endsAddress: boolean): number[] | undefined {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [index, part] of parts.entries()) {
    if (GROUP.test(part)) {
      groups.push(Number.parseInt(part, 16));
      continue;
    }
    const low = endsAddress && index === parts.length - 1 ? parseIpv4(part) : undefined;
    if (low === undefined) return undefined;
    groups.push(...low);
  }
  return groups;
}

/** The one spelling of an address: RFC 5952, and dotted decimals for IPv4. */
export function formatIpAddress(address: IpAddress): string {
  if (isIpv4(address)) {
    return address
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.');
  }
  const { start, length } = longestZeros(address);
  const hex = address.map((group) => group.toString(16));
  // RFC 5952, 4.2.2: one group of zeros alone is written out.
  if (length < 2) return hex.join(':');
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`;
}

/** The first of the longest runs of zero groups. */
function longestZeros(address: IpAddress): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < GROUPS; start += 1) {
    let length = 0;
    while (address[start + length] === 0) length += 1;
    if (length > best.length) best = { start, length };
  }
  return best;
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
