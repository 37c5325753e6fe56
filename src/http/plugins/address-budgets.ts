import {
  type Allowance,
  type ClockReading,
  RateWindows,
  type Subject,
  type Windows,
} from '../../domain/rate-window.ts';
import { ADDRESS_BITS, parseIpAddress } from './ip-address.ts';

/** Allowed requests per minute of an IPv4 address, or of the /64 of an IPv6 address: a site can use all addresses of its /64. */
const CLIENT_REQUESTS_PER_MINUTE = 600;
/** Allowed requests per minute of a /24, or of the /48 of an IPv6 address: many sites get a whole /48. */
const NETWORK_REQUESTS_PER_MINUTE = 2400;
const IPV6_CLIENT_BITS = 64;
const IPV6_NETWORK_BITS = 48;
/** Maximum number of windows in each of the four tables. */
const WINDOWS_MAX = 32_768;

/** The limit that leaves fewer requests: that of an address or that of its network. */
export interface AddressAllowance extends Allowance {
  readonly isNetwork: boolean;
}

interface Tables {
  readonly clients: Windows;
  readonly networks: Windows;
}

/** The subjects of an address's two limits. */
interface Subjects {
  readonly isIpv6: boolean;
  readonly client: string;
  readonly network: string;
}

/**
 * Limits of client addresses and of their networks. A request counts for both, unless one of them is used up. Each network starts
 * at most 2,400 windows of clients per minute. IPv4, IPv6, clients and networks have separate tables: many clients of one network
 * cannot make it lose the window of that network.
 */
export class AddressBudgets {
  readonly #ipv4: Tables;
  readonly #ipv6: Tables;

  /** `windowsFor`: makes the windows of this number of subjects. */
  constructor(windowsFor = (subjectsMax: number): Windows => new RateWindows(subjectsMax)) {
    const tables = () => ({ clients: windowsFor(WINDOWS_MAX), networks: windowsFor(WINDOWS_MAX) });
    [this.#ipv4, this.#ipv6] = [tables(), tables()];
  }

  /** Counts one request. `address` has its canonical spelling. */
  charge(address: string, now: ClockReading): AddressAllowance {
    const subjects = subjectsOf(address);
    const before = this.#allowance(subjects, now, 'peek');
    return before.allowed ? this.#allowance(subjects, now, 'charge') : before;
  }

  /** The state of the limits, without counting a request. */
  peek(address: string, now: ClockReading): AddressAllowance {
    return this.#allowance(subjectsOf(address), now, 'peek');
  }

  /** Number of windows, for the test of the bound. */
  get size(): number {
    return [this.#ipv4, this.#ipv6].reduce((sum, { clients, networks }) => sum + clients.size + networks.size, 0);
  }

  #allowance({ isIpv6, client, network }: Subjects, now: ClockReading, method: 'charge' | 'peek'): AddressAllowance {
    const { clients, networks } = isIpv6 ? this.#ipv6 : this.#ipv4;
    const ofClient = clients[method](client, CLIENT_REQUESTS_PER_MINUTE, now);
    const ofNetwork = networks[method](network, NETWORK_REQUESTS_PER_MINUTE, now);
    return tighter(ofClient, ofNetwork);
  }
}

/** The tighter of two allowances of an address: that of its own limit and that of its network. */
export function tighter(ofClient: Allowance, ofNetwork: Allowance): AddressAllowance {
  // If both are used up, the client must wait for the later end.
  const difference =
    ofClient.remaining - ofNetwork.remaining || ofNetwork.retryAfterSeconds - ofClient.retryAfterSeconds;
  return difference > 0 ? { ...ofNetwork, isNetwork: true } : { ...ofClient, isNetwork: false };
}

/** An address and its network as subjects of windows of several servers. `kind`: begins their names. */
export function commonSubjects(kind: string, address: string): readonly Subject[] {
  const { client, network } = subjectsOf(address);
  return [
    { name: `${kind}:${client}`, limit: CLIENT_REQUESTS_PER_MINUTE },
    { name: `${kind}-net:${network}`, limit: NETWORK_REQUESTS_PER_MINUTE },
  ];
}

/** The names under which an address and its network are counted. `address` has its canonical spelling. */
export function subjectsOf(address: string): Subjects {
  // An unknown address is counted with IPv4.
  if (!address.includes(':')) return { isIpv6: false, client: address, network: address.replace(/\.\d+$/, '') };
  const parsed = parseIpAddress(address)!;
  // Hexadecimal digits take less time than the canonical spelling.
  const first = (bits: number) => (parsed >> BigInt(ADDRESS_BITS - bits)).toString(16);
  return { isIpv6: true, client: first(IPV6_CLIENT_BITS), network: first(IPV6_NETWORK_BITS) };
}
