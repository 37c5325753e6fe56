/** Thrown through codecs when an import is stopped. */
export class Stopped extends Error {}

export function throwIfStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new Stopped();
}
