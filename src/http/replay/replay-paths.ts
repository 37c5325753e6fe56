import { bearer } from '@elysiajs/bearer';
import { type AnyElysia, Elysia } from 'elysia';
import type { Replays } from '../../replay/replays.ts';
import type { Archive } from '../../store/archive.ts';
import { type AccessDeps, admit, type Caller, callerNow, replayIn } from '../plugins/access.ts';
import { REPLAY_PREFIX } from '../routes.ts';
import { gammaController } from './gamma.ts';
import { maySee, type Replayed, refuseUnseen, replayedBy } from './replay-access.ts';
import { type Asking, replaysController } from './replays.ts';
import type { SocketHandlers, Sockets } from './socket.ts';
import { tardisController } from './tardis.ts';
import { venueRestController } from './venue-rest.ts';
import { venueSocketController } from './venue-socket.ts';

/** What a process replays, and who may come. */
export interface ReplayDeps {
  readonly replays: Replays;
  readonly sockets: Sockets;
  /** Whether every request needs a key whose tier grants `replay`; else only this machine may be able to connect. */
  readonly needsKeys: boolean;
}

export interface ReplayPathsDeps extends ReplayDeps {
  readonly archive: Archive;
  readonly accessDeps: AccessDeps;
  /** What stands under /v1, with the gate in front of it. */
  readonly v1: AnyElysia;
  /** Hears why an answer under way broke off for a fault of ours. */
  readonly logCut: (error: unknown, request: Request) => void;
  /** Whether the process is about to end: what is under way is cut, so that nobody takes it for the whole. */
  readonly isDraining: () => boolean;
}

/**
 * All that a process that replays answers beside the API: the venue's paths of the first replay at the root, those of any
 * replay under /replays/{replay}, the API there as well, held to that replay's clock; the list of replays, to steer them; and
 * tardis-machine's paths, each request to which is a replay of its own of all that is recorded.
 */
export function replayPaths(deps: ReplayPathsDeps) {
  const { archive, replays, sockets, accessDeps, v1, logCut, isDraining } = deps;
  /** A socket is asked again whose it is, for as long as it is open. */
  const tokens = new WeakMap<Request, string | undefined>();
  const admitted = ({ request, set, server, token }: Asking): Caller => {
    tokens.set(request, token);
    return admit(accessDeps, request, token, set.headers, server);
  };
  const mayListen = (request: Request, replayed: Replayed) => {
    const by = callerNow(accessDeps, request, tokens.get(request));
    return by !== undefined && maySee(by, replayed);
  };
  // What tardis-machine's paths replay.
  const everything = () => ({ coins: archive.database.read(() => archive.markets.coins()), toMs: Infinity });
  const monotonicMs = () => accessDeps.clocks().monotonicMs;
  const ofReplay = new Elysia({ name: 'of-run' })
    .use(bearer())
    .onBeforeHandle(({ request, set, server, bearer: token, params }) => {
      const by = admitted({ request, set, server, token });
      refuseUnseen(by, replayedBy(replays.find(replayIn(params))));
    })
    .use(
      venueSocketController({
        ...{ replays, sockets, monotonicMs },
        mayListen: (request, replay) => mayListen(request, replayedBy(replay)),
      }),
    )
    .use(venueRestController({ replays }))
    .use(gammaController({ replays }));
  const upgrade: Sockets['upgrade'] = (server, request, handlers) => {
    const replayed = everything();
    const kept: SocketHandlers = { ...handlers, mayListen: () => mayListen(request, replayed) };
    return sockets.upgrade(server, request, kept);
  };
  const ofArchive = new Elysia({ name: 'of-archive' })
    .use(bearer())
    .onBeforeHandle(({ request, set, server, bearer: token }) => {
      const by = admitted({ request, set, server, token });
      refuseUnseen(by, everything());
    })
    .use(
      tardisController({
        ...{ archive, sockets: { upgrade }, queue: replays.queue },
        ...{ clocks: accessDeps.clocks, logCut, isDraining },
      }),
    );
  return new Elysia({ name: 'replay' })
    .use(ofReplay)
    .use(ofArchive)
    .use(new Elysia({ prefix: REPLAY_PREFIX }).use(ofReplay).use(v1))
    .use(replaysController({ replays, admitted }));
}
