const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Whether a URL's host is this machine: such a connection needs no encryption. */
export function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.test(hostname);
}
