import { Elysia } from 'elysia';
import { VenueSession } from '../../replay/clob/venue-session.ts';
import type { SessionDeps } from '../../replay/clocked-sender.ts';
import { RtdsSession } from '../../replay/rtds/rtds-session.ts';
import { UserSession } from '../../trading/user-session.ts';
import { type ReplaySocketDeps, replaySocketHooks } from './replay-socket.ts';
import { refusePlainGet, type SocketSession } from './socket.ts';
import type { VenueDeps } from './venue-answer.ts';

/**
 * The venue's market channel, its user channel and RTDS: each socket is a session of the replay that its path names. On a replay that takes
 * no orders the user channel has no messages; it answers a PING.
 */
export function venueSocketController(deps: ReplaySocketDeps, deskOf: VenueDeps['deskOf']) {
  const market = replaySocketHooks(deps, (session) => new VenueSession(session));
  const user = replaySocketHooks(deps, (session) => {
    const desk = deskOf(session.replay);
    return desk === undefined ? silent(session) : new UserSession(session, desk);
  });
  const rtds = replaySocketHooks(deps, (session) => new RtdsSession(session));
  const app = new Elysia({ name: 'venue-socket' });
  for (const [path, hooks] of [
    ['/ws/market', market],
    ['/ws/user', user],
    ['/rtds', rtds],
  ] as const) {
    app.ws(path, hooks).get(path, refusePlainGet);
  }
  // At its own host RTDS has the root; a plain GET of the root has another answer.
  return app.ws('/', rtds);
}

function silent({ connection }: SessionDeps): SocketSession {
  const received = (text: string) => {
    if (text === 'PING') connection.send('PONG');
  };
  return { received, drained: () => {}, closed: () => {} };
}
