import { type AnyElysia, Elysia } from 'elysia';
import type { ClockReading } from '../../domain/rate-window.ts';
import { GammaCatalog } from '../../replay/gamma/catalog.ts';
import type { Replay } from '../../replay/replay.ts';
import type { Replays } from '../../replay/replays.ts';
import type { Archive } from '../../store/archive.ts';
import type { PaperDesk } from '../../trading/paper-desk.ts';
import type { PaperDesks } from '../../trading/paper-desks.ts';
import { VenueDesk } from '../../trading/venue-desk.ts';
import { type AccessDeps, replayIn } from '../plugins/access.ts';
import { binanceController } from './binance.ts';
import { dataApiController } from './data-api.ts';
import { gammaController } from './gamma.ts';
import { callerPlugin, refuseWithoutAccess, scopeOf } from './replay-access.ts';
import type { ReplaySocketDeps } from './replay-socket.ts';
import { replaysController } from './replays.ts';
import { siteController } from './site.ts';
import { lowerUpgrade, type SocketContext, type Sockets } from './socket.ts';
import { tardisController } from './tardis.ts';
import type { VenueDeps } from './venue-answer.ts';
import { venueOrdersController } from './venue-orders.ts';
import { venueRestController } from './venue-rest.ts';
import { venueSocketController } from './venue-socket.ts';

const REPLAY_PREFIX = '/replays/:replay';

/** The replays of a process, and whether a key is needed for them. */
export interface ReplayDeps {
  readonly replays: Replays;
  /** The accounts of those that have some. */
  readonly desks: PaperDesks;
  readonly sockets: Sockets;
  /** True if every request needs a key whose tier grants `replay`. If not, only this machine may be able to connect. */
  readonly needsKeys: boolean;
}

export interface ReplayPathsDeps extends ReplayDeps {
  readonly archive: Archive;
  readonly accessDeps: AccessDeps;
  readonly clocks: () => ClockReading;
  /** Everything under /v1, with its access checks. */
  readonly v1: AnyElysia;
  /** Logs an error of this program that cut off an answer. */
  readonly logCut: (error: unknown, request: Request) => void;
  /** True if the process is stopping: answers in progress are cut off, so that no client takes them for complete. */
  readonly isDraining: () => boolean;
}

/**
 * The paths that a process that replays adds to the API:
 *
 *   the venue's        at the root for the first replay; under /replays/{replay} for any, together with the API at its clock
 *   /v1/replays        to list, create, steer and stop replays
 *   tardis-machine's   each request replays the archive by itself
 */
export function replayPaths(deps: ReplayPathsDeps) {
  const { archive, replays, desks, sockets, accessDeps, clocks, v1, logCut, isDraining } = deps;
  const { plugin, keyIdOf, isKey, mayListen } = callerPlugin(accessDeps);
  const queueOf = (request: Request) => replays.queue.of(keyIdOf(request));
  // tardis-machine's paths replay the whole archive.
  const wholeArchive = () => ({ coins: archive.database.read(() => archive.markets.coins()), toMs: Infinity });
  const monotonicMs = () => clocks().monotonicMs;
  const socketDeps: ReplaySocketDeps = {
    ...{ replays, sockets, monotonicMs, queueOf, keyIdOf },
    mayListen: (request, replay) => mayListen(request, scopeOf(replay)),
  };
  const orderSides = new WeakMap<PaperDesk, VenueDesk>();
  const deskOf = (replay: Replay) => {
    const desk = desks.of(replay);
    return desk && orderSides.getOrInsertComputed(desk, () => new VenueDesk(desk, sockets.failed));
  };
  const venueDeps: VenueDeps = { replays, catalog: new GammaCatalog(), queueOf, deskOf };
  const ofReplay = new Elysia({ name: 'of-replay', detail: { hide: true } })
    .use(plugin)
    .onBeforeHandle(({ caller, params, request }) =>
      refuseWithoutAccess(caller, scopeOf(replays.findFor(replayIn(params), keyIdOf(request)))),
    )
    .use(venueSocketController(socketDeps, deskOf))
    .use(binanceController({ ...socketDeps, ...venueDeps }, archive))
    .use(venueRestController(venueDeps))
    .use(venueOrdersController(venueDeps))
    .use(gammaController(venueDeps))
    .use(dataApiController(venueDeps))
    .use(siteController(venueDeps));
  const watch = ({ request }: SocketContext) => {
    const scope = wholeArchive();
    return () => mayListen(request, scope);
  };
  const ofArchive = new Elysia({ name: 'of-archive', detail: { hide: true } })
    .use(plugin)
    .onBeforeHandle(({ caller }) => refuseWithoutAccess(caller, wholeArchive()))
    .use(
      tardisController({
        ...{ archive, sockets, watch, queueOf, keyIdOf, clients: replays.clients, mirror: () => replays.mirror },
        ...{ clocks, logCut, isDraining },
      }),
    );
  return new Elysia({ name: 'replay' })
    .onRequest(lowerUpgrade)
    .use(ofReplay)
    .use(ofArchive)
    .use(new Elysia({ prefix: REPLAY_PREFIX }).use(ofReplay).use(v1))
    .use(replaysController({ replays, desks }, plugin, isKey));
}
