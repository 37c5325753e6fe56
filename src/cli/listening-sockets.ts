import { dlopen, ptr } from 'bun:ffi';
import { readdirSync, readlinkSync } from 'node:fs';

/** Constants of Linux: asm-generic/socket.h, linux/bpf_common.h. */
const SOL_SOCKET = 1;
const SO_ACCEPTCONN = 30;
const SO_ATTACH_REUSEPORT_CBPF = 51;
const BPF_RET = 0x06;
const INT_BYTES = 4;

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
    const before = socketsOfProcess();
    const owner = listen();
    const opened = [...socketsOfProcess()].filter(([descriptor, inode]) => before.get(descriptor) !== inode);
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
    const isDone = withLibc((libc) => {
      // struct sock_filter { u16 code; u8 jt, jf; u32 k; }: return the index of the socket in the kernel's list.
      const filter = new Uint32Array([BPF_RET, this.#owners.indexOf(newest.owner)]);
      // struct sock_fprog { u16 len; struct sock_filter *filter; }
      const program = new BigUint64Array([1n, BigInt(ptr(filter))]);
      const { byteLength } = program;
      return libc.setsockopt(newest.descriptor, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, ptr(program), byteLength) === 0;
    });
    if (isDone !== true) this.#newest = undefined;
  }
}

/** The sockets of this process by descriptor, with their inodes. Empty on systems without /proc. */
function socketsOfProcess(): ReadonlyMap<number, string> {
  const sockets = new Map<number, string>();
  try {
    for (const name of readdirSync('/proc/self/fd')) {
      const target = linkOf(name);
      if (target.startsWith('socket:')) sockets.set(Number(name), target);
    }
  } catch {
    // There is no /proc.
  }
  return sockets;
}

/** The target of a descriptor's link; empty if the descriptor was closed meanwhile. */
function linkOf(name: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${name}`);
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
