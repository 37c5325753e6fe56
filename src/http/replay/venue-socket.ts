import { Elysia } from 'elysia';
import { VenueSession } from '../../replay/clob/venue-session.ts';
import type { SessionDeps } from '../../replay/clocked-sender.ts';
import { RtdsSession } from '../../replay/rtds/rtds-session.ts';
import { UserSession } from '../../trading/user-session.ts';
import { type ReplaySocketDeps, replaySocketHooks } from './replay-socket.ts';
import { refusePlainGet, type SocketSession } from './socket.ts';
import type { VenueDeps } from './venue-answer.ts';

const MARKET_PATH = '/ws/market';
const USER_PATH = '/ws/user';
const RTDS_PATH = '/rtds';
/** At its own host RTDS has the root; a plain GET of the root has another answer. */
const ROOT = '/';

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
  return new Elysia({ name: 'venue-socket' })
    .ws(MARKET_PATH, market)
    .get(MARKET_PATH, refusePlainGet)
    .ws(USER_PATH, user)
    .get(USER_PATH, refusePlainGet)
    .ws(RTDS_PATH, rtds)
    .get(RTDS_PATH, refusePlainGet)
    .ws(ROOT, rtds);
}

function silent({ connection }: SessionDeps): SocketSession {
  const received = (text: string) => {
    if (text === 'PING') connection.send('PONG');
  };
  return { received, drained: () => {}, closed: () => {} };
}
