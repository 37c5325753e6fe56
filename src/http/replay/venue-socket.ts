import { Elysia } from 'elysia';
import { VenueSession } from '../../replay/clob/channel-session.ts';
import type { ReplayRun } from '../../replay/replay.ts';
import type { ReplayRuns } from '../../replay/replays.ts';
import { runIn } from '../plugins/access.ts';
import type { Sockets } from './socket.ts';

export interface VenueSocketDeps {
  readonly runs: ReplayRuns;
  readonly sockets: Sockets;
  readonly monotonicMs: () => number;
  /** Whether who sent a request may still listen to a replay. */
  readonly mayListen: (request: Request, run: ReplayRun) => boolean;
}

/** The venue's market channel: each socket is a session of the replay that its path names. */
export function venueSocketController({ runs, sockets, monotonicMs, mayListen }: VenueSocketDeps) {
  return new Elysia({ name: 'venue-socket' }).get('/ws/market', ({ request, server, params }) => {
    const run = runs.find(runIn(params));
    let session: VenueSession | undefined;
    let leave: (() => void) | undefined;
    return sockets.upgrade(server, request, {
      open: (connection) => {
        leave = runs.joined(run);
        session = new VenueSession(run, connection, monotonicMs, sockets.failed);
      },
      message: (text) => session?.received(text),
      drain: () => session?.drained(),
      close: () => {
        session?.closed();
        leave?.();
      },
      mayListen: () => mayListen(request, run),
    });
  });
}
