const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/;

/** True if a host is this machine: a name or an address, for IPv6 with or without brackets. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}
