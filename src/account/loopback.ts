const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Whether a URL's host is this machine, so that a connection without encryption can be read by nobody else. */
export function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.test(hostname);
}
