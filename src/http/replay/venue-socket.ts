import { Elysia } from 'elysia';
import { VenueSession } from '../../replay/clob/venue-session.ts';
import type { Replay } from '../../replay/replay.ts';
import type { Replays } from '../../replay/replays.ts';
import { replayIn } from '../plugins/access.ts';
import { refusePlainGet, type SocketContext, type Sockets } from './socket.ts';

const PATH = '/ws/market';

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
  const replayOf = ({ params }: SocketContext) => replays.find(replayIn(params));
  const hooks = sockets.hooks(
    (connection, context) => {
      const replay = replayOf(context);
      const session = new VenueSession(replay, connection, monotonicMs, sockets.failed);
      replay.clients += 1;
      const leave = replays.clients.join('client', replay.id);
      const closed = () => {
        session.closed();
        replay.clients -= 1;
        leave();
      };
      return { received: (text) => session.received(text), drained: () => session.drained(), closed };
    },
    (context) => {
      const replay = replayOf(context);
      return () => mayListen(context.request, replay);
    },
  );
  return new Elysia({ name: 'venue-socket' }).ws(PATH, hooks).get(PATH, refusePlainGet);
}
