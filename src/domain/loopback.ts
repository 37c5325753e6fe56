const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/;

/** Returns true for a host that only programs of this machine reach. Such a connection needs no encryption. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Returns true for the host of a URL if it is an IP address and no name. */
export function isAddress(host: string): boolean {
  return /^[\d.]+$|^\[/.test(host);
}
