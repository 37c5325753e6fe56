import { containsAddress, formatIpAddress, type IpNetwork, isIpv4, networkOf, parseIpAddress } from './ip-address.ts';

/** Proxies in a row that are trusted; what is further left in a header is not read. */
const HOPS_MAX = 16;
/** What a network gives to one site: a client of IPv6 has at least so many addresses. */
const IPV6_SITE_BITS = 64;
const UNKNOWN = 'unknown';

/** The server as far as a client's address goes; null when a request is handled without a socket. */
export interface AddressSource {
  requestIP(request: Request): { address: string } | null;
}

/** One element of X-Forwarded-For: an address, and some proxies add the port. */
const FORWARDED_FOR = /^(?:([0-9.]+)(?::\d{1,5})?|\[([0-9A-Fa-f:.]+)\](?::\d{1,5})?|([0-9A-Fa-f:.]+))$/;
/** RFC 7239, 4: `token=value` pairs. A comma within a quoted value is not read, and so ends the walk. */
const PAIRS = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"[^"\\]*")$/;
/** RFC 7239, 6: names in place of addresses (`unknown`, `_hidden`) are no addresses here either. */
const NODE = /^for=(?:([0-9.]+)|"([0-9.]+)(?::\d{1,5})?"|"\[([0-9A-Fa-f:.]+)\](?::\d{1,5})?")$/i;

/**
 * The client's address of a request. If the peer is a trusted proxy, it is the right-most forwarded address that is no
 * trusted proxy itself. What is no address ends the walk at the last good one: the client may have written everything left
 * of it. X-Forwarded-For decides; Forwarded (RFC 7239) is read where there is none, so a client cannot send the one that its
 * proxy does not write. Addresses are in their one spelling (RFC 5952), IPv4 within IPv6 as IPv4.
 */
export class ClientAddresses {
  readonly #trusted: readonly IpNetwork[];

  constructor(trusted: readonly IpNetwork[]) {
    this.#trusted = trusted;
  }

  of(request: Request, server: AddressSource | null): string {
    const peer = this.#peerOf(request, server);
    if (!this.#trusts(peer)) return peer;
    const forwardedFor = request.headers.get('x-forwarded-for');
    if (forwardedFor !== null) return this.#walk(peer, forwardedFor, addressInForwardedFor);
    const forwarded = request.headers.get('forwarded');
    return forwarded === null ? peer : this.#walk(peer, forwarded, addressInForwarded);
  }

  /** Whether a trusted proxy has forwarded the request. */
  isFromProxy(request: Request, server: AddressSource | null): boolean {
    return this.#trusted.length > 0 && this.#trusts(this.#peerOf(request, server));
  }

  #peerOf(request: Request, server: AddressSource | null): string {
    const address = server?.requestIP(request)?.address;
    return address === undefined ? UNKNOWN : canonicalPeer(address);
  }

  #trusts(text: string): boolean {
    if (this.#trusted.length === 0) return false;
    const address = parseIpAddress(text);
    return address !== undefined && this.#trusted.some((network) => containsAddress(network, address));
  }

  /** From the right to the left, as long as each address is that of a trusted proxy. */
  #walk(peer: string, header: string, read: (element: string) => string | undefined): string {
    let client = peer;
    for (const element of header.split(',').slice(-HOPS_MAX).reverse()) {
      const text = read(element.trim());
      const address = text === undefined ? undefined : parseIpAddress(text);
      if (address === undefined) return client;
      client = formatIpAddress(address);
      if (!this.#trusts(client)) return client;
    }
    return client;
  }
}

/** The subject of an address's rate limit: the address, or of IPv6 its /64, in which a client can take any. */
export function budgetSubject(address: string): string {
  if (!address.includes(':')) return address;
  const parsed = parseIpAddress(address);
  if (parsed === undefined || isIpv4(parsed)) return address;
  return `${formatIpAddress(networkOf(parsed, IPV6_SITE_BITS))}/${IPV6_SITE_BITS}`;
}

/** The one spelling of a peer's address as a socket has it: a link-local one may come with its zone. */
function canonicalPeer(address: string): string {
  if (!address.includes(':')) return address;
  const parsed = parseIpAddress(address.replace(/%.*$/s, ''));
  return parsed === undefined ? UNKNOWN : formatIpAddress(parsed);
}

function addressInForwardedFor(element: string): string | undefined {
  const match = FORWARDED_FOR.exec(element);
  return match?.[1] ?? match?.[2] ?? match?.[3];
}

/** `for=` of one element; undefined where that is missing, comes twice, or anything next to it is malformed. */
function addressInForwarded(element: string): string | undefined {
  const pairs = element.split(';');
  if (!pairs.every((pair) => PAIRS.test(pair))) return undefined;
  const nodes = pairs.filter((pair) => /^for=/i.test(pair));
  const match = nodes.length === 1 ? NODE.exec(nodes[0]!) : null;
  return match?.[1] ?? match?.[2] ?? match?.[3];
}
