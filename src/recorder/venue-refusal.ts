import type { Ask } from './web-connection.ts';

/** The pause after the venue refused the address or limited it. */
export const REFUSED_MS = 60_000;

const REFUSALS: ReadonlyMap<number, VenueRefusal> = new Map([
  [403, { reason: 'the venue refuses this address (403)', pauseMs: REFUSED_MS }],
  [429, { reason: 'the venue limits this address (429)', pauseMs: REFUSED_MS }],
  [425, { reason: 'the venue is restarting (425)', pauseMs: undefined }],
]);

export interface VenueRefusal {
  readonly reason: string;
  /** Undefined: as after any other end. */
  readonly pauseMs: number | undefined;
}

/** Why the venue refuses connections, if it says so. Sockets hide the status of the answer, so it is asked for once more. */
export async function venueRefusal(socketUrl: string, ask: Ask): Promise<VenueRefusal | undefined> {
  try {
    const { status } = await ask(socketUrl.replace(/^ws/, 'http'));
    return REFUSALS.get(status);
  } catch {
    // There is no answer at all: the next attempt may get one.
    return undefined;
  }
}
