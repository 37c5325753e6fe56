import { Elysia } from 'elysia';
import { VenueSession } from '../../replay/clob/venue-session.ts';
import type { Connection } from '../../replay/connection.ts';
import type { Replay } from '../../replay/replay.ts';
import type { Replays } from '../../replay/replays.ts';
import { replayIn } from '../plugins/access.ts';
import type { Sockets } from './socket.ts';

/**
 * The venue's market channel: each socket is a session of the replay that its path names. `mayListen`: whether the sender of a
 * request may still listen to a replay.
 */
export function venueSocketController(
  replays: Replays,
  sockets: Sockets,
  monotonicMs: () => number,
  mayListen: (request: Request, replay: Replay) => boolean,
) {
  return new Elysia({ name: 'venue-socket' }).get('/ws/market', ({ request, server, params }) => {
    const replay = replays.find(replayIn(params));
    const open = (connection: Connection) => {
      const session = new VenueSession(replay, connection, monotonicMs, sockets.failed);
      replay.clients += 1;
      const closed = () => {
        session.closed();
        replay.clients -= 1;
      };
      return { received: (text: string) => session.received(text), drained: () => session.drained(), closed };
    };
    return sockets.upgrade(server, request, open, () => mayListen(request, replay));
  });
}
