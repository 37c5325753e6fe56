import type { Socket, SocketHandler, TCPSocketListener } from 'bun';
import type { RefusalKind } from './refusal.ts';
import { refusalBytes } from './refusal.ts';
import { type Door, Visit, type VisitLimits } from './visit.ts';

export interface ConnectionLimits extends VisitLimits {
  readonly connectionsMax: number;
  /** Of one client address, or of one /64 of IPv6. */
  readonly connectionsPerAddressMax: number;
}

export interface DoorkeeperDeps {
  readonly hostname: string;
  readonly port: number;
  /** Where the server behind listens, on this machine. */
  readonly inner: { readonly hostname: string; readonly port: number };
  readonly limits: ConnectionLimits;
  /** The one spelling of an address, and what its connections are counted under. */
  readonly siteOf: (address: string) => string;
  /** Addresses that many clients share, as those of trusted proxies: only the limit of all connections holds for them. */
  readonly isShared: (address: string) => boolean;
  /** The headers that speak of an address's rate limit, with one request charged to it or none. */
  readonly budgetOf: (address: string, charges: boolean) => Readonly<Record<string, string>>;
  readonly clocks: () => { readonly monotonicMs: number; readonly wallMs: number };
}

/** How often times are looked at; each limit of time is kept to so much. */
const WATCH_MS = 500;
/** Who is turned away is told so, as long as not more than so many are being told. */
const TURNED_AWAY_MAX = 256;

/**
 * Stands in front of a server on this machine and lets clients in: so many connections in all and per address, whole and
 * well-formed requests within a time, readers of a minimum pace. What it refuses it answers itself.
 */
export class Doorkeeper {
  readonly #deps: DoorkeeperDeps;
  readonly #listener: TCPSocketListener<Visit | undefined>;
  readonly #watch: NodeJS.Timeout;
  readonly #visits = new Set<Visit>();
  readonly #turnedAway = new Set<Visit>();
  /** How many connections each site has. */
  readonly #sites = new Map<string, number>();
  /** By the port of our side of the connection to the server behind. */
  readonly #clients = new Map<number, Visit>();
  readonly #door: Door;
  #isDraining = false;

  /** Listens at once. Throws what the system says when that is not possible. */
  constructor(deps: DoorkeeperDeps) {
    this.#deps = deps;
    this.#door = this.#makeDoor();
    this.#listener = Bun.listen<Visit | undefined>({
      hostname: deps.hostname,
      port: deps.port,
      // As with the server behind: a second one on this port is an error.
      exclusive: true,
      socket: this.#clientHandler(),
    });
    this.#watch = setInterval(() => this.#watchAll(), WATCH_MS);
  }

  get port(): number {
    return this.#listener.port;
  }

  /** The client whose request came to the server behind from this port; undefined when it has left, or never was one. */
  clientOf(port: number): string | undefined {
    return this.#clients.get(port)?.address;
  }

  /** Connections that are let in. */
  get connections(): number {
    return this.#visits.size;
  }

  /** Lets nobody in any more, and closes what stands idle. Settles when the requests under way are answered. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#listener.stop(false);
    for (const visit of this.#visits) visit.drain();
    while (this.#visits.size > 0) await Bun.sleep(DRAIN_POLL_MS);
  }

  /** Closes everything at once. */
  stop(): void {
    clearInterval(this.#watch);
    this.#listener.stop(false);
    for (const visit of [...this.#visits, ...this.#turnedAway]) visit.terminate();
  }

  #makeDoor(): Door {
    const { limits, clocks, budgetOf } = this.#deps;
    const isDraining = () => this.#isDraining;
    return {
      limits,
      get isDraining() {
        return isDraining();
      },
      nowMs: () => clocks().monotonicMs,
      refusal: (kind, visit) => refusalBytes(kind, budgetOf(visit.address, isCharged(kind)), clocks().wallMs),
      connectInner: (visit) => this.#connectInner(visit),
      named: (port, visit) => void this.#clients.set(port, visit),
      unnamed: (port, visit) => {
        // The port may be another visit's by now.
        if (this.#clients.get(port) === visit) this.#clients.delete(port);
      },
    };
  }

  #clientHandler(): SocketHandler<Visit | undefined> {
    return {
      open: (socket) => this.#admit(socket as Socket<Visit>),
      data: (socket, bytes) => socket.data?.received(bytes),
      drain: (socket) => socket.data?.drained(),
      close: (socket) => this.#left(socket.data),
      // A reset of the client: its close follows.
      error: () => undefined,
    };
  }

  #connectInner(visit: Visit): void {
    const { hostname, port } = this.#deps.inner;
    Bun.connect<Visit>({
      hostname,
      port,
      data: visit,
      socket: {
        open: (socket) => socket.data.innerOpened(socket),
        data: (socket, bytes) => socket.data.answered(bytes),
        drain: (socket) => socket.data.innerDrained(),
        close: (socket) => socket.data.innerClosed(socket),
        connectError: (socket) => socket.data.innerFailed(),
        error: () => undefined,
      },
    }).catch(() => visit.innerFailed());
  }

  #admit(socket: Socket<Visit>): void {
    const { limits, siteOf, isShared } = this.#deps;
    const address = socket.remoteAddress;
    const site = siteOf(address);
    const visit = new Visit(this.#door, socket, address, site);
    socket.data = visit;
    const ofSite = this.#sites.get(site) ?? 0;
    const isFull =
      this.#visits.size >= limits.connectionsMax || (ofSite >= limits.connectionsPerAddressMax && !isShared(address));
    if (isFull) {
      this.#turnAway(visit);
      return;
    }
    this.#visits.add(visit);
    this.#sites.set(site, ofSite + 1);
  }

  #turnAway(visit: Visit): void {
    if (this.#turnedAway.size >= TURNED_AWAY_MAX) {
      visit.terminate();
      return;
    }
    this.#turnedAway.add(visit);
    visit.refuse('too-many-connections');
  }

  #left(visit: Visit | undefined): void {
    if (visit === undefined) return;
    visit.clientClosed();
    this.#turnedAway.delete(visit);
    if (!this.#visits.delete(visit)) return;
    const left = (this.#sites.get(visit.site) ?? 1) - 1;
    if (left === 0) this.#sites.delete(visit.site);
    else this.#sites.set(visit.site, left);
  }

  #watchAll(): void {
    for (const visit of this.#visits) visit.watch();
    for (const visit of this.#turnedAway) visit.watch();
  }
}

const DRAIN_POLL_MS = 20;

/** What no request came of is not counted as one. */
function isCharged(kind: RefusalKind): boolean {
  return kind !== 'too-many-connections' && kind !== 'unavailable';
}
