import type { SessionDeps } from '../../replay/clocked-sender.ts';
import type { WorkQueue } from '../../replay/fair-queue.ts';
import type { Replay } from '../../replay/replay.ts';
import type { Replays } from '../../replay/replays.ts';
import { replayIn } from '../plugins/access.ts';
import type { SocketContext, SocketSession, Sockets } from './socket.ts';

export interface ReplaySocketDeps {
  readonly replays: Replays;
  readonly sockets: Sockets;
  readonly monotonicMs: () => number;
  /** The queue for the work of a request's key. */
  readonly queueOf: (request: Request) => WorkQueue;
  /** The id of a request's key; undefined if no key is needed. */
  readonly keyIdOf: (request: Request) => string | undefined;
  /** True if the sender of a request may still listen to a replay. */
  readonly mayListen: (request: Request, replay: Replay) => boolean;
}

/** The hooks of a `.ws()` route whose sockets are clients of the replay in their path. */
export function replaySocketHooks(
  { replays, sockets, monotonicMs, queueOf, keyIdOf, mayListen }: ReplaySocketDeps,
  open: (deps: SessionDeps, context: SocketContext) => SocketSession,
) {
  const replayOf = ({ params }: SocketContext) => replays.find(replayIn(params));
  return sockets.hooks(
    (connection, context) => {
      const replay = replayOf(context);
      const queue = queueOf(context.request);
      const session = open({ replay, connection, queue, monotonicMs, failed: sockets.failed }, context);
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
    keyIdOf,
  );
}
