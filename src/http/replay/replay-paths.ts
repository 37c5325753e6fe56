import { type AnyElysia, Elysia } from 'elysia';
import type { ClockReading } from '../../domain/rate-window.ts';
import type { Replays } from '../../replay/replays.ts';
import type { Archive } from '../../store/archive.ts';
import { type AccessDeps, replayIn } from '../plugins/access.ts';
import { REPLAY_PREFIX } from '../routes.ts';
import { gammaController } from './gamma.ts';
import { callerPlugin, refuseUnseen, replayedBy } from './replay-access.ts';
import { replaysController } from './replays.ts';
import { lowerUpgrade, type SocketContext, type Sockets } from './socket.ts';
import { tardisController } from './tardis.ts';
import { venueRestController } from './venue-rest.ts';
import { venueSocketController } from './venue-socket.ts';

/** What a process replays, and for whom. */
export interface ReplayDeps {
  readonly replays: Replays;
  readonly sockets: Sockets;
  /** Whether every request needs a key whose tier grants `replay`; else only this machine may be able to connect. */
  readonly needsKeys: boolean;
}

export interface ReplayPathsDeps extends ReplayDeps {
  readonly archive: Archive;
  readonly accessDeps: AccessDeps;
  readonly clocks: () => ClockReading;
  /** Everything under /v1, with its gate. */
  readonly v1: AnyElysia;
  /** Logs why an answer under way broke off for a fault of ours. */
  readonly logCut: (error: unknown, request: Request) => void;
  /** Whether the process is about to end: answers under way are cut, so that nobody takes them for the whole. */
  readonly isDraining: () => boolean;
}

/**
 * The paths that a process that replays adds to the API: the venue's for the first replay at the root, and for any replay under
 * /replays/{replay}, with the API as at that replay's clock; the list of replays, to steer them; and tardis-machine's, where
 * each request is a replay of its own of all that is recorded.
 */
export function replayPaths(deps: ReplayPathsDeps) {
  const { archive, replays, sockets, accessDeps, clocks, v1, logCut, isDraining } = deps;
  const { plugin, mayListen } = callerPlugin(accessDeps);
  // What tardis-machine's paths replay.
  const everything = () => ({ coins: archive.database.read(() => archive.markets.coins()), toMs: Infinity });
  const monotonicMs = () => clocks().monotonicMs;
  const ofReplay = new Elysia({ name: 'of-replay' })
    .use(plugin)
    .onBeforeHandle(({ caller, params }) => refuseUnseen(caller, replayedBy(replays.find(replayIn(params)))))
    .use(
      venueSocketController(replays, sockets, monotonicMs, (request, replay) => mayListen(request, replayedBy(replay))),
    )
    .use(venueRestController({ replays }))
    .use(gammaController({ replays }));
  const watch = ({ request }: SocketContext) => {
    const replayed = everything();
    return () => mayListen(request, replayed);
  };
  const ofArchive = new Elysia({ name: 'of-archive' })
    .use(plugin)
    .onBeforeHandle(({ caller }) => refuseUnseen(caller, everything()))
    .use(
      tardisController({
        ...{ archive, sockets, watch, queue: replays.queue, clients: replays.clients },
        ...{ clocks, logCut, isDraining },
      }),
    );
  return new Elysia({ name: 'replay' })
    .onRequest(lowerUpgrade)
    .use(ofReplay)
    .use(ofArchive)
    .use(new Elysia({ prefix: REPLAY_PREFIX }).use(ofReplay).use(v1))
    .use(replaysController(replays, plugin));
}
