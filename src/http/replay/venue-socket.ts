import { Elysia } from 'elysia';
import { VenueSession } from '../../replay/clob/venue-session.ts';
import type { WorkQueue } from '../../replay/fair-queue.ts';
import type { Replay } from '../../replay/replay.ts';
import type { Replays } from '../../replay/replays.ts';
import { replayIn } from '../plugins/access.ts';
import { refusePlainGet, type SocketContext, type Sockets } from './socket.ts';

const PATH = '/ws/market';

interface VenueSocketDeps {
  readonly replays: Replays;
  readonly sockets: Sockets;
  readonly monotonicMs: () => number;
  /** The queue for the work of a request's key. */
  readonly queueOf: (request: Request) => WorkQueue;
  /** Whether the sender of a request may still listen to a replay. */
  readonly mayListen: (request: Request, replay: Replay) => boolean;
}

/** The venue's market channel: each socket is a session of the replay that its path names. */
export function venueSocketController({ replays, sockets, monotonicMs, queueOf, mayListen }: VenueSocketDeps) {
  const replayOf = ({ params }: SocketContext) => replays.find(replayIn(params));
  const hooks = sockets.hooks(
    (connection, context) => {
      const replay = replayOf(context);
      const session = new VenueSession(replay, connection, queueOf(context.request), monotonicMs, sockets.failed);
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
