import { isLoopback } from '../../domain/loopback.ts';
import type { Admissions } from './admission.ts';
import { containsAddress, formatIpAddress, type IpNetwork, parseIpAddress } from './ip-address.ts';
import { LOOPBACK_HOSTS } from './request-checks.ts';

/** Maximum number of trusted proxies in a row. Addresses further left in a header are not read. */
const HOPS_MAX = 16;
const UNKNOWN = 'unknown';

/** The part of the server that knows the peer's address; null for a request without a socket. */
interface AddressSource {
  requestIP(request: Request): { address: string } | null;
}

/** Headers of proxies and tunnels: such a request may be from another machine. */
const FORWARDED = /^(?:x-forwarded-.+|forwarded|via|x-real-ip|x-client-ip|true-client-ip|cf-connecting-ip|cdn-loop)$/;

/** One element of X-Forwarded-For: an address, from some proxies with a port. */
const FORWARDED_FOR = /^(?:([0-9.]+)(?::\d{1,5})?|\[([0-9A-Fa-f:.]+)\](?::\d{1,5})?|([0-9A-Fa-f:.]+))$/;
/** RFC 7239, 4: `token=value` pairs. Commas in quoted values are not supported: such an element counts as malformed. */
const PAIRS = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"[^"\\]*")$/;
/** RFC 7239, 6, without names in place of addresses (`unknown`, `_hidden`). */
const NODE = /^for=(?:([0-9.]+)|"([0-9.]+)(?::\d{1,5})?"|"\[([0-9A-Fa-f:.]+)\](?::\d{1,5})?")$/i;

/**
 * The client address of a request. If the peer is a trusted proxy, it is the right-most forwarded address that is not itself a
 * trusted proxy. A malformed element ends the search at the address before it: the client may have written everything left of it.
 * Forwarded (RFC 7239) is only read without X-Forwarded-For. Addresses have their canonical spelling (RFC 5952); IPv4-mapped IPv6
 * addresses are IPv4 addresses.
 */
export class ClientAddresses {
  readonly #trusted: readonly IpNetwork[];
  readonly #server: () => AddressSource | null;
  /** Requests that this process sends itself for those of clients. */
  readonly #senders = new WeakMap<Request, Request>();

  /** The admissions of nodes, which state the addresses of their clients; undefined: there are no nodes. */
  readonly admissions: Admissions | undefined;

  /** `server`: the one that listens now; null while none does. */
  constructor(trusted: readonly IpNetwork[], server: () => AddressSource | null, admissions?: Admissions) {
    this.#trusted = trusted;
    this.#server = server;
    this.admissions = admissions;
  }

  of(request: Request): string {
    const admission = this.#admissionOf(request);
    if (admission !== undefined) return admission.address;
    const peer = this.#peerOf(request);
    if (!this.#trusts(peer)) return peer;
    const forwardedFor = request.headers.get('x-forwarded-for');
    if (forwardedFor !== null) return this.#walk(peer, forwardedFor, addressInForwardedFor);
    const forwarded = request.headers.get('forwarded');
    return forwarded === null ? peer : this.#walk(peer, forwarded, addressInForwarded);
  }

  /** Gives a request that this process sends itself the peer of the one that it is sent for. */
  sendFor(request: Request, sender: Request): void {
    this.#senders.set(request, sender);
  }

  /** Returns true if a trusted proxy or a node has forwarded the request. */
  isFromProxy(request: Request): boolean {
    if (this.#admissionOf(request) !== undefined) return true;
    return this.#trusted.length > 0 && this.#trusts(this.#peerOf(request));
  }

  /**
   * Returns true if a program of this machine sent the request to an address of this machine, and nothing has forwarded it. A page under
   * another name that resolves to this machine has that name as Host. Where proxies are trusted, nothing is certain.
   */
  isOfThisMachine(request: Request): boolean {
    const { headers } = request;
    const host = (headers.get('host') ?? '').replace(/:\d+$/, '').toLowerCase();
    // By default nginx adds nothing else, and sends the address of this server as Host. Browsers keep connections.
    const isForwarded =
      headers.get('connection') === 'close' || [...headers.keys()].some((name) => FORWARDED.test(name));
    const mayBeForwarded = isForwarded || this.#trusted.length > 0 || this.#admissionOf(request) !== undefined;
    return !mayBeForwarded && LOOPBACK_HOSTS.includes(host) && isLoopback(this.#peerOf(request));
  }

  #admissionOf(request: Request) {
    return this.admissions?.of(this.#senders.get(request) ?? request);
  }

  #peerOf(request: Request): string {
    const address = this.#server()?.requestIP(this.#senders.get(request) ?? request)?.address;
    return address === undefined ? UNKNOWN : canonicalPeer(address);
  }

  #trusts(text: string): boolean {
    if (this.#trusted.length === 0) return false;
    const address = parseIpAddress(text);
    return address !== undefined && this.#trusted.some((network) => containsAddress(network, address));
  }

  /** Reads addresses from right to left while they are addresses of trusted proxies. */
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

/** The canonical spelling of a peer's address. The socket's link-local addresses may have a zone. */
function canonicalPeer(address: string): string {
  if (!address.includes(':')) return address;
  const parsed = parseIpAddress(address.replace(/%.*$/s, ''));
  return parsed === undefined ? UNKNOWN : formatIpAddress(parsed);
}

function addressInForwardedFor(element: string): string | undefined {
  const match = FORWARDED_FOR.exec(element);
  return match?.[1] ?? match?.[2] ?? match?.[3];
}

/** The address in `for=` of an element; undefined if it is missing or repeated, or if the element is malformed. */
function addressInForwarded(element: string): string | undefined {
  const pairs = element.split(';');
  if (!pairs.every((pair) => PAIRS.test(pair))) return undefined;
  const nodes = pairs.filter((pair) => /^for=/i.test(pair));
  const match = nodes.length === 1 ? NODE.exec(nodes[0]!) : null;
  return match?.[1] ?? match?.[2] ?? match?.[3];
}
