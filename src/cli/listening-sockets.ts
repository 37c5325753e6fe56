import { dlopen, ptr } from 'bun:ffi';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Constants of Linux: asm-generic/socket.h, linux/bpf_common.h, linux/filter.h. */
const SOL_SOCKET = 1;
const SO_ACCEPTCONN = 30;
const SO_ATTACH_REUSEPORT_CBPF = 51;
const BPF = { load: 0x20, modulo: 0x94, jumpIfAtLeast: 0x35, add: 0x04, returnConstant: 0x06, returnResult: 0x16 };
/** The address of a random number: SKF_AD_OFF + SKF_AD_RANDOM. */
const RANDOM = 0xffff_f038;
/** No index of a socket: the kernel divides connections by their addresses. */
const NO_INDEX = 0xffff_ffff;
const INT_BYTES = 4;
/** The state of a socket that listens, in /proc. */
const LISTENS = '0A';
/** struct sock_filter { u16 code; u8 jt, jf; u32 k; } */
type Instruction = readonly [code: number, k: number, jt?: number, jf?: number];

/**
 * The sockets of this process that listen on one address with SO_REUSEPORT. The newest gets all new connections: by itself the
 * kernel would divide them, and those that a socket has not accepted are lost when it is closed, 5 each time under load. Bun can
 * neither exchange the certificate of a socket nor hand one on.
 */
export class ListeningSockets<Owner> {
  /** In the order of the kernel's list. */
  readonly #owners: Owner[] = [];
  #newest: { readonly owner: Owner; readonly descriptor: number } | undefined;

  /** Opens one more socket. */
  open(listen: () => Owner): Owner {
    const before = socketsOf();
    const owner = listen();
    const opened = [...socketsOf()].filter(([descriptor, inode]) => before.get(descriptor) !== inode);
    this.#owners.push(owner);
    this.#newest = undefined;
    withLibc((libc) => {
      const descriptor = opened.map(([descriptor]) => descriptor).find((descriptor) => isListening(libc, descriptor));
      if (descriptor !== undefined) this.#newest = { owner, descriptor };
    });
    this.#chooseNewest();
    return owner;
  }

  /** Closes a socket with `close`. */
  close(owner: Owner, close: () => void): void {
    const index = this.#owners.indexOf(owner);
    if (this.#newest?.owner === owner) this.#newest = undefined;
    close();
    // The kernel fills the gap with the last one of its list.
    const last = this.#owners.pop()!;
    if (index < this.#owners.length) this.#owners[index] = last;
    this.#chooseNewest();
  }

  /** True if the newest socket gets all new connections, which it does only on Linux with glibc. */
  get isNewestChosen(): boolean {
    return this.#newest !== undefined;
  }

  #chooseNewest(): void {
    const newest = this.#newest;
    if (newest === undefined) return;
    const program: Instruction[] = [[BPF.returnConstant, this.#owners.indexOf(newest.owner)]];
    const isDone = withLibc((libc) => choose(libc, newest.descriptor, program));
    if (isDone !== true) this.#newest = undefined;
  }
}

/**
 * Divides new connections of a port that processes share at random, except for the socket with this place in the kernel's list; undefined:
 * as the kernel does. This process has one of the sockets. Returns false where that cannot be done.
 */
export function spareSocket(place: { readonly index: number; readonly count: number } | undefined): boolean {
  const program: Instruction[] =
    place === undefined
      ? [[BPF.returnConstant, NO_INDEX]]
      : [
          [BPF.load, RANDOM],
          [BPF.modulo, place.count - 1],
          [BPF.jumpIfAtLeast, place.index, 0, 1],
          [BPF.add, 1],
          [BPF.returnResult, 0],
        ];
  return (
    withLibc((libc) => {
      const own = [...socketsOf().keys()].find((descriptor) => isListening(libc, descriptor));
      return own !== undefined && choose(libc, own, program);
    }) === true
  );
}

/** Lets a program choose the socket of each new connection: it returns the index in the kernel's list. */
function choose(libc: Libc, descriptor: number, program: readonly Instruction[]): boolean {
  const filter = new Uint32Array(program.flatMap(([code, k, jt = 0, jf = 0]) => [code | (jt << 16) | (jf << 24), k]));
  // struct sock_fprog { u16 len; struct sock_filter *filter; }
  const given = new BigUint64Array([BigInt(program.length), BigInt(ptr(filter))]);
  return libc.setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, ptr(given), given.byteLength) === 0;
}

/** The sockets of a process by descriptor, with their inodes. Empty on systems without /proc, and if the process has ended. */
function socketsOf(pid: number | 'self' = 'self'): ReadonlyMap<number, string> {
  const sockets = new Map<number, string>();
  try {
    for (const name of readdirSync(`/proc/${pid}/fd`)) {
      const target = linkOf(`/proc/${pid}/fd/${name}`);
      if (target.startsWith('socket:')) sockets.set(Number(name), target);
    }
  } catch {
    // There is no /proc.
  }
  return sockets;
}

/**
 * The connections of a process to a port of its own, by default of this one, those that it has not accepted yet too; 0 on systems without
 * /proc.
 */
export function connectionsTo(port: number, pid: number | 'self' = 'self'): number {
  const own = new Set(socketsOf(pid).values());
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  // proc_pid_net(5): number, local address, remote address, state, queues, timer, retransmissions, user, time-out, inode.
  const lines = [`/proc/${pid}/net/tcp`, `/proc/${pid}/net/tcp6`].flatMap((path) => textOf(path).split('\n'));
  return lines.reduce((sum, line) => {
    const [, address = '', , state, queues = '', , , , , inode] = line.trim().split(/\s+/);
    if (!address.endsWith(local) || !own.has(`socket:[${inode}]`)) return sum;
    // The second queue of a socket that listens has the connections to be accepted.
    return sum + (state === LISTENS ? Number.parseInt(queues.split(':')[1] ?? '0', 16) : 1);
  }, 0);
}

/** Empty for a file that cannot be read. */
export function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The target of a descriptor's link; empty if the descriptor was closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

type Libc = ReturnType<typeof openLibc>['symbols'];

function openLibc() {
  return dlopen('libc.so.6', {
    getsockopt: { args: ['int', 'int', 'int', 'ptr', 'ptr'], returns: 'int' },
    setsockopt: { args: ['int', 'int', 'int', 'ptr', 'u32'], returns: 'int' },
  });
}

/** Calls `work` with glibc; returns undefined where that is not installed. */
function withLibc<T>(work: (libc: Libc) => T): T | undefined {
  let libc: ReturnType<typeof openLibc>;
  try {
    libc = openLibc();
  } catch {
    return undefined;
  }
  try {
    return work(libc.symbols);
  } finally {
    libc.close();
  }
}

function isListening(libc: Libc, descriptor: number): boolean {
  const value = new Int32Array(1);
  const length = new Uint32Array([INT_BYTES]);
  return libc.getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, ptr(value), ptr(length)) === 0 && value[0] === 1;
}
