import { VenueSession } from '../../src/replay/clob/venue-session.ts';
import type { Connection } from '../../src/replay/connection.ts';
import { FairQueue } from '../../src/replay/fair-queue.ts';
import type { Replay } from '../../src/replay/replay.ts';

/** A connection that records what is sent. A message blocks it if `blocks` then returns true. */
export class RecordingConnection implements Connection {
  readonly frames: string[] = [];
  readonly closings: [number, string][] = [];
  readonly #blocks: () => boolean;
  /** Stays true until a test sets it to false; the test then calls `drained` of the session. */
  isBlocked = false;

  constructor(blocks: () => boolean = () => false) {
    this.#blocks = blocks;
  }

  send(text: string): boolean {
    if (this.closings.length > 0) throw new Error('sent after the close');
    this.frames.push(text);
    this.isBlocked ||= this.#blocks();
    return !this.isBlocked;
  }

  together(work: () => void): void {
    work();
  }

  close(code: number, reason: string): void {
    this.closings.push([code, reason]);
  }
}

/** For sessions whose errors must fail the test. */
export function rethrow(error: unknown): never {
  throw error;
}

/** A client of the market channel whose errors fail the test. */
export function venueSession(
  replay: Replay,
  connection: Connection,
  monotonicMs = () => performance.now(),
  queue = new FairQueue(),
): VenueSession {
  return new VenueSession({ replay, connection, queue, monotonicMs, failed: rethrow });
}
